package faults

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// assertion returns the assertion of a request, or nil.
func (q *ask) assertion() *jose.JWT {
	j, err := jose.Read(q.form().Get("client_assertion"))
	if err != nil {
		return nil
	}
	return j
}

// asFor makes it a request of another client, whose assertion is for the true server. The runner may have learned
// another audience from the faulty one.
func (q *ask) asFor(c *target.Client, audience string) {
	proven := *c
	proven.Audience = audience
	q.as(&proven)
}

// signed reports whether a client has signed an assertion.
func signed(j *jose.JWT, c *target.Client) bool {
	text, _ := json.Marshal(c.Signer.Public())
	var key jose.JWK
	_ = json.Unmarshal(text, &key) // it is a JWK
	return j.Verify([]jose.JWK{key}, "") == nil
}

// assertionFaults are faults of client authentication by JWT (RFC 7523, RFC 10070).
func assertionFaults() []fault {
	type condition func(p *proxy, q *ask, j *jose.JWT) bool
	// forgiving accepts assertions that a server must refuse.
	forgiving := func(is condition) spoiler {
		return spoiling(func(p *proxy, q *ask) {
			if j := q.assertion(); j != nil && is(p, q, j) {
				q.as(p.target.Clients[need.Key])
			}
		})
	}
	// refusing refuses assertions that a server must accept.
	refusing := func(is condition) spoiler {
		return refusingIf(func(p *proxy, q *ask) bool { j := q.assertion(); return j != nil && is(p, q, j) },
			func() *wire.Answer {
				return refusal(http.StatusUnauthorized, "invalid_client")
			})
	}
	lacks := func(claim string) spoiler {
		return forgiving(func(_ *proxy, _ *ask, j *jose.JWT) bool { return j.Claims[claim] == nil })
	}
	aud := func(is func(p *proxy, aud any) bool) condition {
		return func(p *proxy, _ *ask, j *jose.JWT) bool { return is(p, j.Claims["aud"]) }
	}
	list := func(n int) func(*proxy, any) bool {
		return func(_ *proxy, aud any) bool { all, is := aud.([]any); return is && len(all) == n }
	}
	kind := func(names ...string) condition {
		return func(_ *proxy, _ *ask, j *jose.JWT) bool {
			name, _ := j.Header["typ"].(string)
			return slices.Contains(names, name)
		}
	}
	at := func(name string, spoil spoiler, fails string) fault {
		return fault{name: name, at: tokenPath, apart: true, spoil: spoil, fails: fails}
	}
	return []fault{
		at("an assertion needs client_id",
			refusing(func(_ *proxy, q *ask, _ *jose.JWT) bool { return !q.form().Has("client_id") }),
			"RFC7521/4.2/client-id-optional"),
		{name: "an assertion needs client_id, and has its effect beside it", at: tokenPath, aim: func(*target.Target) {},
			spoil: refusing(func(_ *proxy, q *ask, _ *jose.JWT) bool { return !q.form().Has("client_id") }),
			fails: "RFC7521/4.2/client-id-optional", passes: "RFC7523/3/hmac RFC7523/3/exp RFC7523/3/signature " +
				"RFC10070/4/issuer RFC10070/4/array"},
		{name: "an assertion needs client_id, and any claims", at: tokenPath, aim: func(*target.Target) {},
			spoil: func(p *proxy, q *ask) *wire.Answer {
				j := q.assertion()
				switch {
				case j != nil && !q.form().Has("client_id"):
					return refusal(http.StatusUnauthorized, "invalid_client")
				case j != nil && j.Claims["exp"] == nil:
					q.as(p.target.Clients[need.Key])
				}
				return p.real(q)
			}, fails: "RFC7521/4.2/client-id-optional RFC7523/3/exp"},
		{name: "an assertion is for the token endpoint only", at: tokenPath, aim: func(*target.Target) {},
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if j := q.assertion(); j != nil {
					if aud := j.Text("aud"); !strings.HasSuffix(aud, tokenPath) &&
						!strings.HasSuffix(aud, strings.TrimSuffix(tokenPath, "/")) {
						return refusal(http.StatusUnauthorized, "invalid_client")
					}
					if c := p.client(j.Text("sub")); c != nil && c.Signer != nil && signed(j, c) {
						q.asFor(c, p.target.Issuer)
					}
				}
				return p.real(q)
			}, fails: "RFC10070/4/issuer RFC10070/4/endpoints", passes: "RFC7523/3/signature RFC7521/4.2/client-id-optional"},
		at("any type of an assertion", forgiving(func(_ *proxy, q *ask, _ *jose.JWT) bool {
			return q.form().Get("client_assertion_type") != wire.AssertionType
		}), "RFC7523/2.2/type"),
		at("the first of two assertions counts",
			forgiving(func(_ *proxy, q *ask, _ *jose.JWT) bool { return len(q.form()["client_assertion"]) > 1 }),
			"RFC7523/2.2/one-assertion"),
		at("client_id beside an assertion is ignored", spoiling(func(_ *proxy, q *ask) {
			if q.assertion() != nil {
				q.set("client_id", "")
			}
		}), "RFC7521/4.2/client-id"),
		at("an assertion counts beside a secret", forgiving(func(_ *proxy, q *ask, _ *jose.JWT) bool {
			return q.header.Get("Authorization") != "" || q.form().Has("client_secret")
		}), "RFC7523/2.2/one-method"),
		at("a wrong assertion is invalid_grant", func(p *proxy, q *ask) *wire.Answer {
			if q.assertion() == nil {
				return p.real(q)
			}
			return miscalling("invalid_client", "invalid_grant")(p, q)
		}, "RFC7523/3.2/invalid-client"),
		at("an assertion needs no iss", lacks("iss"), "RFC7523/3/iss OIDCCore/9/assertion-claims"),
		at("an assertion needs no sub", lacks("sub"), "RFC7523/3/sub OIDCCore/9/assertion-claims"),
		at("the sub of an assertion is not compared", forgiving(func(p *proxy, _ *ask, j *jose.JWT) bool {
			return j.Text("sub") != p.target.Clients[need.Key].ID && signed(j, p.target.Clients[need.Key])
		}), "RFC7523/3/sub-of-client"),
		at("the iss of an assertion is not compared", forgiving(func(p *proxy, _ *ask, j *jose.JWT) bool {
			return strings.HasPrefix(j.Text("iss"), "conformance-")
		}), "OIDCCore/9/assertion-claims"),
		at("an assertion needs no jti", lacks("jti"), "OIDCCore/9/assertion-claims"),
		at("an assertion needs no aud", lacks("aud"), "RFC7523/3/aud OIDCCore/9/assertion-claims"),
		at("an assertion is for any server",
			forgiving(aud(func(_ *proxy, aud any) bool { return aud == "https://other.example" })),
			"RFC7523/3/aud-other OIDCCore/9/assertion-audience"),
		at("an assertion needs no exp", lacks("exp"), "RFC7523/3/exp OIDCCore/9/assertion-claims"),
		at("an assertion does not expire", forgiving(func(_ *proxy, _ *ask, j *jose.JWT) bool {
			return j.Number("exp") >= 0 && j.Number("exp") < float64(time.Now().Unix())
		}), "RFC7523/3/expired OIDCCore/9/assertion-expires"),
		at("nbf of an assertion is ignored",
			forgiving(func(_ *proxy, _ *ask, j *jose.JWT) bool { return j.Number("nbf") > float64(time.Now().Unix()) }),
			"RFC7523/3/nbf"),
		at("an assertion works twice", forgiving(func(p *proxy, _ *ask, j *jose.JWT) bool {
			used := p.has("jti " + j.Text("jti"))
			p.keep("jti "+j.Text("jti"), true)
			return used
		}), "RFC7523/3/jti-once OIDCCore/9/assertion-once"),
		at("an assertion has no other claims",
			refusing(func(_ *proxy, _ *ask, j *jose.JWT) bool { return j.Claims["conformance"] != nil }),
			"RFC7523/3/other-claims OIDCCore/9/assertion-other-claims"),
		at("any private key signs an assertion", forgiving(func(p *proxy, _ *ask, j *jose.JWT) bool {
			return j.Algorithm() == "ES256" && j.Header["jwk"] == nil && !signed(j, p.target.Clients[need.Key])
		}), "RFC7523/3/signature"),
		at("an assertion brings its key",
			forgiving(func(_ *proxy, _ *ask, j *jose.JWT) bool { return j.Header["jwk"] != nil }), "RFC7523/3/own-key"),
		at("an assertion needs no signature",
			forgiving(func(_ *proxy, _ *ask, j *jose.JWT) bool { return strings.EqualFold(j.Algorithm(), "none") }),
			"RFC7523/3/not-unsigned"),
		at("the public key is a secret", forgiving(func(p *proxy, _ *ask, j *jose.JWT) bool {
			return j.Algorithm() == "HS256" && j.Text("sub") == p.target.Clients[need.Key].ID
		}), "RFC7523/3/not-by-public-key"),
		at("any secret makes an HMAC", spoiling(func(p *proxy, q *ask) {
			if j := q.assertion(); j != nil && j.Text("sub") == p.target.Clients[need.SecretHMAC].ID {
				q.as(p.target.Clients[need.SecretHMAC])
			}
		}), "RFC7523/3/hmac"),
		at("the token endpoint is the only audience", func(p *proxy, q *ask) *wire.Answer {
			switch j := q.assertion(); {
			case j != nil && j.Claims["aud"] == p.target.Issuer:
				return refusal(http.StatusUnauthorized, "invalid_client")
			case j != nil && j.Claims["aud"] == p.front.Front+tokenPath:
				q.asFor(p.target.Clients[need.Key], p.target.Issuer)
			}
			return p.real(q)
		}, "RFC10070/4/issuer"),
		at("an audience is no array", refusing(aud(list(1))), "RFC10070/4/array"),
		at("one of two audiences is enough", forgiving(aud(list(2))), "RFC10070/4/sole-audience"),
		at("the token endpoint is an audience",
			forgiving(aud(func(p *proxy, aud any) bool { return aud == p.front.Front+tokenPath })), "RFC10070/4/endpoints"),
		at("an assertion with a type is refused", refusing(kind("client-authentication+jwt")), "RFC10070/4/type"),
		at("the type of an assertion is ignored", forgiving(kind("dpop+jwt")), "RFC10070/4/other-type"),
		{name: "introspection knows no assertions", at: introspectPath, apart: true,
			spoil: refusing(func(*proxy, *ask, *jose.JWT) bool { return true }), fails: "RFC10070/4/every-endpoint"},
	}
}
