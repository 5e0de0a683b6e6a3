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
)

// ProxyConfig is what a [Proxy] needs. Upstream, Guard and Rules are required.
type ProxyConfig struct {
	Upstream *url.URL // where the API is: http or https, a host, maybe a path
	Guard    *Guard
	Rules    []Rule

	// PassAuthorization lets the upstream see the client's Authorization header.
	// Off, the token stays here: an API that needs no token should hold none.
	PassAuthorization bool

	// AllowPreflight passes CORS preflight requests on without a token, if a rule
	// covers the path and the method asked about: browsers send them without.
	// Off, OPTIONS is a method like any other.
	AllowPreflight bool

	// WebSocketCheck is the time after which the token of an open WebSocket is
	// looked at again; 10 seconds if zero.
	WebSocketCheck time.Duration

	Logger *slog.Logger // is told why the upstream could not be reached; may be nil
}

// Proxy protects an API that it forwards to. A request that no rule covers is
// refused, as is one whose path or method could mean something else to the
// upstream. The upstream learns of the token by these headers, and can believe
// them if it is reachable through the proxy alone:
//
//	X-Token-Client-Id  X-Token-Subject  X-Token-Username  X-Token-Scope
//
// Their values are the token's, with all but visible ASCII percent-encoded, and
// the percent sign too; scopes are separated by a space. A header is missing
// where the token has no such fact. Whatever a client sends under such a name is removed.
//
// No request may change the protocol of its connection, but for a WebSocket
// (RFC 6455) where [Rule] allows it. That is closed when its token ends or is
// no longer good for the rule, after a day at the latest, and by [Proxy.Close].
//
// A method override in a form body (_method) is not seen here: an upstream that
// heeds it needs it off, or a rule for POST that asks for the scopes of all.
type Proxy struct {
	routes    routes
	forward   *httputil.ReverseProxy
	upstream  *url.URL
	keepAuth  bool
	preflight bool
	recheck   time.Duration
	closing   context.Context
	close     context.CancelFunc
	log       *slog.Logger
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
	case c.WebSocketCheck < 0:
		return nil, errors.New("proxy: set WebSocketCheck to a positive duration")
	}
	copied := *u
	p := &Proxy{
		upstream:  &copied,
		keepAuth:  c.PassAuthorization,
		preflight: c.AllowPreflight,
		recheck:   cmp.Or(c.WebSocketCheck, DefaultCacheTTL),
		log:       logger(c.Logger),
	}
	p.closing, p.close = context.WithCancel(context.Background())
	p.forward = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		ModifyResponse: checkSwitch,
		ErrorHandler:   p.unreachable,
		Transport:      newUpstreamTransport(),
		ErrorLog:       slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	for _, r := range c.Rules {
		h := p.forwardTo(c.Guard, r)
		if !r.Public {
			h = c.Guard.Require(h, r.Scopes...)
		}
		err := p.routes.add(r, h)
		if err != nil {
			return nil, fmt.Errorf("proxy: rule %s: %w", r.Path, err)
		}
	}
	return p, nil
}

// Close ends the WebSockets that are open, and lets no new ones in. An
// http.Server does not know them: give Close to its RegisterOnShutdown.
func (p *Proxy) Close() { p.close() }

// newUpstreamTransport returns a transport that hands bodies on as they are.
// How long the upstream may take to answer is for the server in front to bound.
func newUpstreamTransport() *http.Transport {
	t := newTransport()
	t.DisableCompression = true
	t.MaxConnsPerHost = 0
	t.MaxResponseHeaderBytes = 0
	return t
}

// ServeHTTP forwards the request if a rule covers it and the guard lets it in.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !unambiguous(r.URL) {
		writeDetail(w, http.StatusBadRequest, "The path can be read in more than one way.")
		return
	}
	if !plainMethod(r) {
		writeDetail(w, http.StatusBadRequest, "The method can be read in more than one way.")
		return
	}
	if reflects(r.Method) {
		writeDetail(w, http.StatusForbidden, "You do not have permission to perform this action: "+r.Method+" is never passed on.")
		return
	}
	if refuseUpgrade(w, r) {
		return
	}
	if !r.ProtoAtLeast(1, 1) {
		w = finalOnly{w}
	}
	h := p.routes.find(r.URL.Path, r.Method)
	if p.preflight && isPreflight(r) && p.routes.find(r.URL.Path, r.Header.Get("Access-Control-Request-Method")) != nil {
		h = p.forward
	}
	if h == nil {
		p.log.Warn("no rule covers the request", "method", r.Method, "path", r.URL.Path)
		writeDetail(w, http.StatusForbidden, "You do not have permission to perform this action: no rule of this server covers it.")
		return
	}
	h.ServeHTTP(w, r)
}

func unambiguous(u *url.URL) bool {
	// RFC 3986 §2.2: an encoded slash is data, not a border of segments; but many servers decode it into one.
	return u.Opaque == "" && plainPath(u.Path) && !strings.Contains(strings.ToLower(u.RawPath), "%2f")
}

// plainMethod reports whether the request asks for the method that it has. Some
// frameworks let a header or parameter say another one, or raise small letters.
func plainMethod(r *http.Request) bool {
	if r.Method == http.MethodConnect || r.Method != strings.ToUpper(r.Method) || hasParam(r.URL.RawQuery, "_method") {
		return false
	}
	for name := range r.Header {
		switch headerAlias(name) {
		case "x-http-method-override", "x-http-method", "x-method-override":
			return false
		}
	}
	return true
}

// reflects reports whether the answer to a method is the request as it arrived.
// RFC 9110 §9.3.8: TRACE; an old server calls it TRACK.
func reflects(method string) bool { return method == http.MethodTrace || method == "TRACK" }

// finalOnly holds interim answers back. RFC 9110 §15.2: a client of HTTP/1.0 is
// sent none, it would take one for the answer.
type finalOnly struct{ http.ResponseWriter }

func (f finalOnly) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f finalOnly) WriteHeader(status int) {
	if status >= http.StatusOK {
		f.ResponseWriter.WriteHeader(status)
	}
}

// isPreflight reports whether a browser asks if its page may send a request: by
// the CORS protocol of the Fetch standard, with OPTIONS, an origin and a method.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// rewrite turns the request that came in into the one for the upstream.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	// The upstream gets the path that the rules were asked about, in its plain
	// encoding, whatever encoding the client chose.
	pr.Out.URL.RawPath = ""
	pr.SetURL(p.upstream)
	pr.Out.Trailer = nil
	for name := range pr.Out.Header {
		if isOurs(headerAlias(name)) {
			delete(pr.Out.Header, name)
		}
	}
	// The guard has read the header, whether Connection names it or not; the upstream
	// sees the same, or nothing.
	pr.Out.Header.Del("Authorization")
	if sent := pr.In.Header["Authorization"]; p.keepAuth && sent != nil {
		pr.Out.Header["Authorization"] = sent
	}
	// RFC 9110 §9.3.1: an upstream that expects no content reads it as the next
	// request of the connection, one that no rule was asked about.
	if pr.In.ContentLength != 0 && !slices.Contains(withContent, pr.In.Method) {
		pr.Out.Close = true
	}
	pr.SetXForwarded()
	token, ok := FromContext(pr.In.Context())
	if !ok {
		return
	}
	for name, value := range map[string]string{
		"X-Token-Client-Id": visible(token.ClientID),
		"X-Token-Subject":   visible(token.Subject),
		"X-Token-Username":  visible(token.Username),
		"X-Token-Scope":     visibleAll(token.Scope),
	} {
		if value != "" {
			pr.Out.Header.Set(name, value)
		}
	}
}

// withContent are the methods for which every server expects content.
var withContent = []string{http.MethodPost, http.MethodPut, http.MethodPatch}

// isOurs reports whether only a proxy may send a header of this alias: facts of
// the token, of the way here, and those that let a proxy change the path.
func isOurs(alias string) bool {
	switch alias {
	case "x-original-url", "x-original-uri", "x-rewrite-url", "x-real-ip", "x-client-ip", "true-client-ip", "forwarded":
		return true
	case "content-length", "transfer-encoding": // the transport writes its own
		return true
	case "proxy": // a CGI program takes it for its own HTTP_PROXY
		return true
	}
	return strings.HasPrefix(alias, "x-token-") || strings.HasPrefix(alias, "x-forwarded-")
}

// headerAlias returns the name that all spellings share which a CGI-like
// upstream cannot tell apart: it sees X_Token-Subject as HTTP_X_TOKEN_SUBJECT.
func headerAlias(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			return c
		case 'A' <= c && c <= 'Z':
			return c + ('a' - 'A')
		}
		return '-'
	}, name)
}

// visible encodes a fact for a header. Header values lose spaces at their ends
// and cannot hold line breaks: sent as it is, the name " admin" would arrive as another's.
func visible(s string) string {
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

func visibleAll(scopes []string) string {
	encoded := make([]string, len(scopes))
	for i, s := range scopes {
		encoded[i] = visible(s)
	}
	return strings.Join(encoded, " ")
}

// unreachable answers for an upstream that did not, or not as it may.
func (p *Proxy) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errSwitched) {
		p.log.Error("the upstream's answer was not passed on", "path", r.URL.Path, "error", err)
		writeDetail(w, http.StatusBadGateway, "The service behind this address switched to another protocol.")
		return
	}
	level := slog.LevelError
	if errors.Is(r.Context().Err(), context.Canceled) {
		level = slog.LevelDebug
	}
	p.log.Log(r.Context(), level, "the upstream did not answer", "error", err)
	writeDetail(w, http.StatusBadGateway, "The service behind this address did not answer.")
}
