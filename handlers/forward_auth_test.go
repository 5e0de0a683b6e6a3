package handlers

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mandate/provider/acr"
	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/sites"
	"mandate/storage"
)

// gate is a browser in front of a host that a reverse proxy protects.
type gate struct {
	*visitor
	host    string
	cookies map[string]string
}

const guardedHost = "wiki.example.org"

// trusting trusts the reverse proxy, which is on this machine.
func trusting(c *Config) {
	c.TrustedProxies, c.OpenID = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, true
}

func (s *site) guarded(t *testing.T, r sites.Registration) storage.Site {
	t.Helper()
	if r.Name == "" {
		r.Name = "Wiki"
	}
	made, err := s.provider.Sites.Add(t.Context(), policy.Operator(), r)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (v *visitor) at(host string) *gate { return &gate{v, host, map[string]string{}} }

// send sends a request with the cookies of the host, and keeps those that it gets.
func (g *gate) send(t *testing.T, r *http.Request) answer {
	t.Helper()
	for name, value := range g.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	plain := *g.visitor.Client
	plain.Jar = nil
	got := (&visitor{&plain, g.site}).do(t, r)
	for name, c := range got.cookies() {
		if !strings.HasPrefix(name, "__Host-") || !c.Secure || !c.HttpOnly || c.Domain != "" || c.Path != "/" {
			t.Errorf("the cookie %v is not for this host alone", c)
		}
		g.cookies[name] = c.Value
		if c.MaxAge < 0 {
			delete(g.cookies, name)
		}
	}
	return got
}

// below opens an address below the host, which the proxy sends to this server.
func (g *gate) below(t *testing.T, address string) answer {
	t.Helper()
	path, ours := strings.CutPrefix(address, "https://"+g.host)
	if !ours {
		t.Fatalf("%s is not at %s", address, g.host)
	}
	r := g.request(t, get, "", "")
	var err error
	r.URL, err = url.Parse(strings.TrimSuffix(g.site.base, "/auth") + path)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = g.host
	return g.send(t, r)
}

// ask is the question of Traefik, Caddy and HAProxy about a page. Names and values of headers follow.
func (g *gate) ask(t *testing.T, target string, headers ...string) answer {
	t.Helper()
	return g.asked(t, "/authz/forward", append([]string{"X-Forwarded-Method", "GET", "X-Forwarded-Proto", "https",
		"X-Forwarded-Host", g.host, "X-Forwarded-Uri", target, "Accept", "text/html"}, headers...))
}

// asked sends a question. A value "-" removes a header, and a name with a plus adds one.
func (g *gate) asked(t *testing.T, endpoint string, headers []string) answer {
	t.Helper()
	r := g.request(t, get, endpoint, "")
	for i := 0; i < len(headers); i += 2 {
		name, more := strings.CutPrefix(headers[i], "+")
		switch {
		case headers[i+1] == "-":
			r.Header.Del(name)
		case more:
			r.Header[name] = append(r.Header[name], headers[i+1])
		default:
			r.Header[http.CanonicalHeaderKey(name)] = []string{headers[i+1]}
		}
	}
	return g.send(t, r)
}

// enter signs the browser in to the host, from the answer that leads there.
func (g *gate) enter(t *testing.T, refused answer) answer {
	t.Helper()
	begun := g.below(t, refused.Header.Get("Location"))
	begun.wants(t, 303)
	granted := g.follow(t, begun)
	granted.wants(t, 303)
	return g.below(t, granted.Header.Get("Location"))
}

// in is a browser that is signed in to the host.
func (s *site) in(t *testing.T, username string) *gate {
	t.Helper()
	g := s.as(t, username).at(guardedHost)
	g.enter(t, g.ask(t, "/")).wants(t, 303)
	g.ask(t, "/").wants(t, 200)
	return g
}

// A browser signs in once, and then each request is allowed, with who it is. Everything ends with the session.
func TestForwardAuth(t *testing.T) {
	for _, base := range []string{"", "/auth"} {
		s := newSite(t, base, trusting)
		s.guarded(t, sites.Registration{Hosts: []string{guardedHost}})
		g := s.as(t, "alice").at(guardedHost)
		refused := g.ask(t, "/page?x=1&y=%2F")
		refused.wants(t, 302)
		arrived := g.enter(t, refused)
		arrived.wants(t, 303)
		if to := arrived.Header.Get("Location"); to != "https://"+guardedHost+"/page?x=1&y=%2F" {
			t.Errorf("arrived at %s", to)
		}
		got := g.ask(t, "/page", "Remote-User", "root", "Remote-Groups", "admins")
		got.wants(t, 200)
		for name, want := range map[string]string{"Remote-User": "alice", "Remote-Email": "", "Remote-Name": "",
			"Remote-Groups": "", "X-Mandate-Assertion": ""} {
			if values := got.Header.Values(name); !slices.Equal(values, []string{want}) {
				t.Errorf("%s: %q, expected one %q", name, values, want)
			}
		}
		g.post(t, "/logout/").wants(t, 303)
		g.ask(t, "/page").wants(t, 302)
		g.ask(t, "/page", "Accept", "*/*").wants(t, 401)
	}
}

// The three families describe the same request, and get the same decision in the form that they pass on.
func TestForwardAuthOfEachProxy(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}})
	nginx := []string{"X-Original-Method", "GET", "X-Original-URL", "https://" + guardedHost + "/a/b?c=d",
		"Accept", "text/html"}
	envoy := func(g *gate, extra ...string) answer {
		r := g.request(t, get, "/authz/envoy/a/b?c=d", "")
		r.Host = guardedHost
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("Accept", "text/html")
		return g.send(t, r)
	}
	out := s.visitor(t).at(guardedHost)
	want := "https://" + guardedHost + "/.mandate/sign-in?to=%2Fa%2Fb%3Fc%3Dd"
	for name, c := range map[string]struct {
		got    answer
		status int
	}{
		"forward": {out.ask(t, "/a/b?c=d"), 302}, "request": {out.asked(t, "/authz/request", nginx), 401},
		"envoy": {envoy(out), 302},
	} {
		if at := c.got.Header.Get("Location"); c.got.StatusCode != c.status || at != want {
			t.Errorf("%s: %d to %q, expected %d to %q", name, c.got.StatusCode, at, c.status, want)
		}
	}
	in := s.in(t, "alice")
	in.asked(t, "/authz/request", nginx).wants(t, 200)
	envoy(in).wants(t, 200)
}

// What asks for data gets 401: a redirect would lead a script to a page.
func TestForwardAuthOfScripts(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}})
	g := s.visitor(t).at(guardedHost)
	for _, headers := range [][]string{
		{"Accept", "application/json"}, {"Accept", "-"}, {"X-Requested-With", "XMLHttpRequest"},
		{"Sec-Fetch-Mode", "cors"}, {"Sec-Fetch-Mode", "no-cors"}, {"Upgrade", "websocket"},
		{"X-Forwarded-Method", "POST"}, {"X-Forwarded-Method", "OPTIONS"},
	} {
		got := g.ask(t, "/", headers...)
		if got.StatusCode != 401 || got.Header.Get("Location") != "" || got.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%v: %d to %q", headers, got.StatusCode, got.Header.Get("Location"))
		}
	}
	g.ask(t, "/", "Sec-Fetch-Mode", "navigate").wants(t, 302)
	g.ask(t, "/", "X-Forwarded-Method", "HEAD").wants(t, 302)
}

// No form of a header lets anybody in, or changes which request is asked about.
func TestAttackForwardedHeaders(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}, PublicPaths: []string{"/public/"}})
	in, out := s.in(t, "alice"), s.visitor(t).at(guardedHost)
	for _, c := range []struct {
		name    string
		status  int
		headers []string
	}{
		{"a second host", 400, []string{"+X-Forwarded-Host", "other.example"}},
		{"a second method", 400, []string{"+X-Forwarded-Method", "GET"}},
		{"a second target", 400, []string{"+X-Forwarded-Uri", "/public/x"}},
		{"a second scheme", 400, []string{"+X-Forwarded-Proto", "https"}},
		{"no host", 401, []string{"X-Forwarded-Host", "-"}},
		// A proxy deletes what Connection lists (RFC 9110 §7.6.1), also what it has added itself.
		{"a header that Connection lists", 401, []string{"X-Forwarded-Uri", "-", "Connection", "X-Forwarded-Uri"}},
		{"no target", 401, []string{"X-Forwarded-Uri", "-"}},
		{"no method", 401, []string{"X-Forwarded-Method", "-"}},
		{"no scheme", 401, []string{"X-Forwarded-Proto", "-"}},
		{"http", 401, []string{"X-Forwarded-Proto", "http"}},
		{"another scheme", 401, []string{"X-Forwarded-Proto", "ftp"}},
		{"two schemes in one", 401, []string{"X-Forwarded-Proto", "https, https"}},
		{"two hosts in one", 401, []string{"X-Forwarded-Host", guardedHost + ", other.example"}},
		{"user information", 401, []string{"X-Forwarded-Host", "x@" + guardedHost}},
		{"a path in the host", 401, []string{"X-Forwarded-Host", guardedHost + "/x"}},
		{"an absolute target", 401, []string{"X-Forwarded-Uri", "https://" + guardedHost + "/"}},
		{"a target of another host", 401, []string{"X-Forwarded-Uri", "//other.example/"}},
		{"a backslash", 401, []string{"X-Forwarded-Uri", `/\other.example/`}},
		{"a broken encoding", 401, []string{"X-Forwarded-Uri", "/%zz"}},
		{"an odd method", 401, []string{"X-Forwarded-Method", "GET /"}},
		{"an unknown host", 403, []string{"X-Forwarded-Host", "other.example"}},
		{"another port", 403, []string{"X-Forwarded-Host", guardedHost + ":8443"}},
	} {
		for _, g := range []*gate{in, out} {
			if got := g.ask(t, "/", c.headers...); got.StatusCode != c.status {
				t.Errorf("%s: status %d, expected %d", c.name, got.StatusCode, c.status)
			}
		}
	}
	for _, c := range [][]string{
		{"X-Forwarded-Host", "WIKI.example.org"}, {"X-Forwarded-Host", guardedHost + ":443"},
		{"X-Forwarded-Host", guardedHost + "."},
	} {
		in.ask(t, "/", c...).wants(t, 200)
	}
	// The advisories of other servers: what they read decides nothing here.
	for name, headers := range map[string][]string{
		"CVE-2024-47070 (authentik): X-Forwarded-For":  {"X-Forwarded-For", "127.0.0.1"},
		"CVE-2026-35051 (Traefik): X-Forwarded-Prefix": {"X-Forwarded-Prefix", "/public"},
		"RFC 7239: Forwarded":                          {"Forwarded", "for=127.0.0.1;host=other.example"},
		"the underscore":                               {"X_Forwarded_Uri", "/public/x"},
		"the other family":                             {"X-Original-URL", "https://" + guardedHost + "/public/x"},
		"the override":                                 {"X-Rewrite-URL", "/public/x"},
		// Caddy from its PR 6608 on keeps them if the answer has none.
		"the names of people": {"Remote-User", "root", "remote_user", "root", "X-Remote-User", "root"},
	} {
		out.ask(t, "/", headers...).wants(t, 302)
		got := in.ask(t, "/", headers...)
		got.wants(t, 200)
		if user := got.Header.Get("Remote-User"); user != "alice" {
			t.Errorf("%s: the request is that of %q", name, user)
		}
	}
}

// CVE-2026-25748 (authentik): a malformed cookie was let through.
func TestAttackMalformedCookieOfASite(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}})
	in := s.in(t, "alice")
	good := in.cookies["__Host-mandate"]
	out := s.visitor(t).at(guardedHost)
	for _, cookie := range []string{
		"__Host-mandate=", "__Host-mandate", "__Host-mandate=;", `__Host-mandate="`, "__Host-mandate=\"" + good, "=;=;=",
		"__Host-mandate=" + good + "x", "__Host-mandate=" + good[1:], "mandate=" + good, "__host-mandate=" + good,
		"__Host-mandate=x; __Host-mandate=" + good, "__Host-mandate=" + good + "; __Host-mandate=" + good,
		"__Host-mandate=" + strings.Repeat("A", 8000), "__Host-mandate=%00", "__Host-mandate=' OR 1=1 --",
	} {
		if got := out.ask(t, "/", "Cookie", cookie); got.StatusCode != 302 {
			t.Errorf("Cookie: %s: status %d", cookie, got.StatusCode)
		}
	}
	out.ask(t, "/", "Cookie", "a=b; __Host-mandate="+good+"; c=d").wants(t, 200)
}

// The cookie of one host is worth nothing at another one, also below the same domain and of the same site.
func TestAttackCookieOfAnotherHost(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost, "files.example.org"}})
	s.guarded(t, sites.Registration{Name: "Notes", Hosts: []string{"notes.example.org"}})
	in := s.in(t, "alice")
	for _, host := range []string{"files.example.org", "notes.example.org"} {
		other := &gate{in.visitor, host, in.cookies}
		other.ask(t, "/").wants(t, 302)
	}
}

// Only a trusted proxy is believed, and the log names the remedy.
func TestAttackStrangerAsksAboutASite(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.OpenID = true })
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}})
	g := s.visitor(t).at(guardedHost)
	g.ask(t, "/").wants(t, 403)
	g.asked(t, "/authz/request", nil).wants(t, 403)
	g.below(t, "https://"+guardedHost+"/.mandate/sign-in").wants(t, 403)
	if !strings.Contains(s.log.String(), "TRUSTED_PROXIES") {
		t.Error("the log does not name the setting")
	}
}

// A sign-in is for one browser and one host, and leads to a path of this host.
func TestAttackSignInToASite(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost, "files.example.org"}})
	at := "https://" + guardedHost
	for target, want := range map[string]string{
		"https://evil.example/": "/", "//evil.example/": "/", `/\evil.example`: "/", "/\t/evil.example": "/", "": "/",
		"evil.example": "/", "/.mandate/sign-out": "/", "javascript:alert(1)": "/",
		"/x?to=//evil.example": "/x?to=//evil.example",
	} {
		g := s.as(t, "alice").at(guardedHost)
		begun := g.below(t, at+"/.mandate/sign-in?to="+url.QueryEscape(target))
		arrived := g.below(t, g.follow(t, begun).Header.Get("Location"))
		arrived.wants(t, 303)
		if to := arrived.Header.Get("Location"); to != at+want {
			t.Errorf("%q leads to %q, expected %q", target, to, at+want)
		}
	}
	// The response of one browser signs no other one in (login CSRF).
	attacker := s.as(t, "root").at(guardedHost)
	begun := attacker.below(t, at+"/.mandate/sign-in?to=/")
	response := attacker.follow(t, begun).Header.Get("Location")
	victim := s.as(t, "alice").at(guardedHost)
	victim.below(t, response).wants(t, 400)
	victim.below(t, at+"/.mandate/sign-in?to=/")
	victim.below(t, response).wants(t, 400)
	elsewhere := &gate{attacker.visitor, "files.example.org", attacker.cookies}
	elsewhere.below(t, strings.Replace(response, guardedHost, "files.example.org", 1)).wants(t, 400)
	// A code works once.
	attacker.below(t, response).wants(t, 303)
	attacker.below(t, response).wants(t, 400)
	// The token endpoint gives nobody tokens for it: the secret is unknown.
	code := attacker.follow(t, attacker.below(t, at+"/.mandate/sign-in?to=/")).Header.Get("Location")
	u, err := url.Parse(code)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.provider.Sites.Sites(t.Context(), policy.Operator())
	if err != nil {
		t.Fatal(err)
	}
	attacker.post(t, "/o/token/", "grant_type", "authorization_code", "code", u.Query().Get("code"), "client_id",
		found[0].ClientID, "redirect_uri", at+"/.mandate/callback").wants(t, 401)
}

// Whatever ends a session, or what the person may do, is seen at once.
func TestForwardAuthEnds(t *testing.T) {
	root := policy.Operator()
	for name, end := range map[string]func(*site, storage.Site) error{
		"the sessions end": func(s *site, _ storage.Site) error {
			alice, err := s.provider.People.UserByName(t.Context(), "alice")
			if err == nil {
				_, err = s.provider.People.EndSessions(t.Context(), alice.ID)
			}
			return err
		},
		"the account is disabled": func(s *site, _ storage.Site) error {
			return s.provider.People.DisableUser(t.Context(), "alice")
		},
		"everything that the application holds is revoked": func(s *site, made storage.Site) error {
			return s.provider.Clients.RevokeAll(t.Context(), root, made.ApplicationID)
		},
		"the host moves to another site": func(s *site, made storage.Site) error {
			_, err := s.provider.Sites.Change(t.Context(), root, made.ClientID, func(r *sites.Registration) {
				r.Hosts = []string{"moved.example.org"}
			})
			if err == nil {
				s.guarded(t, sites.Registration{Hosts: []string{guardedHost}})
			}
			return err
		},
		"the site is suspended": func(s *site, made storage.Site) error {
			_, err := s.provider.Sites.Change(t.Context(), root, made.ClientID, func(r *sites.Registration) {
				r.Suspended = true
			})
			return err
		},
		"the site is deleted": func(s *site, made storage.Site) error {
			return s.provider.Sites.Delete(t.Context(), root, made.ClientID)
		},
		"the site is for other people": func(s *site, made storage.Site) error {
			err := s.provider.People.AddGroup(t.Context(), "staff")
			if err == nil {
				_, err = s.provider.Clients.Change(t.Context(), root, made.ApplicationID, func(r *clients.Registration) error {
					r.AllowedGroups = []string{"staff"}
					return nil
				})
			}
			return err
		},
		"a stronger login is required": func(s *site, made storage.Site) error {
			_, err := s.provider.Clients.Change(t.Context(), root, made.ApplicationID, func(r *clients.Registration) error {
				r.RequiredACR = acr.MFA
				return nil
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "", trusting)
			made := s.guarded(t, sites.Registration{Hosts: []string{guardedHost}})
			g := s.in(t, "alice")
			err := end(s, made)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.ask(t, "/"); got.StatusCode == http.StatusOK {
				t.Error("the site is still open")
			}
		})
	}
}

// A sign-out below the host ends the session there, unless another website has sent the browser.
func TestForwardAuthSignOut(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}})
	g := s.in(t, "alice")
	out := func(from string) answer {
		r := g.request(t, get, "/.mandate/sign-out", "")
		r.Host = guardedHost
		r.Header.Set("Sec-Fetch-Site", from)
		return g.send(t, r)
	}
	out("cross-site").wants(t, 303)
	g.ask(t, "/").wants(t, 200)
	old := g.cookies["__Host-mandate"]
	out("same-origin").wants(t, 303)
	if g.cookies["__Host-mandate"] != "" {
		t.Error("the cookie is still there")
	}
	g.ask(t, "/", "Cookie", "__Host-mandate="+old).wants(t, 302)
}

// A signed assertion is for the host alone, and its key is published.
func TestForwardAuthAssertion(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}, Assertion: true})
	g := s.in(t, "alice")
	parts := strings.Split(g.ask(t, "/").Header.Get("X-Mandate-Assertion"), ".")
	if len(parts) != 3 {
		t.Fatalf("no JWT: %v", parts)
	}
	var header struct{ Kid, Typ, Alg string }
	var claims struct {
		Iss, Aud, Sub string
		Name          string `json:"preferred_username"`
		Iat, Exp      int64
	}
	for i, into := range []any{&header, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if claims.Aud != "https://"+guardedHost || claims.Iss != s.base+"/o" || claims.Name != "alice" ||
		claims.Exp-claims.Iat != 60 || header.Typ != "site-assertion+jwt" {
		t.Errorf("%+v %+v", header, claims)
	}
	g.visitor.get(t, "/o/.well-known/jwks.json").wants(t, 200, `"`+header.Kid+`"`)
}
