package resource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/provider/parameter"
)

// ProxyConfig configures a [Proxy]. Upstream, Guard and Rules are required.
type ProxyConfig struct {
	Upstream *url.URL // the address of the API: http or https, a host, and optionally a path
	Guard    *Guard
	Rules    []Rule

	// PassAuthorization forwards the client's Authorization header to the upstream. By
	// default the proxy removes the header, because an API that does not need the token
	// should not receive it.
	PassAuthorization bool

	// ReservedHeaders names headers that only the API's own proxies may set, beside those that the
	// proxy knows: X-Company-User, or X-Company-* for all names that begin so. The proxy removes them
	// from the requests of clients.
	ReservedHeaders []string

	// Recheck is the interval at which the token of an open WebSocket or event stream is
	// checked again. Zero means 10 seconds.
	Recheck time.Duration

	Logger *slog.Logger // logs why the upstream could not be reached; may be nil
}

// Proxy protects an API by forwarding only permitted requests to it. It refuses a
// request that no rule covers, and a request whose path or method could have another
// meaning for the upstream. The upstream receives the facts of the token in these
// headers. It can trust them if it is reachable only through the proxy:
//
//	X-Token-Client-Id  X-Token-Subject  X-Token-Username  X-Token-Scope
//
// The values come from the token. All characters except visible ASCII are
// percent-encoded, and so is the percent sign. A space separates scopes. If the token
// lacks a fact, its header is missing. The proxy removes headers with these names from
// the client's request.
//
// A connection cannot change its protocol, except to a WebSocket (RFC 6455) where
// [Rule] allows it. The proxy closes a WebSocket, and ends an event stream
// (text/event-stream), when its token expires or no longer satisfies the rule, after one
// day at the latest, or when [Proxy.Close] is called.
//
// The proxy does not see a method override in a form body (_method). If the upstream
// supports it, switch it off there, or write a rule for POST that requires the scopes
// of all methods.
type Proxy struct {
	handler            http.Handler // serve, wrapped by the guard
	routes             routes
	forward            *httputil.ReverseProxy
	upstream           *url.URL
	keepAuth           bool
	reserved           []string // aliases of headers in the configuration
	reservedBeginnings []string
	bases              []*url.URL // the URLs by which clients reach the API, if they are configured
	guard              *Guard
	recheck            time.Duration
	closing            context.Context
	close              context.CancelFunc
	log                *slog.Logger
	uncovered          requestLog
	failed             requestLog
}

// NewProxy returns a Proxy, or an error that says what is wrong with c.
func NewProxy(c ProxyConfig) (*Proxy, error) {
	u := c.Upstream
	switch {
	case u == nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("proxy: set the upstream to an absolute http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("proxy: set the upstream without credentials, query and fragment")
	case c.Guard == nil:
		return nil, errors.New("proxy: no guard")
	case len(c.Rules) == 0:
		return nil, errors.New("proxy: no rules, so every request would be refused")
	case c.Recheck < 0:
		return nil, errors.New("proxy: set Recheck to a positive duration")
	}
	copied := *u
	p := &Proxy{
		upstream:  &copied,
		keepAuth:  c.PassAuthorization,
		bases:     c.Guard.bases,
		guard:     c.Guard,
		recheck:   cmp.Or(c.Recheck, DefaultCacheTTL),
		log:       logger(c.Logger),
		uncovered: newRequestLog(),
		failed:    newRequestLog(),
	}
	err := p.reserve(c.ReservedHeaders)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p.closing, p.close = context.WithCancel(context.Background())
	p.forward = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		ModifyResponse: p.receive,
		ErrorHandler:   p.unreachable,
		Transport:      newUpstreamTransport(),
		ErrorLog:       slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	p.handler = c.Guard.Wrap(http.HandlerFunc(p.serve))
	for _, r := range c.Rules {
		h := p.forwardTo(c.Guard, r)
		if !r.Public {
			h = c.Guard.require(h, r.requirement())
		}
		err := p.routes.add(r, h)
		if err != nil {
			return nil, fmt.Errorf("proxy: rule %s: %w", r.Path, err)
		}
	}
	return p, nil
}

// Close closes the open WebSockets and the event streams that answer a GET, and accepts
// no new ones. An http.Server does not close them itself: pass Close to its
// RegisterOnShutdown.
func (p *Proxy) Close() { p.close() }

// upstreamIdle is how long an idle connection to the upstream is used again. It is shorter than the
// time after which usual servers close one (gunicorn 2 seconds, Node, uvicorn and Apache 5). A
// request on a connection that the upstream closes at this moment would fail.
const upstreamIdle = 1500 * time.Millisecond

// newUpstreamTransport returns a transport that does not change bodies. It has no time
// limit for the upstream's answer; the http.Server in front may set one.
func newUpstreamTransport() *http.Transport {
	t := newTransport()
	t.DisableCompression = true
	t.IdleConnTimeout = upstreamIdle
	t.MaxConnsPerHost = 0
	t.MaxResponseHeaderBytes = 0
	return t
}

// MetadataURL returns the URL at which the proxy serves the metadata of the API, or "".
func (p *Proxy) MetadataURL() string { return p.guard.MetadataURL() }

// ServeHTTP forwards the request if a rule covers it and the guard accepts its token.
// What [Guard.Wrap] answers is never forwarded.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if problem := p.ambiguous(r); problem != "" {
		p.reject(w, r, http.StatusBadRequest, problem)
		return
	}
	if reflects(r.Method) {
		p.reject(w, r, http.StatusForbidden, noPermission+": "+r.Method+" is never forwarded.")
		return
	}
	if refuseUpgrade(w, r) {
		return
	}
	if !r.ProtoAtLeast(1, 1) {
		w = finalOnly{w}
	}
	found, status, problem := p.routes.route(r)
	if problem != "" {
		p.reject(w, r, status, problem)
		return
	}
	found.handler.ServeHTTP(w, r)
}

// ambiguous says why an upstream could read a request in another way than the rules, whatever
// its path, or "". The path is another question, which the rules answer.
func (p *Proxy) ambiguous(r *http.Request) string {
	if problem := oddMethod(r); problem != "" {
		return problem
	}
	switch {
	// RFC 3986 §3.4: a number sign ends the query. Some servers cut it off, others do not.
	case strings.Contains(r.URL.RawQuery, "#"):
		return "The query contains a number sign: write it as %23."
	// RFC 9112 §3: a space ends the target. HTTP/2 can carry one, and HTTP/1.1 to the upstream cannot.
	case strings.ContainsFunc(r.URL.RawQuery, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return "The query contains a space or a control character: percent-encode it."
	// RFC 9112 §3.2: an invalid Host is answered with 400.
	case !plainHost(r.Host):
		return "The header Host is not a host with an optional port."
	}
	return p.oddHeader(r)
}

// reject refuses a request that the rules cannot decide or do not allow, and logs why.
func (p *Proxy) reject(w http.ResponseWriter, r *http.Request, status int, problem string) {
	level, path := slog.LevelInfo, r.URL.Path
	switch status {
	case http.StatusForbidden:
		level = slog.LevelWarn // often a rule is missing
	case http.StatusBadRequest:
		path = written(r.URL) // only an encoding may be wrong
	}
	p.uncovered.write(p.log, level, r, "the request was not forwarded",
		"reason", problem, "method", printable(r.Method), "path", printable(path))
	writeDetail(w, status, problem)
}

// oddMethod says why servers could read different methods in a request, or "". Some frameworks let a
// header or parameter replace the method, or convert small letters to capitals.
func oddMethod(r *http.Request) string {
	if !isToken(r.Method) || r.Method == http.MethodConnect || r.Method != strings.ToUpper(r.Method) {
		return "The method must be a word in capital letters, and not CONNECT."
	}
	if name := parameter.In(r.URL.RawQuery, overrides...); name != "" {
		return "The query has the parameter " + name + ", which replaces the method on some servers."
	}
	for name := range r.Header {
		if slices.Contains(overrides, headerAlias(name)) {
			return "The header " + name + " replaces the method on some servers."
		}
	}
	return ""
}

// isToken reports whether a text is a token, as a method is. HTTP/2 can carry any text as one.
//
// RFC 9110 §9.1, §5.6.2: letters, digits and some marks, and never nothing.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !strings.ContainsRune("-!#$%&'*+.^_`|~", c) && foldedByCGI(c)
	})
}

// overrides are the names of headers, or of parameters of the query, that replace the method in
// some frameworks: _method in Rails, Laravel and WordPress, the others in many.
var overrides = []string{"_method", "x-http-method-override", "x-http-method", "x-method-override",
	"http-method-override", "method-override", "x-http-verb"}

// finalOnly drops interim responses. RFC 9110 §15.2: an HTTP/1.0 client must not
// receive one, because it would read it as the final response.
type finalOnly struct{ http.ResponseWriter }

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (f finalOnly) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// WriteHeader writes the header of a final response and ignores interim ones.
func (f finalOnly) WriteHeader(status int) {
	if status >= http.StatusOK {
		f.ResponseWriter.WriteHeader(status)
	}
}

// receive checks and changes a response of the upstream.
func (p *Proxy) receive(r *http.Response) error {
	// A browser refuses a response in which the API and the guard both allow an origin.
	for name := range r.Header {
		if len(p.guard.origins) > 0 && strings.HasPrefix(name, "Access-Control-") {
			delete(r.Header, name)
		}
	}
	// RFC 9449 §8: there is one nonce, and the upstream sees no proof.
	r.Header.Del("DPoP-Nonce")
	watchEvents(r, p.closing)
	return checkSwitch(r)
}

// rewrite turns the incoming request into the request to the upstream.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	pr.SetURL(p.upstream)
	// ReverseProxy has removed the parameters that Go cannot read. The upstream may read them:
	// without ids=1;2;3 a DELETE would be for everything.
	pr.Out.URL.RawQuery = pr.In.URL.RawQuery
	pr.Out.Trailer = nil
	p.moveDestination(pr.Out.Header)
	for name := range pr.Out.Header {
		if p.isReservedHeader(headerAlias(name)) {
			delete(pr.Out.Header, name)
		}
	}
	if !p.keepAuth {
		pr.Out.Header.Del("Authorization")
	}
	// RFC 9110 §9.3.1: an upstream that expects no content reads it as the next request
	// on the connection, and the rules were not applied to that request.
	if pr.In.ContentLength != 0 && !slices.Contains(withContent, pr.In.Method) {
		pr.Out.Close = true
	}
	// RFC 9110 §9.2.2: a proxy may repeat a request with an idempotent method, if its connection
	// has failed, and no other. The transport does so for GET and the like, and for a request with
	// this header; without a value it is not sent.
	if m := pr.In.Method; (m == http.MethodPut || m == http.MethodDelete) && pr.Out.Header["Idempotency-Key"] == nil {
		pr.Out.Header["Idempotency-Key"] = nil
	}
	p.forwarded(pr)
	token, ok := FromContext(pr.In.Context())
	if !ok {
		return
	}
	for name, value := range map[string]string{
		"X-Token-Client-Id": encodeHeaderValue(token.ClientID),
		"X-Token-Subject":   encodeHeaderValue(token.Subject),
		"X-Token-Username":  encodeHeaderValue(token.Username),
		"X-Token-Scope":     encodeHeaderValues(token.Scope),
	} {
		if value != "" {
			pr.Out.Header.Set(name, value)
		}
	}
}

// moveDestination puts the path of the upstream before that of the header Destination, as before the path of the
// request: the rules have read both without it, and another API can be beside it.
func (p *Proxy) moveDestination(h http.Header) {
	given := h["Destination"]
	base := strings.TrimSuffix(p.upstream.EscapedPath(), "/")
	if len(given) != 1 || base == "" {
		return
	}
	u, err := url.Parse(given[0])
	if err != nil {
		return // not reached: allowDestination has read it
	}
	moved, host := base+u.EscapedPath(), ""
	if u.Host != "" {
		host = u.Scheme + "://" + u.Host
	}
	h["Destination"] = []string{host + moved}
}

// withContent lists the methods for which every server expects content.
var withContent = []string{http.MethodPost, http.MethodPut, http.MethodPatch}

// encodeHeaderValue encodes a fact for a header. A header value loses spaces at its ends and
// cannot contain line breaks. Without encoding, the name " admin" would arrive as
// "admin".
func encodeHeaderValue(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func encodeHeaderValues(scopes []string) string {
	encoded := make([]string, len(scopes))
	for i, s := range scopes {
		encoded[i] = encodeHeaderValue(s)
	}
	return strings.Join(encoded, " ")
}

// unreachable writes the response if the upstream gave no answer or a forbidden one.
func (p *Proxy) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errSwitched) {
		p.failed.write(p.log, slog.LevelError, r, "the upstream's response was not forwarded", "path", printable(r.URL.Path),
			"error", err)
		writeDetail(w, http.StatusBadGateway, "The service behind this address switched to another protocol.")
		return
	}
	p.failed.write(p.log, failure(r), r, "the upstream did not answer", "error", explained(err))
	writeDetail(w, http.StatusBadGateway, "The service behind this address did not answer.")
}
