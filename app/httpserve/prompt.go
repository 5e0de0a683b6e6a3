package httpserve

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// restPatience is how long the rest of a request may take once its answer has begun. It is enough
// for what is on its way.
const restPatience = 100 * time.Millisecond

// prompt lets no answer wait for the content of its request. Before net/http sends an answer, it
// reads what a handler has left of the content, until the time for a whole request is over. A
// connection whose request may not have ended where it seems to end is closed after the answer.
func prompt(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			next.ServeHTTP(w, r)
			return
		}
		// RFC 9112 §6.1, §6.3: a server closes the connection after a request with both
		// Transfer-Encoding and Content-Length, and after one of HTTP/1.0 with Transfer-Encoding.
		// net/http has removed the second header, or the first one, so nobody knows whether it was
		// there.
		if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
			w.Header().Set("Connection", "close")
		}
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		a := &answer{ResponseWriter: w}
		a.content = &content{ReadCloser: r.Body, answer: a}
		r = r.WithContext(r.Context())
		r.Body = a.content
		next.ServeHTTP(a, r)
		a.finish()
	})
}

// answer is a ResponseWriter that limits the time for the rest of the request when it begins.
type answer struct {
	http.ResponseWriter
	content *content
	duplex  bool // the handler reads the content while it answers
	begun   bool

	mu       sync.Mutex // a proxy's transport closes the content when it has the time
	finished bool       // the handler has ended: the connection may have its next request
}

// content is the content of a request.
type content struct {
	io.ReadCloser
	answer *answer
	ended  atomic.Bool
}

// hurry limits the time for the rest of the content.
func (a *answer) hurry() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.finished || a.content.ended.Load() {
		return
	}
	// A connection without deadlines returns an error, and is not one of a client.
	_ = http.NewResponseController(a.ResponseWriter).SetReadDeadline(time.Now().Add(restPatience))
}

// finish limits the time for the rest of the content, for the last time.
func (a *answer) finish() {
	a.hurry()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished = true
}

func (a *answer) begin() {
	switch {
	case a.begun:
	case !a.duplex:
		a.hurry()
	// RFC 9112 §9.3, §9.6: a server reads the whole content, or closes the connection after the
	// answer and says so in it. net/http says so itself, but not while the handler may still read.
	case !a.content.ended.Load():
		a.Header().Set("Connection", "close")
	}
	a.begun = true
}

// WriteHeader begins the answer, unless the status is an interim one.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.begin()
	}
	if status == http.StatusRequestEntityTooLarge {
		a.Header().Set("Connection", "close") // RFC 9110 §15.5.14: the client shall not send the rest
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write begins the answer.
func (a *answer) Write(b []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(b)
}

// FlushError begins the answer. http.ResponseController calls it.
func (a *answer) FlushError() error {
	a.begin()
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// EnableFullDuplex lets the handler read the content while it answers. http.ResponseController calls it.
func (a *answer) EnableFullDuplex() error {
	a.duplex = true
	return http.NewResponseController(a.ResponseWriter).EnableFullDuplex()
}

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Read notes the end of the content.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err == io.EOF {
		c.ended.Store(true)
	}
	return n, err
}

// Close does not wait for the rest of the content.
func (c *content) Close() error {
	c.answer.hurry()
	return c.ReadCloser.Close()
}
