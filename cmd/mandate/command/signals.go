package command

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// outlive makes a server survive the end of the program that reads its output, and a SIGHUP. By default,
// Go ends a process for SIGHUP and for a write to a closed pipe, and service managers count both as a wanted
// end. TERM, INT and QUIT still end the server. Other commands keep the default: `mandate events | head` must end.
func outlive(log *slog.Logger) {
	signal.Ignore(syscall.SIGPIPE)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() { // until the process ends: a SIGHUP must not cut off the last requests
		for range hangups {
			log.Warn("SIGHUP has no effect: restart the server to read changed settings; a changed certificate is read by " +
				"itself")
		}
	}()
}
