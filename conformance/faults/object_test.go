package faults

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// object returns the request object of a request (RFC 9101), or nil.
func (q *ask) object() *jose.JWT {
	j, err := jose.Read(q.form().Get("request"))
	if err != nil {
		return nil
	}
	return j
}

// taken returns an answer with a request URI, which nobody can open.
func taken() *wire.Answer {
	a := refusal(http.StatusCreated, "")
	a.Body = []byte(`{"request_uri":"urn:ietf:params:oauth:request_uri:of-the-proxy","expires_in":10}`)
	return a
}

// onlySaid registers a client without a member, and says that it is registered with it.
func onlySaid(name string) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		m := map[string]any{}
		_ = json.Unmarshal([]byte(q.body), &m)
		value := m[name]
		if value == nil {
			return p.real(q)
		}
		delete(m, name)
		text, _ := json.Marshal(m)
		q.body = string(text)
		a := p.real(q)
		edit(a, put(name, value))
		return a
	}
}

// objectFaults are faults of request objects (RFC 9101).
func objectFaults() []fault {
	at := func(path, name string, spoil spoiler, fails string) fault {
		return fault{name: name, at: path, apart: true, spoil: spoil, fails: fails}
	}
	const both = authorizePath + " " + consentPath
	// taking accepts pushed objects that a server must refuse.
	taking := func(is func(p *proxy, j *jose.JWT) bool) spoiler {
		return refusingIf(func(p *proxy, q *ask) bool { j := q.object(); return j != nil && is(p, j) }, taken)
	}
	claims := func(name string, value any) spoiler {
		return taking(func(_ *proxy, j *jose.JWT) bool { return j.Claims[name] == value })
	}
	return []fault{
		at(parPath, "the iss of a request object is not compared", claims("iss", "https://other.example"),
			"RFC9101/4/parties"),
		at(parPath, "a request object contains another",
			taking(func(_ *proxy, j *jose.JWT) bool { return j.Claims["request"] != nil }), "RFC9101/4/not-nested"),
		at(parPath, "any private key signs a request object", taking(func(p *proxy, j *jose.JWT) bool {
			return j.Algorithm() == "ES256" && j.Header["jwk"] == nil && !signed(j, p.target.Clients[need.Key])
		}), "RFC9101/6.2/signature"),
		at(parPath, "a request object brings its key",
			taking(func(_ *proxy, j *jose.JWT) bool { return j.Header["jwk"] != nil }), "RFC9101/6.2/key-of-client"),
		at(parPath, "what a request object contains is not validated", claims("response_type", "conformance"),
			"RFC9101/6.3/validated"),
		at(parPath, "a request object needs no signature",
			taking(func(_ *proxy, j *jose.JWT) bool { return strings.EqualFold(j.Algorithm(), "none") }),
			"RFC9101/10.1/algorithms"),
		at(parPath, "the type of a request object is ignored",
			taking(func(_ *proxy, j *jose.JWT) bool { return j.Header["typ"] == "at+jwt" }), "RFC9101/10.8/not-another-jwt"),
		at(parPath, "a request object needs no client_id", claims("client_id", nil), "RFC9101/5/client-id"),
		at(parPath, "a wrong request object is invalid_request", miscalling("invalid_request_object", "invalid_request"),
			"RFC9101/7/errors"),
		at(authorizePath, "request_uri beside request is ignored", spoiling(func(_ *proxy, q *ask) {
			if q.params().Has("request") {
				q.setQuery("request_uri", "")
			}
		}), "RFC9101/5/not-both"),
		at(authorizePath, "the browser cannot send a request object",
			refusingIf(func(_ *proxy, q *ask) bool { return q.params().Has("request") }, badRequest), "RFC9101/5.1/by-value"),
		at(both, "the state beside a request object counts",
			sending(func(_ *proxy, sent url.Values) { sent.Set("state", "outside") }), "RFC9101/6.3/only-inside"),
		at(registerPath, "that requests of a client must be signed is only said", onlySaid("require_signed_request_object"),
			"RFC9101/10.5/required"),
	}
}

// responseFaults are faults of signed responses: of the authorization endpoint (JARM), and of introspection (RFC 9701).
func responseFaults() []fault {
	rsa, ec := jose.NewKey("RS256"), jose.NewKey("ES256")
	both := func(name string, spoil spoiler, fails string) fault {
		return fault{name: name, at: authorizePath + " " + consentPath, apart: true, spoil: spoil, fails: fails}
	}
	// saying changes a signed response, and signs it again.
	saying := func(key *jose.Key, change func(claims map[string]any)) spoiler {
		return sending(func(_ *proxy, sent url.Values) {
			if j, err := jose.Read(sent.Get("response")); err == nil {
				change(j.Claims)
				sent.Set("response", key.Sign(nil, j.Claims))
			}
		})
	}
	introspected := func(name string, spoil spoiler, fails string) fault {
		return fault{name: name, at: introspectPath, apart: true, spoil: spoil, fails: fails}
	}
	// telling does so with an introspection response.
	telling := func(key *jose.Key, change func(header, claims map[string]any)) spoiler {
		return answering(func(a *wire.Answer) {
			if j, err := jose.Read(string(a.Body)); err == nil {
				header := map[string]any{"typ": j.Header["typ"]}
				change(header, j.Claims)
				a.Body = []byte(key.Sign(header, j.Claims))
			}
		})
	}
	same := func(_, _ map[string]any) {}
	return []fault{
		both("a signed response is for another client", saying(rsa, put("aud", "another")), "JARM/2.1/claims"),
		both("a signed response is valid for an hour", saying(rsa, put("exp", time.Now().Unix()+3600)), "JARM/2.1/lifetime"),
		both("an error is not signed", sending(func(_ *proxy, sent url.Values) {
			if j, err := jose.Read(sent.Get("response")); err == nil && j.Text("error") != "" {
				sent.Del("response")
				sent.Set("error", j.Text("error"))
			}
		}), "JARM/2.1/errors"),
		both("a response is signed by an unknown key", saying(rsa, func(map[string]any) {}),
			"JARM/2.2/signed FAPI2MS/5.4.1/signed"),
		both("iss stands beside a signed response", sending(func(_ *proxy, sent url.Values) { sent.Set("iss", "x") }),
			"JARM/2.3/alone"),
		both("a signed response is in the fragment", func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if p.away(a) != nil {
				a.Header.Set("Location", strings.Replace(a.Header.Get("Location"), "?", "#", 1))
			}
			return a
		}, "JARM/2.3.1/query JARM/2.3.4/usual"),
		both("form_post.jwt is query.jwt", spoiling(func(_ *proxy, q *ask) {
			if q.params().Get("response_mode") == "form_post.jwt" {
				q.setQuery("response_mode", "query.jwt")
			}
		}), "JARM/2.3.3/form-post"),
		both("a response is signed with ES256", saying(ec, func(map[string]any) {}), "JARM/3/algorithm"),
		{name: "no algorithms of signed responses are listed", apart: true, spoil: publishing(func(m map[string]any) {
			delete(m, "authorization_signing_alg_values_supported")
			delete(m, "introspection_signing_alg_values_supported")
		}), fails: "JARM/4/metadata RFC9701/7/metadata"},
		introspected("introspection signs every response",
			spoiling(func(_ *proxy, q *ask) { q.header.Set("Accept", "application/token-introspection+jwt") }),
			"RFC9701/4/accept"),
		introspected("an introspection response is typed as JWT",
			telling(rsa, func(header, _ map[string]any) { header["typ"] = "JWT" }), "RFC9701/5/type"),
		introspected("an introspection response is for nobody",
			telling(rsa, func(_, claims map[string]any) { delete(claims, "aud") }), "RFC9701/5/claims"),
		introspected("an inactive token has a scope", telling(rsa, func(_, claims map[string]any) {
			if about, _ := claims["token_introspection"].(map[string]any); about["active"] == false {
				about["scope"] = "read"
			}
		}), "RFC9701/5/inactive"),
		introspected("an introspection response has sub",
			telling(rsa, func(_, claims map[string]any) { claims["sub"] = "somebody" }), "RFC9701/5/no-sub-exp"),
		introspected("introspection without authentication is 401",
			refusingIf(func(_ *proxy, q *ask) bool { return q.header.Get("Authorization") == "" }, func() *wire.Answer {
				return refusal(http.StatusUnauthorized, "invalid_client")
			}), "RFC9701/5/unauthenticated"),
		introspected("an introspection response has ES256", telling(ec, same), "RFC9701/6/algorithm"),
	}
}
