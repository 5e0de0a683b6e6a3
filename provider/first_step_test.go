package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"mandate/provider/jose"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/people"
)

// Whoever signs in at another server, and then shows no second factor, again and again, stores no rows without end.
//
// Class: CWE-770, a resource that is given without a limit.
func TestAttackFirstStepsByAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const issuer = "https://8.8.8.8"
		key := newKey(t)
		nonce, calls := "", 0
		f := begin(t, func(c *Config) {
			c.People.Servers = []people.Server{{Name: "other", Label: "Other", Issuer: issuer, ClientID: "mandate",
				ClientSecret: "x", Scopes: []string{"openid"}}}
			c.TraceOutbound = func(http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					calls++
					var v any
					switch r.URL.Path {
					case "/.well-known/openid-configuration":
						v = map[string]any{"issuer": issuer, "authorization_endpoint": issuer + "/a",
							"token_endpoint": issuer + "/token", "jwks_uri": issuer + "/keys"}
					case "/keys":
						jwk, err := jose.NewJWK(key.Public())
						jwk.ID = "k"
						if err != nil {
							t.Fatal(err)
						}
						v = map[string]any{"keys": []any{jwk}}
					case "/token":
						claims := map[string]any{"iss": issuer, "aud": "mandate", "sub": "alice", "nonce": nonce,
							"iat": oauth.Now(), "exp": oauth.Now() + 60}
						text, err := jose.Sign("ES256", "JWT", "k", key, claims)
						if err != nil {
							t.Fatal(err)
						}
						v = map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": text}
					}
					text, err := json.Marshal(v)
					if err != nil {
						t.Fatal(err)
					}
					return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
						Body: io.NopCloser(strings.NewReader(string(text)))}, nil
				})
			}
		})
		_, alice := f.enrol(f.login("alice"))
		f.sql(`INSERT INTO identities (issuer, subject, user_id, created_at, last_used_at)
			VALUES ('` + issuer + `', 'alice', '` + alice.User.ID + `', 0, 0)`)
		most := limits.Of(limits.OfOwnChange).Tries + limits.Of(limits.OfAddress).Tries
		for range most + 200 {
			address, ticket, err := f.Identities.Leave(t.Context(), "other", people.Leaving{Next: "/"})
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			nonce = u.Query().Get("nonce")
			response := url.Values{"state": {u.Query().Get("state")}, "code": {"c"}}
			_, err = f.Identities.Arrive(t.Context(), "other", ticket, response, nil, people.Browser{Address: "198.51.100.1"})
			if err != nil {
				wantError(t, err, "429 temporarily_unavailable")
			}
		}
		if rows := f.count("seen"); rows > most || rows < most/2 || calls > rows+2 {
			t.Errorf("%d rows and %d calls, want at most %d", rows, calls, most)
		}
	})
}
