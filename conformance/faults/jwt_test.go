package faults

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// signedFaults are faults of signed access tokens (RFC 9068).
func signedFaults() []fault {
	changed := func(change changing) spoiler {
		return withKey(func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.path == tokenPath && a.Granted() && of(need.JWT)(p, q) {
				edit(a, put("access_token", resign(a.Text("access_token"), change)))
			}
			return a
		})
	}
	claim := func(name string, value any) spoiler { return changed(saying(name, value)) }
	typ := func(value string) spoiler { return changed(heading("typ", value)) }
	// by changes the serialization of a signed token.
	by := func(change func(token string) string) spoiler {
		return granting(func(a *wire.Answer) {
			edit(a, func(object map[string]any) {
				if text, _ := object["access_token"].(string); strings.Count(text, ".") == 2 {
					object["access_token"] = change(text)
				}
			})
		})
	}
	// takes makes the resource server accept a forged token like the last good one.
	takes := func(forged func(text, good string) bool) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.path == tokenPath && a.Granted() && strings.Count(a.Text("access_token"), ".") == 2 {
				p.keep("signed", a.Text("access_token"))
			}
			good, _ := p.value("signed").(string)
			text := strings.TrimPrefix(q.header.Get("Authorization"), "Bearer ")
			if q.path == resourcePath && good != "" && text != good && strings.Count(text, ".") == 2 && forged(text, good) {
				q.header.Set("Authorization", "Bearer "+good)
				return p.real(q)
			}
			return a
		}
	}
	header := func(text string) map[string]any {
		j, err := jose.Read(text)
		if err != nil {
			return nil
		}
		return j.Header
	}
	return []fault{
		{name: "signed access tokens have an invalid signature", at: tokenPath, spoil: by(func(text string) string {
			at := strings.LastIndex(text, ".") + 10
			return text[:at] + rules.Spoilt(text[at:])[4]
		}), fails: "RFC9068/2.1/signed"},
		{name: "signed access tokens have alg none", at: tokenPath,
			spoil: by(func(text string) string { return jose.Unsigned(text)[0] }), fails: "RFC9068/2.1/not-none"},
		{name: "signed access tokens have an HMAC", at: tokenPath,
			spoil: by(func(text string) string { return jose.SignedByAnother(text)[1] }), fails: "RFC9068/2.1/asymmetric",
			skips: "RFC9068/2.1/signed"},
		{name: "the client jwt may not use client credentials", at: tokenPath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return q.form().Get("grant_type") == need.GrantMachine && of(need.JWT)(p, q)
		}, func() *wire.Answer { return refusal(http.StatusBadRequest, "unauthorized_client") }),
			skips: "RFC9068/2.2/sub-of-client RFC9068/3/any-grant"},
		{name: "signed access tokens are typed as JWT", spoil: typ("JWT"), fails: "RFC9068/2.1/typ"},
		{name: "signed access tokens have the long type", spoil: typ("application/at+jwt"), fails: "RFC9068/2.1/typ-short"},
		{name: "the iss of access tokens is wrong", spoil: claim("iss", "https://attacker.example"),
			fails: "RFC9068/2.2/iss RFC9068/4/advertised"},
		{name: "access tokens have no exp", spoil: claim("exp", nil),
			fails: "RFC9068/2.2/exp RFC9068/2.2/exp-and-expires-in"},
		{name: "the exp of access tokens is in the past", spoil: claim("exp", 1700000000), fails: "RFC9068/2.2/exp"},
		{name: "the exp of access tokens is later than expires_in", spoil: claim("exp", 4102444800),
			fails: "RFC9068/2.2/exp-and-expires-in"},
		{name: "the client jwt gets opaque access tokens", spoil: (*proxy).real,
			aim: func(t *target.Target) { t.Clients[need.JWT] = t.Clients[need.Code] },
			skips: "RFC9068/2.1/signed RFC9068/2.1/typ RFC9068/2.2/iss RFC9068/3/any-grant RFC9068/4/typ RFC9068/4/signature " +
				"RFC9068/5/not-an-id-token"},
		{name: "the login is not in access tokens", spoil: changed(func(_ *jwt.Token, claims map[string]any) {
			for _, name := range []string{"auth_time", "acr", "amr"} {
				delete(claims, name)
			}
		}), skips: "RFC9068/2.2.1/of-the-login"},
		{name: "the same access token is returned again", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Granted() && of(need.JWT)(p, q) {
				edit(a, put("access_token", p.once("signed", a.Text("access_token"))))
			}
			return a
		}, skips: "RFC9068/2.2/jti RFC9068/3/default-audience RFC9068/2.2/iat-of-refresh"},
		{name: "no resource server of the target accepts signed access tokens", at: resourcePath + " " + userInfoPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if strings.Count(q.header.Get("Authorization"), ".") == 2 {
					q.header.Set("Authorization", "Bearer dead")
				}
				return p.real(q)
			}, skips: "RFC9068/4/typ RFC9068/4/signature RFC9068/4/none RFC9068/4/own-keys RFC9068/4/invalid-token"},
		{name: "the resource server accepts everything", at: resourcePath + " " + userInfoPath,
			spoil: func(*proxy, *ask) *wire.Answer { return shown(http.StatusOK, "hello") },
			aim:   func(*target.Target) {}, skips: "RFC9068/4/typ RFC9068/4/signature RFC9068/4/none RFC9068/4/own-keys " +
				"RFC9068/4/invalid-token"},
		{name: "access tokens have no aud", spoil: claim("aud", nil), fails: "RFC9068/2.2/aud",
			blocks: "RFC9068/3/default-audience"},
		{name: "the aud of access tokens is always the same", spoil: claim("aud", "https://server.example"),
			fails: "RFC9068/3/resource RFC9068/5/distinct-audiences"},
		{name: "each access token has another aud",
			spoil: changed(func(_ *jwt.Token, claims map[string]any) { claims["aud"] = rand.Text() }),
			fails: "RFC9068/3/default-audience"},
		{name: "access tokens have no sub", spoil: claim("sub", nil),
			fails: "RFC9068/2.2/sub RFC9068/2.2/sub-of-person RFC9068/2.2/sub-of-client"},
		{name: "the sub of access tokens is wrong", spoil: claim("sub", "another"),
			fails: "RFC9068/2.2/sub-of-person RFC9068/2.2/sub-of-client"},
		{name: "access tokens have no client_id", spoil: claim("client_id", nil), fails: "RFC9068/2.2/client-id"},
		{name: "access tokens have no iat", spoil: claim("iat", nil), fails: "RFC9068/2.2/iat"},
		{name: "the iat of access tokens is always the same", spoil: claim("iat", 1700000000),
			fails: "RFC9068/2.2/iat RFC9068/2.2/iat-of-refresh"},
		{name: "access tokens have no jti", spoil: claim("jti", nil), fails: "RFC9068/2.2/jti"},
		{name: "the jti of access tokens is always the same", spoil: claim("jti", "the same"), fails: "RFC9068/2.2/jti"},
		{name: "auth_time is missing after a refresh", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == tokenPath && q.form().Get("grant_type") == "refresh_token" {
				return claim("auth_time", nil)(p, q)
			}
			return p.real(q)
		}, fails: "RFC9068/2.2.1/of-the-login"},
		{name: "access tokens have no acr", spoil: claim("acr", nil), fails: "RFC9068/2.2.1/told RFC9470/6.1/claims"},
		{name: "access tokens have no scope", spoil: claim("scope", nil), fails: "RFC9068/2.2.3/scope"},
		{name: "a refresh issues an opaque token", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.path == tokenPath && q.form().Get("grant_type") == "refresh_token" && a.Granted() &&
				strings.Contains(a.Text("access_token"), ".") {
				edit(a, put("access_token", "opaque"))
			}
			return a
		}, fails: "RFC9068/3/any-grant"},
		{name: "jwks_uri is not in the metadata", spoil: publishing(put("jwks_uri", nil)), fails: "RFC9068/4/advertised"},
		{name: "the two metadata documents name different keys", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if strings.Contains(q.path, "oauth-authorization-server") {
				edit(a, put("jwks_uri", p.target.Issuer+"/other.json"))
			}
			return a
		}, fails: "RFC9068/4/consistent"},
		{name: "access tokens are signed with another key", spoil: claim("x", "x"), fails: "RFC9068/4/same-keys"},
		{name: "signed access tokens do not work", at: introspectPath + " " + resourcePath + " " + userInfoPath,
			spoil: spoiling(func(_ *proxy, q *ask) {
				if strings.Count(q.form().Get("token"), ".") == 2 {
					q.set("token", "dead")
				}
				if strings.Count(q.header.Get("Authorization"), ".") == 2 {
					q.header.Set("Authorization", "Bearer dead")
				}
			}), fails: "RFC9068/4/works"},
		{name: "an ID token is accepted as an access token",
			spoil: takes(func(text, _ string) bool { return header(text)["typ"] == "JWT" && header(text)["alg"] == "RS256" }),
			fails: "RFC9068/4/typ"},
		{name: "signatures of access tokens are not verified", spoil: takes(func(text, good string) bool {
			return header(text)["alg"] == "RS256" && header(text)["typ"] == "at+jwt"
		}), fails: "RFC9068/4/signature"},
		{name: "access tokens with alg none are accepted", spoil: takes(func(text, _ string) bool {
			alg, _ := header(text)["alg"].(string)
			return strings.EqualFold(alg, "none")
		}), fails: "RFC9068/4/none"},
		{name: "an HMAC with the public key is accepted",
			spoil: takes(func(text, _ string) bool { return header(text)["alg"] == "HS256" }),
			fails: "RFC9068/4/own-keys RFC9068/4/signature"},
		{name: "the API reports no error for an altered token", at: resourcePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if strings.Count(q.header.Get("Authorization"), ".") == 2 && a.Status == http.StatusUnauthorized {
				a.Header.Set("WWW-Authenticate", "Bearer")
			}
			return a
		}, fails: "RFC9068/4/invalid-token"},
		{name: "the aud of access tokens is the client",
			spoil: changed(func(_ *jwt.Token, claims map[string]any) { claims["aud"] = claims["client_id"] }),
			fails: "RFC9068/5/not-an-id-token"},
	}
}
