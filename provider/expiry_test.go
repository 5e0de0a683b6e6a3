package provider

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/policy"
)

// RFC 6749 §5.1: a token lives for the seconds that its answer says, and not for one more. Nothing needs to be removed
// for that.
func TestExpiredTokenIsRefused(t *testing.T) {
	for format, change := range map[string]func(*clients.Registration){
		"opaque": func(*clients.Registration) {},
		"signed": signed,
	} {
		t.Run(format, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, shortJWT, openID)
				app, s, caller := f.app(change), f.login("alice"), f.app(introspects)
				answer := f.tokens(app, s, "scope", "openid read")
				introspected := func() bool {
					found, _, err := f.Tokens.Introspect(t.Context(), by(caller, "token", answer.AccessToken), "192.0.2.1")
					if err != nil {
						t.Fatal(err)
					}
					return found.Active
				}
				bearer := func() string {
					r := post(nil)
					r.Header.Set("Authorization", "Bearer "+answer.AccessToken)
					return kind(f.send("userinfo", r))
				}
				time.Sleep(time.Duration(answer.ExpiresIn)*time.Second - time.Second)
				f.wantActive(true, answer.AccessToken)
				if got := bearer(); !introspected() || got != "no error" {
					t.Errorf("in its last second: active %t, at userinfo %s", introspected(), got)
				}
				time.Sleep(time.Second)
				f.wantActive(false, answer.AccessToken)
				if got := bearer(); introspected() || got != "401 invalid_token" {
					t.Errorf("expired: active %t, at userinfo %s", introspected(), got)
				}
			})
		})
	}
}

// RFC 9449 §5: a client that does not find the token_type DPoP would use the token without a proof.
func TestTokenTypeSaysWhatATokenNeeds(t *testing.T) {
	f := begin(t)
	app, television, s, key := f.app(), f.television(), f.login("alice"), newKey(t)
	refresh := func() string { return f.tokens(app, s).RefreshToken }
	device := func() *http.Request {
		codes := f.asks(television)
		f.allow(codes, s)
		return by(television, pollWith(codes)...)
	}
	for grant, request := range map[string]func() *http.Request{
		policy.GrantCode: func() *http.Request {
			return by(app, "grant_type", policy.GrantCode, "code", f.code(app, s), "redirect_uri", callback,
				"code_verifier", verifier)
		},
		policy.GrantRefresh: func() *http.Request {
			return by(app, "grant_type", policy.GrantRefresh, "refresh_token", refresh())
		},
		policy.GrantClient: func() *http.Request { return by(app, "grant_type", policy.GrantClient) },
		policy.GrantPassword: func() *http.Request {
			return by(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword)
		},
		policy.GrantDevice: device,
	} {
		for want, r := range map[string]*http.Request{
			"Bearer": request(), "DPoP": proving(request(), f.proof(key, "token", nil)),
		} {
			r.URL.Path = "/o/token/"
			answer, _, err := f.Grants.Token(t.Context(), r, "192.0.2.1")
			if err != nil || answer.TokenType != want {
				t.Errorf("%s: %+v %v, want token_type %s", grant, answer, err, want)
			}
		}
	}
}

// RFC 9449 §11.1: the proof of a request that is refused before its proof is looked at is used like any other one.
func TestAttackProofOfARequestThatIsRefusedFirst(t *testing.T) {
	f := begin(t)
	app, other, key := f.app(), f.app(grants(policy.GrantCode)), newKey(t)
	for name, refused := range map[string]func() *http.Request{
		"400 unauthorized_client": func() *http.Request { return by(other, "grant_type", policy.GrantClient) },
		"400 invalid_request": func() *http.Request {
			return by(app, "grant_type", policy.GrantClient, "client_assertion", "x")
		},
	} {
		proof := f.proof(key, "token", nil)
		wantKind(t, name, f.send("token", proving(refused(), proof)), name)
		wantReplay(t, name, f.send("token", proving(by(app, "grant_type", policy.GrantClient), proof)))
	}
}
