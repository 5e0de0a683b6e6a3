package provider

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/indicator"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/tokens"
)

const (
	server    = "https://auth.example"
	files     = "https://files.example/v1"
	mailbox   = "https://mail.example/"
	signedAPI = "https://signedAPI.example/mcp"
)

// resource adds a resource.
func (f *fixture) resource(uri string, changes ...func(*resources.Registration)) {
	f.t.Helper()
	r := resources.Registration{URI: uri, Name: "API " + uri}
	for _, change := range changes {
		change(&r)
	}
	_, err := f.Resources.Add(f.t.Context(), policy.Operator(), r)
	if err != nil {
		f.t.Fatal(err)
	}
}

func scoped(scopes ...string) func(*resources.Registration) {
	return func(r *resources.Registration) { r.Scopes = scopes }
}
func jwts(r *resources.Registration) { r.TokenFormat = policy.FormatJWT }
func known(apps ...*clients.Registered) func(*resources.Registration) {
	return func(r *resources.Registration) {
		for _, a := range apps {
			r.Introspectors = append(r.Introspectors, a.Application.ClientID)
		}
	}
}
func only(uris ...string) func(*clients.Registration) {
	return func(r *clients.Registration) { r.Resources = uris }
}

// withResources is a fixture with three resources: files for the scopes read and write,
// mailbox for every scope, and signedAPI for the scope read, whose tokens are JWTs.
func withResources(t *testing.T, changes ...func(*Config)) *fixture {
	t.Helper()
	f := begin(t, append([]func(*Config){openID}, changes...)...)
	f.resource(files, scoped("read", "write"))
	f.resource(mailbox)
	f.resource(signedAPI, scoped("read"), jwts)
	return f
}

// shown returns what the introspection endpoint tells a caller about a token.
func (f *fixture) shown(caller *clients.Registered, token string, pairs ...string) tokens.Introspection {
	f.t.Helper()
	got, _, err := f.Tokens.Introspect(f.t.Context(), by(caller, append([]string{"token", token}, pairs...)...), "")
	if err != nil {
		f.t.Fatal(err)
	}
	return *got
}

// aud returns the audience of an issued access token, as the database has it or as the token
// itself says.
func (f *fixture) aud(text string) string {
	f.t.Helper()
	token, err := f.Tokens.FindToken(f.t.Context(), text)
	if err != nil {
		f.t.Fatal(err)
	}
	if token.Resource == "" {
		return server
	}
	var uris []string
	for _, name := range oauth.Lines(token.Resource) {
		uri, _ := indicator.Split(name)
		uris = append(uris, uri)
	}
	return strings.Join(uris, " ")
}

func TestResourceRequested(t *testing.T) {
	f := withResources(t)
	app, limited := f.app(), f.app(only(files, server))
	gone := f.app(only(files))
	f.sql(`UPDATE applications SET resources = '` + files + `/' WHERE id = '` + gone.Application.ID + `'`)
	f.forgetCopies()
	many := make([]string, 0, 22)
	for range 11 {
		many = append(many, "resource", files)
	}
	for _, test := range []struct {
		rule string
		app  *clients.Registered
		form []string
		aud  string
		err  string
	}{
		{"without the parameter, the server", app, nil, server, "no error"},
		{"RFC6749/3.2 without a value", app, []string{"resource", ""}, server, "no error"},
		{"RFC8707/2.2 one", app, []string{"resource", files, "scope", "read"}, files, "no error"},
		{"RFC8707/2 the registered form goes into aud", app, []string{"resource", "HTTPS://Mail.Example:443"}, mailbox,
			"no error"},
		{"RFC8707/2 several", app, []string{"resource", files, "resource", mailbox}, files + " " + mailbox, "no error"},
		{"RFC8707/2 the same twice", app, []string{"resource", mailbox, "resource", "https://mail.example"}, mailbox,
			"no error"},
		{"the server by its URI", app, []string{"resource", server + "/"}, server, "no error"},
		{"the server and another", app, []string{"resource", mailbox, "resource", server}, mailbox + " " + server,
			"no error"},
		{"the default of the application", limited, []string{"scope", "read"}, files, "no error"},
		{"another of the application", limited, []string{"resource", server}, server, "no error"},
		{"a slash more than the application has", limited, []string{"resource", files + "/"}, files, "no error"},
		{"RFC8707/2 not of the application", limited, []string{"resource", mailbox}, "", "400 invalid_target"},
		{"the default is gone", gone, nil, "", "400 invalid_target"},
		{"RFC8707/2 unknown", app, []string{"resource", "https://unknown.example"}, "", "400 invalid_target"},
		{"a prefix", app, []string{"resource", "https://files.example/"}, "", "400 invalid_target"},
		{"a slash more", app, []string{"resource", files + "/"}, files, "no error"},
		{"a longer path", app, []string{"resource", files + "/a"}, "", "400 invalid_target"},
		{"RFC8707/2 with a fragment", app, []string{"resource", mailbox + "#a"}, "", "400 invalid_target"},
		{"RFC8707/2 relative", app, []string{"resource", "/v1"}, "", "400 invalid_target"},
		{"one of two is unknown", app, []string{"resource", mailbox, "resource", "https://unknown.example"}, "",
			"400 invalid_target"},
		{"too many", app, many, "", "400 invalid_target"},
		{"a scope of another resource", app, []string{"resource", files, "scope", "groups"}, "", "400 invalid_scope"},
		{"a scope of one of two", app, []string{"resource", files, "resource", mailbox, "scope", "read groups"}, "",
			"400 invalid_scope"},
		{"a scope of the server, and a resource", app, []string{"resource", files, "resource", server, "scope", "groups"}, "",
			"400 invalid_scope"},
		{"RFC9068/3 opaque and signed", app, []string{"resource", mailbox, "resource", signedAPI}, "", "400 invalid_target"},
		{"the scope introspection is for the server", f.app(introspects),
			[]string{"resource", mailbox, "scope", "introspection"}, "", "400 invalid_scope"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			answer, err := f.token(test.app, append([]string{"grant_type", policy.GrantClient}, test.form...)...)
			wantError(t, err, test.err)
			if err == nil && f.aud(answer.AccessToken) != test.aud {
				t.Errorf("got %q, want %q", f.aud(answer.AccessToken), test.aud)
			}
		})
	}
	t.Run("the default scopes are those of the resource", func(t *testing.T) {
		if got := f.must(f.token(app, "grant_type", policy.GrantClient, "resource", files)).Scope; got != "read write" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the authorization endpoint sends the error to the client", func(t *testing.T) {
		a, err := f.Authorizations.Authorize(t.Context(), f.query(app, "resource", "https://unknown.example"))
		if err != nil || a.Refused == nil || a.Refused.Code != "invalid_target" {
			t.Error(err, a)
		}
	})
}

// RFC 8707 §2.2: the refresh token has all resources, and each access token has those that
// its request names.
func TestResourceNarrowed(t *testing.T) {
	f := withResources(t, func(c *Config) { c.RefreshGrace = time.Minute })
	s, app := f.login("alice"), f.app()
	code := func() string {
		return f.code(app, s, "resource", files, "resource", signedAPI, "resource", mailbox, "scope", "openid read groups")
	}
	_, err := f.exchange(app, code())
	wantError(t, err, "400 invalid_scope") // files has no scope groups
	_, err = f.exchange(app, f.code(app, s, "resource", files, "resource", signedAPI, "scope", "read"))
	wantError(t, err, "400 invalid_target") // opaque and signed in one token
	_, err = f.exchange(app, code(), "resource", server)
	wantError(t, err, "400 invalid_target")
	first := f.must(f.exchange(app, code(), "resource", files))
	if got := []string{f.aud(first.AccessToken), first.Scope}; !cmp.Equal(got, []string{files, "openid read"}) ||
		first.IDToken == "" {
		t.Error(got)
	}
	second := f.must(f.refresh(app, first.RefreshToken, "resource", mailbox))
	if got := []string{f.aud(second.AccessToken), second.Scope}; !cmp.Equal(got, []string{mailbox, "openid read groups"}) {
		t.Error(got)
	}
	t.Run("a request that is repeated names the same resource", func(t *testing.T) {
		again := f.must(f.refresh(app, first.RefreshToken, "resource", "https://MAIL.example"))
		if again.AccessToken != second.AccessToken {
			t.Error("another token")
		}
		_, err := f.refresh(app, first.RefreshToken, "resource", files)
		wantError(t, err, "400 invalid_target")
		f.wantActive(true, second.AccessToken)
	})
	third := f.must(f.refresh(app, second.RefreshToken, "resource", signedAPI+"/"))
	claims, _ := f.claimsFor(third.AccessToken, signedAPI)
	if got := []any{claims["aud"], claims["scope"]}; !cmp.Equal(got, []any{signedAPI, "openid read"}) {
		t.Error(got)
	}
	for _, test := range []struct{ rule, pairs, want string }{
		{"not granted", "resource " + server, "400 invalid_target"},
		{"unknown", "resource https://unknown.example", "400 invalid_target"},
		{"a scope of another resource", "resource " + files + " scope groups", "400 invalid_scope"},
		{"all of them, with different scopes", "", "400 invalid_scope"},
		{"all of them", "scope read", "400 invalid_target"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := f.refresh(app, third.RefreshToken, strings.Fields(test.pairs)...)
			wantError(t, err, test.want)
		})
	}
	t.Run("a resource that is deleted gets no more tokens", func(t *testing.T) {
		err := f.Resources.Delete(t.Context(), policy.Operator(), mailbox)
		if err != nil {
			t.Fatal(err)
		}
		f.wantActive(false, second.AccessToken)
		f.wantActive(true, first.AccessToken, third.AccessToken)
		// What was issued for a resource that is gone is not for one with a slash more.
		f.sql(`UPDATE tokens SET resource = REPLACE(resource, '#', '/#') WHERE resource LIKE '` + files +
			`#%' AND NOT refresh`)
		f.forgetCopies()
		f.wantActive(false, first.AccessToken)
		_, err = f.refresh(app, third.RefreshToken, "resource", mailbox)
		wantError(t, err, "400 invalid_target")
		err = f.Resources.Delete(t.Context(), policy.Operator(), signedAPI)
		if err != nil {
			t.Fatal(err)
		}
		f.wantActive(false, third.AccessToken)
		last := f.must(f.refresh(app, third.RefreshToken))
		if got := f.aud(last.AccessToken); got != files {
			t.Error(got)
		}
		err = f.Resources.Delete(t.Context(), policy.Operator(), files)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.refresh(app, last.RefreshToken)
		wantError(t, err, "400 invalid_target")
	})
}

// A token of a grant without a resource is for the server. A token request cannot give it
// another audience, which nobody approved.
func TestResourceOnlyAtTheTokenEndpoint(t *testing.T) {
	f := withResources(t)
	s, app := f.login("alice"), f.app()
	_, err := f.exchange(app, f.code(app, s), "resource", files)
	wantError(t, err, "400 invalid_target")
	answer := f.must(f.exchange(app, f.code(app, s), "resource", server))
	_, err = f.refresh(app, answer.RefreshToken, "resource", files)
	wantError(t, err, "400 invalid_target")
	answer = f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword,
		"resource", mailbox))
	if got := f.aud(answer.AccessToken) + " " +
		f.aud(f.must(f.refresh(app, answer.RefreshToken)).AccessToken); got != mailbox+" "+mailbox {
		t.Error(got)
	}
}

// The consent page asks again for a resource that the person has not approved.
func TestResourceConsent(t *testing.T) {
	f := withResources(t)
	s, app := f.login("alice"), f.app()
	asks := func(pairs ...string) bool {
		asked, err := f.Authorizations.RequiredInteraction(t.Context(),
			f.authorize(app, append([]string{"scope", "read"}, pairs...)...), s)
		if err != nil {
			t.Fatal(err)
		}
		return asked != nil
	}
	f.approve(t, app, s, "scope", "read")
	want := func(want bool, pairs ...string) {
		t.Helper()
		if asks(pairs...) != want {
			t.Errorf("asks for %q: %t", pairs, !want)
		}
	}
	want(false)
	want(true, "resource", files)
	want(true, "resource", server, "resource", files)
	f.approve(t, app, s, "scope", "read", "resource", files)
	want(false, "resource", files)
	want(false, "resource", server, "resource", files)
	want(true, "resource", files, "resource", mailbox)
	asked := f.ask(t, app, s, "scope", "read", "resource", files, "resource", mailbox)
	if got := strings.Join(asked.ApprovedFor, " "); got != files {
		t.Errorf("the page says that %q was approved before, want %s", got, files)
	}
	f.approve(t, app, s, "scope", "read", "resource", mailbox)
	want(false, "resource", files, "resource", mailbox)
	f.tokens(app, s, "scope", "read", "resource", signedAPI) // without a consent
	listed, err := f.People.Authorized(t.Context(), s.User.ID)
	if err != nil || len(listed) != 1 {
		t.Fatal(listed, err)
	}
	audience, err := f.Resources.Granted(t.Context(), strings.Join(listed[0].Resources, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, r := range audience.Named() {
		shown = append(shown, r.URI)
	}
	if got := strings.Join(shown, " "); got != files+" "+mailbox+" "+signedAPI {
		t.Errorf("the account page shows %q", got)
	}
	a, err := f.Authorizations.Authorize(t.Context(),
		f.query(app, "scope", "openid read", "prompt", "none", "resource", signedAPI))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Authorizations.RequiredInteraction(t.Context(), a, s)
	wantError(t, err, "400 consent_required")
	t.Run("the page shows what is approved", func(t *testing.T) {
		asked := f.ask(t, app, s, "scope", "read", "resource", signedAPI)
		was, err := f.Resources.Resource(t.Context(), policy.Operator(), signedAPI)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Resources.Change(t.Context(), policy.Operator(), was,
			resources.Registration{Name: "Another name", Scopes: []string{"read"}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Authorizations.Resume(t.Context(), asked.Ticket, s)
		wantError(t, err, "400 invalid_request")
	})
}

func TestResourceTokenLooks(t *testing.T) {
	f := withResources(t)
	f.resource("https://short.example/", func(r *resources.Registration) { r.Lifetime = 60 })
	f.resource("https://long.example/", func(r *resources.Registration) { r.Lifetime = 20 * 3600 })
	f.resource("https://ec.example/", jwts, func(r *resources.Registration) { r.Algorithm, r.Lifetime = "ES256", 120 })
	own := f.app(func(r *clients.Registration) { r.AccessTokenLifetime = 600 })
	jwt := f.app(func(r *clients.Registration) { r.AccessTokenFormat = policy.FormatJWT })
	for _, test := range []struct {
		rule, uri string
		app       *clients.Registered
		format    string
		expires   int64
	}{
		{"short", "https://short.example/", f.app(), "", 60},
		{"longer than the server's", "https://long.example/", f.app(), "", 20 * 3600},
		{"the application's is shorter", "https://long.example/", own, "", 600},
		{"the application's is longer", "https://short.example/", own, "", 60},
		{"the application's format", mailbox, jwt, "RS256", int64(f.config.JWTAccessTokenLifetime / time.Second)},
		{"the resource's format", "https://ec.example/", f.app(), "ES256", 120},
		{"the resource's format, shorter", "https://ec.example/", own, "ES256", 120},
	} {
		t.Run(test.rule, func(t *testing.T) {
			answer := f.must(f.token(test.app, "grant_type", policy.GrantClient, "resource", test.uri))
			format := ""
			if strings.Contains(answer.AccessToken, ".") {
				_, header := f.claimsFor(answer.AccessToken, test.uri)
				format, _ = header["alg"].(string)
			}
			if answer.ExpiresIn != test.expires || format != test.format {
				t.Errorf("got %d %q, want %d %q", answer.ExpiresIn, format, test.expires, test.format)
			}
			f.wantActive(true, answer.AccessToken)
		})
	}
}

func TestResourceRegistration(t *testing.T) {
	configured := resources.Registration{URI: "https://configured.example", Name: "Configured", Scopes: []string{"read"}}
	f := withResources(t, func(c *Config) { c.Resources.Configured = []resources.Registration{configured} })
	alice := f.login("alice").User
	_, err := f.Resources.Add(t.Context(), policy.By(alice),
		resources.Registration{URI: "https://alice.example", Name: "Mine"})
	wantError(t, err, "403 access_denied")
	_, err = f.Resources.Resources(t.Context(), policy.By(alice))
	wantError(t, err, "403 access_denied")
	wantError(t, f.Resources.Delete(t.Context(), policy.By(alice), files), "403 access_denied")
	refused := f.app(public)
	for field, r := range map[string]resources.Registration{
		"name":                  {URI: "https://x.example", Name: " "},
		"uri":                   {URI: "https://x.example#", Name: "x"},
		"scopes":                {URI: "https://x.example", Name: "x", Scopes: []string{"unknown"}},
		"token_format":          {URI: "https://x.example", Name: "x", TokenFormat: "saml"},
		"access_token_lifetime": {URI: "https://x.example", Name: "x", Lifetime: -1},
		"algorithm":             {URI: "https://x.example", Name: "x", TokenFormat: policy.FormatJWT, Algorithm: "HS256"},
		"introspectors":         {URI: "https://x.example", Name: "x", Introspectors: []string{refused.Application.ClientID}},
	} {
		_, err := f.Resources.Add(t.Context(), policy.Operator(), r)
		wantInvalid(t, err, field)
	}
	for field, uri := range map[string]string{"taken": "https://FILES.example/v1", "the server": server,
		"configured": "https://configured.example/"} {
		_, err := f.Resources.Add(t.Context(), policy.Operator(), resources.Registration{URI: uri, Name: field})
		wantInvalid(t, err, "uri")
	}
	_, err = f.Resources.Add(t.Context(), policy.Operator(),
		resources.Registration{URI: "https://x.example", Name: "x", Scopes: []string{"introspection"}})
	wantInvalid(t, err, "scopes")
	wantInvalid(t, f.Resources.Delete(t.Context(), policy.Operator(), "https://configured.example"), "uri")
	if err := f.Resources.Delete(t.Context(), policy.Operator(), "https://unknown.example"); !errors.Is(err,
		oauth.ErrNotFound) {
		t.Error(err)
	}
	if got := f.aud(f.must(f.token(f.app(), "grant_type", policy.GrantClient, "resource", "https://configured.example")).
		AccessToken); got != configured.URI {
		t.Error(got)
	}
	t.Run("two changes at the same moment", func(t *testing.T) {
		was, err := f.Resources.Resource(t.Context(), policy.Operator(), files)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, f.Resources.Change(t.Context(), policy.Operator(), was, resources.Registration{Name: "one"}), "no error")
		wantInvalid(t, f.Resources.Change(t.Context(), policy.Operator(), was, resources.Registration{Name: "two"}), "name")
	})
	t.Run("a scope that the operator has removed stays", func(t *testing.T) {
		f.sql(
			`UPDATE resources SET scopes = 'read gone', introspectors = '` + "\n" + refused.Application.ClientID + "\n" +
				`' WHERE uri = '` + files + `'`,
		)
		was, err := f.Resources.Resource(t.Context(), policy.Operator(), files)
		if err != nil {
			t.Fatal(err)
		}
		r := resources.Registration{
			Name:          "Renamed",
			Scopes:        []string{"read", "gone"},
			Introspectors: []string{refused.Application.ClientID},
		}
		wantError(t, f.Resources.Change(t.Context(), policy.Operator(), was, r), "no error")
		was, err = f.Resources.Resource(t.Context(), policy.Operator(), files)
		if err != nil || was.Name != "Renamed" || was.Scopes != "read gone" {
			t.Errorf("%+v, %v", was, err)
		}
		r.Scopes = []string{"read", "gone", "other"}
		wantInvalid(t, f.Resources.Change(t.Context(), policy.Operator(), was, r), "scopes")
		r.Scopes, r.Introspectors = []string{
			"read",
		}, []string{
			refused.Application.ClientID,
			f.app(public).Application.ClientID,
		}
		wantInvalid(t, f.Resources.Change(t.Context(), policy.Operator(), was, r), "introspectors")
		wantInvalid(
			t,
			second(
				f.Resources.Add(
					t.Context(),
					policy.Operator(),
					resources.Registration{URI: "https://y.example", Name: "y", Scopes: []string{"gone"}},
				),
			),
			"scopes",
		)
	})
	t.Run("an application names resources that exist", func(t *testing.T) {
		app := f.app()
		wantInvalid(t, f.change(app, only("https://unknown.example")), "resources")
		wantError(t, f.change(app, only("https://MAIL.example", mailbox)), "no error")
		a, err := f.Clients.Application(t.Context(), policy.Operator(), app.Application.ID)
		if err != nil || a.Resources != mailbox {
			t.Error(a.Resources, err)
		}
		err = f.Resources.Delete(t.Context(), policy.Operator(), mailbox)
		if err != nil {
			t.Fatal(err)
		}
		app.Application = a
		wantError(t, f.change(app, only(mailbox)), "no error") // somebody changes only its name
		wantInvalid(t, f.change(app, only(mailbox, "https://unknown.example")), "resources")
	})
}
