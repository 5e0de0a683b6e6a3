package httpserve

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
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
