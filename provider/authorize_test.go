package provider

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/acr"
	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/errorcode"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/tokens"
)

func TestAuthorizeBeforeTheClientIsProven(t *testing.T) {
	f := begin(t)
	app := f.app()
	two := f.app(func(r *clients.Registration) { r.RedirectURIs = []string{callback, "https://client.example/cb2"} })
	none := f.app(grants(policy.GrantClient), func(r *clients.Registration) { r.RedirectURIs = nil })
	for _, test := range []struct {
		rule string
		app  *clients.Registered
		form []string
		want string
	}{
		{"RFC6749/4.1.2.1 no client_id", app, []string{"client_id", "-"}, "400 invalid_request"},
		{"RFC6749/4.1.2.1 an empty client_id", app, []string{"client_id", ""}, "400 invalid_request"},
		{"RFC6749/4.1.2.1 an unknown client_id", app, []string{"client_id", "unknown"}, "400 invalid_client"},
		{
			"RFC6749/4.1.2.1 the client_id has its case",
			app,
			[]string{"client_id", swapCase(app.Application.ClientID)},
			"400 invalid_client",
		},
		{"a client_id that is not text", app, []string{"client_id", "\xff"}, "400 invalid_request"},
		{"a client_id with a NUL", app, []string{"client_id", app.Application.ClientID + "\x00"}, "400 invalid_request"},
		{
			"RFC6749/3.1.2.4 another redirect URI",
			app,
			[]string{"redirect_uri", "https://evil.example/cb"},
			"400 invalid_request",
		},
		{
			"RFC6749/3.1.2.4 a redirect URI of another client",
			app,
			[]string{"redirect_uri", "https://client.example/cb2"},
			"400 invalid_request",
		},
		{
			"RFC6749/3.1.2.4 a part of the redirect URI",
			app,
			[]string{"redirect_uri", "https://client.example/"},
			"400 invalid_request",
		},
		{"a redirect URI that is not text", app, []string{"redirect_uri", callback + "\xff"}, "400 invalid_request"},
		{
			"RFC6749/3.1.2.3 no redirect URI where two are registered",
			two,
			[]string{"redirect_uri", "-"},
			"400 invalid_request",
		},
		{
			"RFC6749/3.1.2.3 an empty redirect URI where two are registered",
			two,
			[]string{"redirect_uri", ""},
			"400 invalid_request",
		},
		{"RFC6749/3.1.2.4 no redirect URI is registered", none, nil, "400 invalid_request"},
		{
			"RFC6749/3.1.2.4 no redirect URI is registered, and none sent",
			none,
			[]string{"redirect_uri", "-"},
			"400 invalid_request",
		},
	} {
		t.Run(test.rule, func(t *testing.T) {
			// RFC 9700 §4.11.2: the server must not redirect, whatever else the request contains.
			a, err := f.Authorizations.Authorize(t.Context(), f.query(test.app, append(
				test.form, "scope", "bad", "state", "s",
			)...))
			wantError(t, err, test.want)
			if a != nil {
				t.Error("an authorization comes with the error")
			}
		})
	}
	t.Run("the error shows how the redirect URI differs, and whose it is", func(t *testing.T) {
		owner := f.person("owner")
		made, err := f.Clients.Register(t.Context(), policy.By(owner), clients.Registration{
			Name:         "Own",
			ClientType:   policy.Public,
			GrantTypes:   []string{policy.GrantCode},
			RedirectURIs: []string{callback},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Authorizations.Authorize(t.Context(), f.query(made, "redirect_uri", callback+"/"))
		e, ok := err.(*oauth.Error)
		if !ok || e.Mismatch == nil || e.Mismatch.Part != "path" || e.Mismatch.OwnerID != owner.ID {
			t.Errorf("%+v", err)
		}
		if strings.Contains(err.Error(), callback) {
			t.Error("the text tells the registered URI:", err)
		}
	})
}

func TestAuthorizeRefused(t *testing.T) {
	f := begin(t)
	app, machine := f.app(), f.app(grants(policy.GrantClient))
	phone, strict := f.app(public), f.app(func(r *clients.Registration) { r.PKCE = policy.PKCERequired })
	for _, test := range []struct {
		rule string
		app  *clients.Registered
		form []string
		want string
	}{
		{"RFC6749/4.1.2.1 no response_type", app, []string{"response_type", "-"}, "400 invalid_request"},
		{"RFC6749/4.1.2.1 the implicit grant", app, []string{"response_type", "token"}, "400 unsupported_response_type"},
		{"RFC6749/3.1.1 code and token", app, []string{"response_type", "code token"}, "400 unsupported_response_type"},
		{
			"RFC6749/3.1.1 the response type has its case",
			app,
			[]string{"response_type", "CODE"},
			"400 unsupported_response_type",
		},
		{"RFC6749/4.1.2.1 the application has no such grant", machine, nil, "400 unauthorized_client"},
		{"OIDC Core/3.1.2.6 a request object", app, []string{"request", "x"}, "400 invalid_request_object"},
		{"OIDC Core/3.1.2.6 a request URI", app, []string{"request_uri", "urn:x"}, "400 request_uri_not_supported"},
		{
			"RFC7636/4.4.1 no challenge of a public application",
			phone,
			[]string{"code_challenge", "-", "code_challenge_method", "-"},
			"400 invalid_request",
		},
		{
			"RFC7636/4.4.1 no challenge where it is required",
			strict,
			[]string{"code_challenge", "-", "code_challenge_method", "-"},
			"400 invalid_request",
		},
		{"RFC7636/4.4.1 plain", app, []string{"code_challenge_method", "plain"}, "400 invalid_request"},
		{"RFC6749/4.1.2.1 an unknown scope", app, []string{"scope", "unknown other"}, "400 invalid_scope"},
		{"RFC6749/4.1.2.1 introspection is not allowed", app, []string{"scope", "introspection"}, "400 invalid_scope"},
		{"RFC9470/4 a max_age that is no number", app, []string{"max_age", "-1"}, "400 invalid_request"},
		{
			"RFC9470/5 no acr that a login satisfies",
			app,
			[]string{"acr_values", "urn:other 1"},
			"400 unmet_authentication_requirements",
		},
		{
			"RFC6749/4.1.2.1 an unknown scope comes before the acr",
			app,
			[]string{"scope", "unknown", "acr_values", "urn:other"},
			"400 invalid_scope",
		},
		{"state is at most 4 KiB", app, []string{"state", strings.Repeat("s", oauth.MaxState+1)}, "400 invalid_request"},
		{"a value that is not UTF-8", app, []string{"nonce", "\xff"}, "400 invalid_request"},
		{"a state that is not UTF-8", app, []string{"state", "\xff"}, "400 invalid_request"},
		{"a NUL", app, []string{"scope", "read\x00"}, "400 invalid_request"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			form := f.query(test.app, append([]string{"state", "s & %"}, test.form...)...)
			a, err := f.Authorizations.Authorize(t.Context(), form)
			if err != nil {
				t.Fatal(err)
			}
			if a.Refused == nil {
				t.Fatal("accepted")
			}
			wantError(t, a.Refused, test.want)
			location := f.Authorizations.Refusal(a, a.Refused).Location()
			got := queryOf(t, location)
			// RFC 6749 §4.1.2.1, RFC 9207 §2: the response has the error, the state and the issuer, and nothing else.
			want := url.Values{
				"error":             {a.Refused.Code},
				"error_description": {a.Refused.Description},
				"error_uri":         {errorcode.URI("https://auth.example", a.Refused.Code, a.Refused.Description)},
				"state":             {"s & %"},
				"iss":               {"https://auth.example/o"},
			}
			switch state := form.Get("state"); {
			case !oauth.PlainText(state):
				want.Del("state") // it cannot be written
			case len(state) > oauth.MaxState:
				want.Set("state", state) // the client knows it from others only by it
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if !strings.HasPrefix(location, callback+"?") {
				t.Error(location)
			}
		})
	}
}

func TestAuthorizeAccepted(t *testing.T) {
	f := begin(t)
	app, may, s := f.app(), f.app(introspects), f.login("alice")
	for _, test := range []struct {
		rule  string
		app   *clients.Registered
		form  []string
		scope string
	}{
		{"RFC6749/3.3 the default scopes", app, nil, "read write groups"},
		{"RFC6749/3.3 the scopes asked for", app, []string{"scope", "groups read"}, "groups read"},
		{"introspection where it may", may, []string{"scope", "introspection"}, "introspection"},
		{
			"RFC6749/3.1.2.3 no redirect URI where only one is possible",
			app,
			[]string{"redirect_uri", "-"},
			"read write groups",
		},
		{
			"RFC6749/3.1 an empty parameter counts as left out",
			app,
			[]string{"scope", "", "state", "", "response_mode", "", "request", ""},
			"read write groups",
		},
		{
			"RFC6749/3.1 what is not known is ignored",
			app,
			[]string{
				"audience",
				"https://api.example",
				"claims",
				"{}",
				"prompt",
				"x",
				"nonce",
				"n",
				"display",
				"x",
				"id_token_hint",
				"x",
				"<script>",
				"x",
			},
			"read write groups",
		},
		{
			"RFC9470/4 max_age without OpenID Connect",
			app,
			[]string{"max_age", "60", "acr_values", "urn:other " + acr.Password},
			"read write groups",
		},
		{"response_mode=query is what there is", app, []string{"response_mode", "query"}, "read write groups"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			a := f.authorize(test.app, test.form...)
			if d := cmp.Diff(
				test.scope, strings.Join(authorize.ScopeNames(a.Scopes), " "),
			); d != "" || a.RedirectURI != callback || a.Application.ID != test.app.Application.ID {
				t.Error(d, a.RedirectURI)
			}
			location, err := f.Authorizations.Complete(t.Context(), a, s)
			if err != nil {
				t.Fatal(err)
			}
			got := queryOf(t, location.Location())
			code := got.Get("code")
			// RFC 6749 §4.1.2, RFC 9207 §2: the response has the code and the issuer, and nothing else.
			if d := cmp.Diff(url.Values{
				"code": {code},
				"iss":  {"https://auth.example/o"},
			}, got); d != "" || !strings.HasPrefix(code, tokens.CodePrefix) || len(code) != 47 {
				t.Error(d, code)
			}
		})
	}
	t.Run("RFC6749/4.1.2 each request has a code of its own", func(t *testing.T) {
		a := f.authorize(app)
		first, err := f.Authorizations.Complete(t.Context(), a, s)
		if err != nil {
			t.Fatal(err)
		}
		second, err := f.Authorizations.Complete(t.Context(), a, s)
		if err != nil || queryOf(t, first.Location()).Get("code") == queryOf(t, second.Location()).Get("code") {
			t.Error(first, second, err)
		}
	})
	t.Run("the database never sees a code or a token", func(t *testing.T) {
		code := f.code(app, s)
		answer := f.tokens(app, s)
		f.store.Close() // this writes the write-ahead log into the database file
		for _, secret := range []string{code, answer.AccessToken, answer.RefreshToken, app.Secret, goodPassword} {
			if f.contains(secret) || f.contains(strings.TrimPrefix(secret, tokens.CodePrefix)) {
				t.Errorf("%.8s... is in the database", secret)
			}
		}
	})
}

func TestAuthorizationResponse(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	uris := []string{
		callback,
		"https://client.example",
		"https://client.example/cb?b=2&a=1&b=%7E%2f+x",
		"https://client.example/cb?",
		"com.example.app:/cb",
		"http://127.0.0.1/cb?x",
		"https://client.example/a%2Fb/;c",
	}
	app := f.app(func(r *clients.Registration) { r.RedirectURIs = uris })
	states := []string{
		"x",
		"a&b=c",
		"100%",
		"%41%zz",
		"a+b c",
		"#fragment",
		"?",
		"=",
		"ü€\U0001F511",
		"e\u0301",
		`"<script>'\`,
		"\r\nSet-Cookie: x",
		"\t",
		" ",
		"null",
		strings.Repeat("0123456789abcdef", oauth.MaxState/16),
		strings.Repeat("é", oauth.MaxState/2),
	}
	for _, uri := range uris {
		for _, state := range states {
			a := f.authorize(app, "redirect_uri", uri, "state", state)
			code, err := f.Authorizations.Complete(t.Context(), a, s)
			if err != nil {
				t.Fatal(err)
			}
			for kind, location := range map[string]string{
				"code":  code.Location(),
				"error": f.Authorizations.Deny(a).Location(),
			} {
				rest, ok := strings.CutPrefix(location, uri)
				if !ok || strings.ContainsAny(rest, "#\r\n\t \"<") {
					t.Fatalf("RFC6749/3.1.2 the redirect URI is kept as it is: %s", location)
				}
				got := queryOf(t, location)
				if len(got[kind]) != 1 || !slices.Equal(
					got["state"], []string{state},
				) || !slices.Equal(got["iss"], []string{"https://auth.example/o"}) {
					t.Errorf("RFC6749/4.1.2, RFC9207/2 %s for %s: state %q, iss %q", kind, uri, got["state"], got["iss"])
				}
				for name, values := range queryOf(t, uri) {
					if !slices.Equal(got[name], values) {
						t.Errorf("RFC6749/3.1.2 the query of the redirect URI is kept: %s = %q", name, got[name])
					}
				}
			}
		}
	}
	t.Run("RFC6749/4.1.2.1 denied", func(t *testing.T) {
		got := queryOf(t, f.Authorizations.Deny(f.authorize(app, "state", "s")).Location())
		if got.Get("error") != "access_denied" || got.Get("state") != "s" || got.Has("code") {
			t.Error(got)
		}
	})
}

func FuzzAuthorizeQuery(f *testing.F) {
	h := begin(f)
	app := h.app(func(r *clients.Registration) {
		r.RedirectURIs = []string{callback, "http://127.0.0.1/cb", "com.example.app:/cb?x"}
	})
	h.sql("UPDATE applications SET client_id = 'client'")
	app.Application.ClientID = "client"
	for _, form := range []url.Values{
		h.query(app),
		h.query(app, "redirect_uri", "http://127.0.0.1:1/cb"),
		h.query(app, "redirect_uri", "https://evil.example"),
		h.query(
			app, "scope", "read", "state", "x",
		),
		h.query(app, "request", "x"),
		h.query(app, "response_type", "token"),
		h.query(
			app, "code_challenge", "-", "code_challenge_method", "-",
		),
		h.query(app, "response_mode", "fragment"),
		h.query(app, "registration", "x", "audience", "y"),
	} {
		f.Add(form.Encode())
	}
	f.Add("client_id=client&redirect_uri=http://127.0.0.1:1@evil.example/cb&state=%ff&state=")
	f.Add("client_id=client&client_id=other")
	f.Add("&&=&%00=&client_id=client")
	f.Fuzz(func(t *testing.T, query string) {
		form, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		a, err := h.Authorizations.Authorize(t.Context(), form)
		if err != nil {
			e, ok := err.(*oauth.Error)
			if !ok || e.Status >= 500 || a != nil {
				t.Fatal(err)
			}
			return
		}
		if !testConfig().Redirects.Match(a.RedirectURI, oauth.Lines(app.Application.RedirectURIs)) {
			t.Fatal("a redirect to", a.RedirectURI)
		}
		if sent := form.Get("redirect_uri"); sent != a.RedirectURI {
			t.Fatal("asked for", sent, "and got", a.RedirectURI)
		}
		location := h.Authorizations.Deny(a).Location()
		if a.Refused != nil {
			location = h.Authorizations.Refusal(a, a.Refused).Location()
		}
		if rest, ok := strings.CutPrefix(location, a.RedirectURI); !ok || strings.ContainsAny(rest, "# \r\n") {
			t.Fatal(location)
		}
		if state := form["state"]; len(state) == 1 && state[0] != "" && oauth.PlainText(state[0]) &&
			len(state[0]) <= oauth.MaxState && queryOf(
			t, location,
		).Get("state") != state[0] {
			t.Fatalf("state %q comes back in %s", state[0], location)
		}
	})
}

// OIDC Core §3.1.2.6: the client gets no response by an unknown mode, or by one that shows the code to scripts.
func TestResponseModeThatIsNotThereIsForAPage(t *testing.T) {
	off, on := begin(t), begin(t, func(c *Config) {
		c.OpenID, c.Scopes = true, append(c.Scopes, policy.Scope{Name: "openid", Description: "Sign in"})
	})
	for f, modes := range map[*fixture][]string{
		off: {"form_post", "fragment", "x"},
		on:  {"fragment", "fragment.jwt", "x"},
	} {
		app := f.app()
		for _, mode := range modes {
			a, err := f.Authorizations.Authorize(t.Context(), f.query(app, "response_mode", mode))
			if a != nil {
				t.Errorf("%s: sent back with %v", mode, a.Refused)
			}
			wantError(t, err, "400 invalid_request")
		}
	}
}
