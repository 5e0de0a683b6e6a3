package httpserve

import (
	"bytes"
	"log/slog"
	"sync"
	"time"
)

// errorLog is what net/http reports. Strangers cause most of it, such as broken handshakes, so it is for debugging.
// That no connection can be accepted, because there are no file descriptors left, concerns the operator.
type errorLog struct {
	log *slog.Logger

	mu   sync.Mutex
	said time.Time
}

// sayEvery is how often the log says that no connection can be accepted. net/http tries again every second.
const sayEvery = time.Minute

// Write logs one report.
func (l *errorLog) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	if bytes.Contains(line, []byte("Accept error")) && l.due() {
		l.log.Error(
			"no connection can be accepted; if there are too many open files, raise LimitNOFILE (ulimit -n), or limit "+
				"connections in the proxy",
			"error", text,
		)
		return len(line), nil
	}
	l.log.Debug(text)
	return len(line), nil
}

func (l *errorLog) due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.said) < sayEvery {
		return false
	}
	l.said = time.Now()
	return true
}
