package faults

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// proxy stands between the checks and Mandate for one run. It knows the clients, and records what is issued, so that
// it can act as a server without a certain comparison.
type proxy struct {
	front  *front
	fault  fault
	target *target.Target
	from   string

	mu   sync.Mutex
	kept map[string]any
}

// The paths of Mandate.
const (
	loginPath      = "/login/"
	authorizePath  = "/o/authorize/"
	consentPath    = "/o/consent/"
	tokenPath      = "/o/token/"
	revokePath     = "/o/revoke_token/"
	introspectPath = "/o/introspect/"
	resourcePath   = "/resource"
	widerPath      = "/groups/"
	keysPath       = "/o/.well-known/jwks.json"
	userInfoPath   = "/o/userinfo/"
	logoutPath     = "/o/logout/"
	toldPath       = "/logout" // of the client that receives logout tokens
)

// ask is a request to the proxy. It is forwarded with the changes of the fault.
type ask struct {
	method, path, query, body string
	header                    http.Header
}

func (q *ask) form() url.Values   { v, _ := url.ParseQuery(q.body); return v }
func (q *ask) params() url.Values { v, _ := url.ParseQuery(q.query); return v }

// set changes parameters of the form. An empty value removes the parameter.
func (q *ask) set(pairs ...string) { q.body = changed(q.form(), pairs) }

// setQuery does the same in the query.
func (q *ask) setQuery(pairs ...string) { q.query = changed(q.params(), pairs) }

// change changes the parameters of the form, or of the query of a GET.
func (q *ask) change(how func(url.Values)) {
	if q.method == http.MethodGet {
		v := q.params()
		how(v)
		q.query = v.Encode()
		return
	}
	v := q.form()
	how(v)
	q.body = v.Encode()
}

func changed(v url.Values, pairs []string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Del(pairs[i])
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v.Encode()
}

// client returns the client credentials of the request.
func (q *ask) client() (id, secret string) {
	if scheme, encoded, _ := strings.Cut(q.header.Get("Authorization"), " "); strings.EqualFold(scheme, "Basic") {
		raw, _ := base64.StdEncoding.DecodeString(encoded)
		id, secret, _ = strings.Cut(string(raw), ":")
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
		return id, secret
	}
	return q.form().Get("client_id"), q.form().Get("client_secret")
}

// as makes it a request of another client.
func (q *ask) as(c *target.Client) {
	q.header.Del("Authorization")
	form := q.form()
	form.Del("client_id")
	form.Del("client_secret")
	c.Credentials()(q.header, form)
	q.body = form.Encode()
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	q := &ask{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header.Clone()}
	// After the login the same request is sent again, in the form of the true server.
	if q.path == authorizePath && q.method == http.MethodGet && p.request(q.params().Get("state")) == nil {
		p.keep("request "+q.params().Get("state"), q.params())
	}
	p.keep("path "+q.path, true)
	answer := p.real
	if p.fault.isNear([]string{q.path}) {
		answer = func(q *ask) *wire.Answer { return p.fault.spoil(p, q) }
	}
	a := answer(q)
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the runner reports answers that are cut off
}

var inner = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: wire.InFlight}

// real returns the answer of the true server.
func (p *proxy) real(q *ask) *wire.Answer {
	if q.path == toldPath {
		return p.tell(q)
	}
	address := p.front.URL + q.path
	if q.query != "" {
		address += "?" + q.query
	}
	r, err := http.NewRequest(q.method, address, strings.NewReader(q.body))
	if err != nil {
		return &wire.Answer{Status: http.StatusBadGateway}
	}
	r.Header, r.Host = q.header.Clone(), strings.TrimPrefix(p.front.Front, "http://")
	r.Header.Set("X-Forwarded-For", p.from)
	response, err := inner.RoundTrip(r)
	if err != nil {
		return &wire.Answer{Status: http.StatusBadGateway}
	}
	defer response.Body.Close()
	a := &wire.Answer{Status: response.StatusCode, Header: response.Header}
	a.Body, err = io.ReadAll(response.Body)
	if err != nil {
		return &wire.Answer{Status: http.StatusBadGateway}
	}
	p.learn(q, a)
	return a
}

// tell forwards a logout token to the runner. The answer is always a success, so that the server does not send it
// again.
func (p *proxy) tell(q *ask) *wire.Answer {
	if p.target != nil {
		r, err := http.NewRequest(q.method, "http://"+p.target.Backchannel+q.path, strings.NewReader(q.body))
		if err == nil {
			r.Header = q.header.Clone()
			response, err := inner.RoundTrip(r)
			if err == nil {
				response.Body.Close()
			}
		}
	}
	return &wire.Answer{Status: http.StatusOK, Header: http.Header{}}
}

// learn records the request of each code and token, and the client of each token.
func (p *proxy) learn(q *ask, a *wire.Answer) {
	if to := p.away(a); to != nil && to.Query().Get("code") != "" {
		p.keep("code "+to.Query().Get("code"), p.request(to.Query().Get("state")))
	}
	if q.path == tokenPath && a.Granted() {
		id, _ := q.client()
		tokens := check.TokensOf(a)
		p.keep("token "+tokens.Access, p.client(id))
		p.keep("from "+tokens.Access, p.codes(q.form().Get("code")))
		if sub := inside(tokens.ID).Text("sub"); sub != "" {
			p.keep("sub "+sub, true)
		}
		if tokens.Refresh != "" {
			p.keep("token "+tokens.Refresh, p.client(id))
			p.keep("refresh "+tokens.Refresh, true)
			p.keep("beside "+tokens.Refresh, tokens.Access)
		}
	}
}

func (p *proxy) keep(name string, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[name] = value
}

// once returns the first value that was kept under a name.
func (p *proxy) once(name string, value any) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept[name] == nil {
		p.kept[name] = value
	}
	return p.kept[name]
}

// press sends a form of a page instead of the person.
func (p *proxy) press(q *ask, f *browser.Form) *wire.Answer {
	to := wire.ParseURL(f.Action)
	return p.real(&ask{method: http.MethodPost, path: to.Path, query: to.RawQuery, body: f.Values.Encode(),
		header: http.Header{
			"Content-Type": {wire.FormEncoded}, "Cookie": q.header["Cookie"], "Origin": {p.front.Front},
			"Sec-Fetch-Site": {"same-origin"}}})
}

// note returns a kept value as a string.
func (p *proxy) note(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, _ := p.kept[name].(string)
	return text
}

func (p *proxy) has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, has := p.kept[name]
	return has
}

// named returns the names that begin with a prefix, without the prefix.
func (p *proxy) named(beginning string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for name := range p.kept {
		if rest, is := strings.CutPrefix(name, beginning); is {
			all = append(all, rest)
		}
	}
	return all
}

// request returns the authorization request with a state, as the client sent it.
func (p *proxy) request(state string) url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	request, _ := p.kept["request "+state].(url.Values)
	return request
}

// codes returns the authorization request of a code, or nil.
func (p *proxy) codes(code string) url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	request, _ := p.kept["code "+code].(url.Values)
	return request
}

// askedFor returns the authorization request of an access token, or nil.
func (p *proxy) askedFor(token string) url.Values {
	request, _ := p.value("from " + token).(url.Values)
	return request
}

// owner returns the client of a token, or nil.
func (p *proxy) owner(token string) *target.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, _ := p.kept["token "+token].(*target.Client)
	return c
}

func (p *proxy) client(id string) *target.Client {
	if p.target == nil { // while the clients are registered
		return nil
	}
	for _, c := range p.target.Clients {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// proven reports whether the client of a request sent its correct secret.
func (p *proxy) proven(q *ask) bool {
	id, secret := q.client()
	c := p.client(id)
	return c != nil && c.Secret == secret
}

// away returns the address of a redirect to a client, or nil.
func (p *proxy) away(a *wire.Answer) *url.URL {
	location := a.Header.Get("Location")
	u, err := url.Parse(location)
	if location == "" || err != nil || !u.IsAbs() || strings.HasPrefix(location, p.front.Front+"/") {
		return nil
	}
	return u
}

// refusal returns an error of the token endpoint.
func refusal(status int, code string) *wire.Answer {
	header := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}, "Pragma": {"no-cache"}}
	return &wire.Answer{Status: status, Header: header,
		Body: []byte(`{"error":"` + code + `","error_description":"grant_type is missing"}`)}
}

// shown returns a page of the server.
func shown(status int, text string) *wire.Answer {
	return &wire.Answer{Status: status, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body: []byte("<!DOCTYPE html><title>x</title><p>" + text)}
}

// moved returns a redirect.
func moved(location string) *wire.Answer {
	return &wire.Answer{Status: http.StatusSeeOther, Header: http.Header{"Location": {location}}}
}

// value returns a kept value, or nil.
func (p *proxy) value(name string) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept[name]
}
