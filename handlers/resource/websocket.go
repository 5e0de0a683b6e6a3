package resource

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// forwardTo returns the handler for requests that a rule and its guard have accepted.
func (p *Proxy) forwardTo(g *Guard, rule Rule) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !asksUpgrade(r.Header):
			e := &events{w, func() lease { return p.lease(r, g, rule) }}
			p.forwardRequest(w, toForward(r, context.WithValue(r.Context(), eventsKey{}, e), rule))
		case !rule.WebSocket:
			writeDetail(w, http.StatusForbidden, noWebSocket)
		default:
			p.forwardWebSocket(w, r, g, rule)
		}
	})
}

func (p *Proxy) forwardWebSocket(w http.ResponseWriter, r *http.Request, g *Guard, rule Rule) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	s := &webSocket{
		ResponseWriter: w,
		accept:         acceptOf(r.Header.Get("Sec-Websocket-Key")),
		lease:          p.lease(r, g, rule),
		ctx:            ctx,
		end:            cancel,
	}
	p.forward.ServeHTTP(s, toForward(r, context.WithValue(ctx, webSocketKey{}, s), rule))
}

// maxRepeatable is the largest content of a request that is kept until the upstream has answered.
const maxRepeatable = 64 << 10

func (p *Proxy) forwardRequest(w http.ResponseWriter, r *http.Request) {
	if 0 < r.ContentLength && r.ContentLength <= maxRepeatable {
		// The transport sends the content once more if its connection was closed before anything
		// was sent, or if the request may be repeated.
		content := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, content)
		if err != nil {
			writeDetail(w, http.StatusBadRequest, "The content of the request is incomplete.")
			return
		}
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		r.Body, _ = r.GetBody()
	}
	// An upstream may answer before it has read everything. Without this, net/http would read the
	// rest of the content in place of the upstream. A ResponseWriter that cannot do it returns an error.
	_ = http.NewResponseController(w).EnableFullDuplex()
	p.forward.ServeHTTP(w, r)
}

// toForward returns a request with another context, and with its path as the upstream receives it.
func toForward(r *http.Request, ctx context.Context, rule Rule) *http.Request {
	path := *r.URL
	path.RawPath = pathToForward(r.URL, rule.PathAsWritten)
	r = r.WithContext(ctx)
	r.URL = &path
	return r
}
