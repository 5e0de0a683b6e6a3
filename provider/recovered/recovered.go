// Package recovered keeps a panic from ending the process. An HTTP server recovers those of its handlers. What reads
// the bytes of strangers in another goroutine has to do so itself: a mistake in a library must not end the server.
package recovered

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Do calls f. If f panics, it writes a line to the log, and returns an error that says so. what says what f does. log
// may be nil.
func Do(log *slog.Logger, what string, f func() error) (err error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		err = fmt.Errorf("%s: panic: %v", what, cause)
		if log != nil {
			log.Error("panic, which did not stop the server", "during", what, "cause", fmt.Sprint(cause), "stack",
				string(debug.Stack()))
		}
	}()
	return f()
}
