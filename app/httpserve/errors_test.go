package httpserve

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"mandate/testkit"
)

// full is a listener of a process without file descriptors.
type full struct{ calls int }

func (f *full) Accept() (net.Conn, error) {
	f.calls++
	if f.calls < 3 {
		return nil, exhausted{}
	}
	return nil, errors.New("the end of the test")
}
func (*full) Close() error   { return nil }
func (*full) Addr() net.Addr { return &net.TCPAddr{} }

type exhausted struct{}

func (exhausted) Error() string   { return "accept4: too many open files" }
func (exhausted) Timeout() bool   { return false }
func (exhausted) Temporary() bool { return true }

// A server without file descriptors answers nobody, and its operator must learn why.
func TestExhaustedDescriptorsAreLogged(t *testing.T) {
	text := &bytes.Buffer{}
	server := New(nil, slog.New(slog.NewTextHandler(text, nil)), 0)
	_ = server.Serve(&full{})
	if n := strings.Count(text.String(), "accept4: too many open files"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, text)
	}
}

// net/http reports from each connection at the same time. The operator is told once.
func TestErrorsAtOnce(t *testing.T) {
	var out bytes.Buffer
	l := &errorLog{log: slog.New(slog.NewTextHandler(&out, nil))}
	say := func() {
		n, err := l.Write([]byte("http: Accept error: too many open files\n"))
		if n == 0 || err != nil {
			t.Error(n, err)
		}
	}
	testkit.AtOnce(say, say, say)
	if got := strings.Count(out.String(), "no connection can be accepted"); got != 1 {
		t.Errorf("the log says it %d times", got)
	}
}
