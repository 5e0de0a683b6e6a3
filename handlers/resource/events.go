package resource

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
)

// eventsKey is the context key of the event stream that a request may open.
type eventsKey struct{}

// events is a response that may be an event stream (HTML, server-sent events). Such a
// stream stays open like a WebSocket, so its token is checked again.
type events struct {
	w     http.ResponseWriter
	lease func() lease
}

// watchEvents examines each response of the upstream. It ends an event stream when its
// token expires or is no longer accepted. The answer to a GET is a stream without an end,
// which closing ends too.
func watchEvents(resp *http.Response, closing context.Context) {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	e, allowed := resp.Request.Context().Value(eventsKey{}).(*events)
	if err != nil || !strings.EqualFold(media, "text/event-stream") || !allowed ||
		resp.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	l := e.lease()
	// The stream may last longer than an ordinary answer. A connection without deadlines
	// returns an error, and needs none.
	control := http.NewResponseController(e.w)
	_ = control.SetWriteDeadline(l.until.Add(leaseTrust))
	// The context of the request ends with it, and so does the check of the token.
	ctx, end := context.WithCancel(resp.Request.Context())
	stream := &eventStream{resp.Body, ctx}
	// The end of the context closes the body, so that a waiting Read returns.
	context.AfterFunc(ctx, func() { stream.ReadCloser.Close() })
	resp.Body = stream
	go func() {
		if resp.Request.Method == http.MethodGet {
			defer context.AfterFunc(closing, end)()
		}
		l.watch(ctx, end)
	}()
}

// eventStream is the body of an event stream. It ends in order when its context ends.
type eventStream struct {
	io.ReadCloser
	ctx context.Context
}

// Read returns io.EOF after the end of the context.
func (s *eventStream) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, io.EOF
	}
	n, err := s.ReadCloser.Read(p)
	if err != nil && s.ctx.Err() != nil {
		err = io.EOF
	}
	return n, err
}
