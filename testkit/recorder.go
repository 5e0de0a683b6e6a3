package testkit

import (
	"fmt"
	"testing"
)

// Recorder records how a test was ended by the first of its calls of Fatal and Skip, and continues the test.
type Recorder struct {
	testing.TB
	Said string // "fatal: " or "skip: ", and the message
}

// Helper does nothing.
func (r *Recorder) Helper() {}

// Fatal records the message.
func (r *Recorder) Fatal(args ...any) { r.say("fatal", args) }

// Skip records the message.
func (r *Recorder) Skip(args ...any) { r.say("skip", args) }

func (r *Recorder) say(kind string, args []any) {
	if r.Said == "" {
		r.Said = kind + ": " + fmt.Sprint(args...)
	}
}
