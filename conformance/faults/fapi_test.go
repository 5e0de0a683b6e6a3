package faults

import (
	"net/http"
	"strings"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// fapi returns the client of FAPI 2.0 that sent a request, or nil.
func (p *proxy) fapi(q *ask) *target.Client {
	id := q.params().Get("client_id") + q.form().Get("client_id")
	if j := q.assertion(); j != nil {
		id = j.Text("sub")
	}
	for _, role := range []need.Need{need.FAPI, need.SecondFAPI, need.FAPIMessages} {
		if c := p.target.Clients[role]; c.ID == id {
			return c
		}
	}
	return nil
}

// fapiFaults are faults of a server of FAPI 2.0.
func fapiFaults() []fault {
	rsa := jose.NewKey("RS256")
	at := func(path, name string, spoil spoiler, fails string) fault {
		return fault{name: name, at: path, apart: true, spoil: spoil, fails: fails}
	}
	// lenient accepts what a server must refuse.
	lenient := func(answer func() *wire.Answer) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Status >= 400 && a.Status < 500 && p.fapi(q) != nil {
				return answer()
			}
			return a
		}
	}
	uri := taken().Text("request_uri")
	ahead := func(q *ask) bool {
		j, soon := q.assertion(), float64(time.Now().Unix()+4)
		return j != nil && (j.Number("iat") > soon || j.Number("nbf") > soon)
	}
	typed := func(p *proxy, q *ask) bool {
		j := q.object()
		return j != nil && p.fapi(q) == p.target.Clients[need.FAPIMessages] && j.Header["typ"] == "oauth-authz-req+jwt"
	}
	refused := func() *wire.Answer { return refusal(http.StatusBadRequest, "invalid_request") }
	return []fault{
		at(tokenPath, "a client of FAPI gets a token for any request", func(p *proxy, q *ask) *wire.Answer {
			a := lenient(issued)(p, q)
			if q.method == http.MethodGet { // the check does not wait when the clock is ahead
				a.Header.Set("Date", time.Now().Add(2*time.Minute).UTC().Format(http.TimeFormat))
			}
			return a
		}, "FAPI2/5.3.2.1/no-password-grant FAPI2/5.3.2.1/sender-constrained FAPI2/5.3.2.1/code-lifetime "+
			"FAPI2/5.3.2.1/code-bound FAPI2/5.3.2.2/code-once FAPI2/5.3.2.2/code-of-client"),
		at(parPath+" "+authorizePath, "a client of FAPI gets a code for any request", func(p *proxy, q *ask) *wire.Answer {
			sent := q.params().Get("request_uri")
			if c := p.fapi(q); q.path == authorizePath && c != nil && (sent == "" || sent == uri) {
				return moved(c.RedirectURI() + "?code=of-the-proxy")
			}
			return lenient(taken)(p, q)
		}, "FAPI2/5.3.2.1/issuer-audience FAPI2/5.3.2.1/no-secrets FAPI2/5.3.2.1/not-of-the-future "+
			"FAPI2/5.3.2.2/push-authenticated FAPI2/5.3.2.2/redirect-uri FAPI2/5.3.2.2/code-only FAPI2/5.3.2.2/pkce "+
			"FAPI2/5.3.2.2/pushed-only FAPI2/5.4.1/assertions FAPI2/5.4.1/proofs FAPI2MS/5.3.1/required FAPI2MS/5.3.1/aud "+
			"FAPI2MS/5.3.1/nbf FAPI2MS/5.3.1/exp FAPI2MS/5.3.1/algorithms FAPI2MS/5.4.1/required"),
		{name: "a client of FAPI with a certificate gets a token for any request", at: tokenPath, apart: true,
			certified: true, spoil: lenient(issued),
			fails: "FAPI2/5.3.2.1/no-password-grant FAPI2/5.3.2.2/code-once FAPI2/5.3.2.2/code-of-client"},
		{name: "a client of FAPI may have any certificate", at: parPath, apart: true, certified: true, spoil: lenient(taken),
			fails: "FAPI2/5.3.2.2/push-authenticated"},
		at(parPath, "an assertion of a clock that is ahead is refused",
			refusingIf(func(_ *proxy, q *ask) bool { return ahead(q) }, refused), "FAPI2/5.3.2.1/clock-ahead"),
		at(parPath, "a request URI works for ten minutes", answering(func(a *wire.Answer) {
			if a.Text("request_uri") != "" {
				edit(a, put("expires_in", 600))
			}
		}), "FAPI2/5.3.2.2/request-uri-lifetime"),
		at(parPath, "a pushed nonce is truncated", spoiling(func(_ *proxy, q *ask) {
			if nonce := q.form().Get("nonce"); len(nonce) > 32 {
				q.set("nonce", nonce[:32])
			}
		}), "FAPI2/5.3.2.2/nonce"),
		at(parPath, "a request object with a type is refused", refusingIf(typed, refused),
			"FAPI2MS/5.3.1/supported FAPI2MS/5.3.1/type"),
		at(tokenPath, "the refresh token of a client of FAPI is replaced", func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Granted() && q.form().Get("grant_type") == "refresh_token" {
				edit(a, put("refresh_token", "mrt_of_the_proxy"))
			}
			return a
		}, "FAPI2/5.3.2.1/no-rotation"),
		at(parPath, "a client of FAPI gets all its scope", spoiling(func(_ *proxy, q *ask) {
			if scope := q.form().Get("scope"); scope != "" && !strings.Contains(scope, " ") {
				q.set("scope", "")
			}
		}), "FAPI2/5.3.2.1/least-privilege"),
		at(tokenPath, "a client of FAPI gets no ID token", member("id_token", nil), "FAPI2/5.3.2.3/user-identifier"),
		at(resourcePath, "the resource accepts any text with the scheme DPoP", refusingIf(func(p *proxy, q *ask) bool {
			return strings.HasPrefix(q.header.Get("Authorization"), "DPoP ") && !p.has("token "+q.presented())
		}, got), "FAPI2/5.3.4/validity"),
		at(widerPath, "the wider resource ignores the scope", refusing(func(a *wire.Answer) { *a = *got() }),
			"FAPI2/5.3.4/scope"),
		at(introspectPath, "a signed introspection response has RS256", answering(func(a *wire.Answer) {
			if j := inside(string(a.Body)); j.Claims != nil {
				a.Body = []byte(rsa.Sign(j.Header, j.Claims))
			}
		}), "FAPI2MS/5.5.1/introspection"),
		at(registerPath, "that a client has response modes is only said", onlySaid("response_modes"),
			"FAPI2MS/5.3.3/response-modes"),
		at(tokenPath, "the ID token of a client of FAPI has RS256", granting(func(a *wire.Answer) {
			if j := inside(a.Text("id_token")); j.Claims != nil {
				edit(a, put("id_token", rsa.Sign(nil, j.Claims)))
			}
		}), "FAPI2/5.4.1/id-tokens"),
		{name: "no algorithm and no method of FAPI is listed", apart: true, spoil: publishing(func(m map[string]any) {
			m["token_endpoint_auth_methods_supported"] = []string{need.SecretBasic}
			for name := range m {
				if strings.HasSuffix(name, "_signing_alg_values_supported") && name != "dpop_signing_alg_values_supported" {
					m[name] = []string{"RS256"}
				}
			}
		}), fails: "FAPI2/5.3.2.1/authentication-methods FAPI2/5.4.1/listed FAPI2MS/5.5.1/listed"},
		at(keysPath, "the keys are short, and have one kid", answering(func(a *wire.Answer) {
			edit(a, func(set map[string]any) {
				keys, _ := set["keys"].([]any)
				for _, k := range keys {
					k, _ := k.(map[string]any)
					k["kid"] = "same"
					if n, _ := k["n"].(string); n != "" {
						k["n"] = n[:171] // 1024 bits
					}
				}
				short := strings.Repeat("A", 32) // 192 bits
				set["keys"] = append(keys, map[string]any{"kty": "EC", "crv": "P-192", "kid": "same", "x": short, "y": short})
			})
		}), "FAPI2/5.4.1/rsa-keys FAPI2/5.4.1/ec-keys FAPI2/5.4.2/key-ids"),
	}
}
