package web

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, expect := range map[time.Duration]string{
		36000 * time.Second: "36000 seconds (10 hours)", time.Minute: "60 seconds (1 minute)",
		24 * time.Hour:   "86400 seconds (1 day)",
		90 * time.Second: "90 seconds", 30 * 24 * time.Hour: "2592000 seconds (30 days)", time.Second: "1 seconds",
		0: "0 seconds", 36 * time.Hour: "129600 seconds (36 hours)",
	} {
		if got := Span(d); got != expect {
			t.Errorf("%v is %q", d, got)
		}
	}
}
