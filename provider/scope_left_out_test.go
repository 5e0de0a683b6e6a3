package provider

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/policy"
	"mandate/provider/tokens"
)

// An application that asks for more than this server has gets the rest, wherever it asks. The response says what it got
// (RFC 6749 §5.1), and the log what was left out.
func TestScopesAreLeftOutEverywhere(t *testing.T) {
	const asked, got, left = "unknown read introspection write", "read write", "unknown (unknown), introspection (not " +
		"allowed)"
	f := begin(t)
	app, tv, s := f.app(), f.television(), f.login("alice")
	check := func(t *testing.T, scope, omitted string) {
		t.Helper()
		if d := cmp.Diff([]string{got, left}, []string{scope, omitted}); d != "" {
			t.Error(d)
		}
	}
	t.Run("authorization code", func(t *testing.T) {
		a := f.authorize(app, "scope", asked)
		check(t, strings.Join(authorize.ScopeNames(a.Scopes), " "), a.LeftOut.String())
		answer := f.must(f.exchange(app, f.code(app, s, "scope", asked)))
		check(t, answer.Scope, a.LeftOut.String())
		answer = f.must(f.refresh(app, answer.RefreshToken))
		check(t, answer.Scope, a.LeftOut.String())
	})
	t.Run("the consent page asks for the rest, and keeps that", func(t *testing.T) {
		a := f.authorize(app, "scope", asked)
		asks, err := f.Authorizations.RequiredInteraction(t.Context(), a, s)
		if err != nil {
			t.Fatal(err)
		}
		resumed, err := f.Authorizations.Resume(t.Context(), asks.Ticket, s)
		if err != nil || resumed.Refused != nil || resumed.LeftOut != nil {
			t.Fatal(resumed, err)
		}
		_, err = f.Authorizations.Approve(t.Context(), resumed, s)
		if err != nil {
			t.Fatal(err)
		}
		asks, err = f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app, "scope", asked), s)
		if asks != nil || err != nil {
			t.Error("the person is asked again:", asks, err)
		}
	})
	t.Run("pushed request", func(t *testing.T) {
		pushed, _, err := f.Authorizations.Push(t.Context(), by(app, append(f.pushed(app), "scope", asked)...), "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		check(t, got, pushed.LeftOut.String())
		a, err := f.Authorizations.Authorize(t.Context(),
			values("client_id", app.Application.ClientID, "request_uri", pushed.RequestURI))
		if err != nil || a.Refused != nil {
			t.Fatal(a, err)
		}
		check(t, strings.Join(authorize.ScopeNames(a.Scopes), " "), a.LeftOut.String())
	})
	t.Run("client credentials", func(t *testing.T) {
		answer := f.must(f.token(app, "grant_type", policy.GrantClient, "scope", asked))
		check(t, answer.Scope, answer.LeftOut.String())
	})
	t.Run("client credentials, signed", func(t *testing.T) {
		signed := f.app(func(r *clients.Registration) { r.AccessTokenFormat = policy.FormatJWT })
		answer := f.must(f.token(signed, "grant_type", policy.GrantClient, "scope", asked))
		check(t, answer.Scope, answer.LeftOut.String())
	})
	t.Run("password", func(t *testing.T) {
		answer := f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword,
			"scope", asked))
		check(t, answer.Scope, answer.LeftOut.String())
	})
	t.Run("device", func(t *testing.T) {
		codes := f.asks(tv, "scope", asked)
		f.allow(codes, s)
		answer := f.must(f.token(tv, pollWith(codes)...))
		check(t, answer.Scope, codes.LeftOut.String())
	})
}

// The developer of an application sees on its page which scopes it does not get, and what to change. Names that the
// server does not know are words of the sender, and are not stored.
func TestScopesLeftOutAreListed(t *testing.T) {
	f := begin(t)
	app := f.app()
	for range 2 {
		f.must(f.token(app, "grant_type", policy.GrantClient, "scope", "read introspection s3cret another"))
	}
	f.device(f.television(), "192.0.2.1", "scope", "read s3cret")
	found, err := f.Refusals.Of(t.Context(), app.Application)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range found {
		got = append(
			got,
			fmt.Sprintf("%s %s %s %d: %s", r.Endpoint, r.Error, r.Description, r.Times, clients.RemedyOf(r).Field),
		)
	}
	slices.Sort(got)
	want := []string{
		"token scope_left_out There is no scope … on this server: its operator can add it to SCOPES. 2: ",
		"token scope_left_out This application may not request the scope introspection. 2: scope",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, e := range f.storedEvents(events.RequestRefused) {
		if strings.Contains(fmt.Sprintf("%+v", e), "s3cret") {
			t.Errorf("the event has words of the sender: %+v", e)
		}
	}
}

// RFC 6749 §6: a refresh never gives more than was granted, and a mistake of the client is no reason to give less.
func TestRefreshLeavesNothingOut(t *testing.T) {
	f := begin(t)
	app, s := f.app(), f.login("alice")
	answer := f.must(f.exchange(app, f.code(app, s, "scope", "read write")))
	for _, scope := range []string{"read unknown", "read groups"} {
		_, err := f.refresh(app, answer.RefreshToken, "scope", scope)
		wantError(t, err, "400 invalid_scope")
	}
	if got := f.must(f.refresh(app, answer.RefreshToken, "scope", " read  ")); got.Scope != "read" {
		t.Error(got.Scope)
	}
}

// Agents that have registered themselves ask for openid or offline_access whether they need it or not. offline_access
// without OpenID Connect changes nothing, since the tokens belong to no login, so it is left out (RFC 6749 §3.3). The
// token is for the tools in each case.
func TestAgentsAskForMoreScopes(t *testing.T) {
	const tools = "https://tools.example/mcp"
	for name, test := range map[string]struct {
		change func(*Config)
		scopes map[string]string // what the agent asks for, and gets, or the error
	}{
		"with OpenID Connect": {openID,
			map[string]string{"read": "read", "read openid": "read openid", "read offline_access": "read",
				"read openid offline_access": "read openid offline_access", "offline_access read": "read"}},
		"without": {func(*Config) {}, map[string]string{"read": "read", "read offline_access": "read",
			"read openid": "400 invalid_scope", "read openid offline_access": "400 invalid_scope"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t, test.change, func(c *Config) { c.Open.Clients = []string{clients.OpenRegistration} })
			agent, proxy, s := f.app(public, grants(policy.GrantCode)), f.app(), f.login("alice")
			f.strange(agent)
			f.resource(tools, scoped("read"), known(proxy))
			for asked, want := range test.scopes {
				if strings.HasPrefix(want, "400 ") {
					a, err := f.Authorizations.Authorize(t.Context(), f.query(agent, "scope", asked, "resource", tools))
					if err != nil {
						t.Fatal(err)
					}
					wantKind(t, asked, a.Refused, want)
					continue
				}
				first := f.tokens(agent, s, "scope", asked, "resource", tools)
				for what, answer := range map[string]*tokens.TokenResponse{"the first token": first,
					"after a refresh": f.must(f.refresh(agent, first.RefreshToken, "resource", tools))} {
					if answer.Scope != want || (answer.IDToken != "") != strings.Contains(want, "openid") {
						t.Errorf("%s, %s: scope %q, ID token %q", asked, what, answer.Scope, answer.IDToken)
					}
					if shown := f.shown(proxy, answer.AccessToken); !shown.Active || shown.Audience != tools ||
						!strings.Contains(shown.Scope, "read") {
						t.Errorf("%s, %s, at the tools: %+v", asked, what, shown)
					}
				}
			}
		})
	}
}
