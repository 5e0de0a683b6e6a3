package faults

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/conformance/need"
	"mandate/conformance/rules"
)

// identityFaults are faults of ID tokens (OIDC Core §2, §3.1.3, §8, §10.1).
func identityFaults() []fault {
	always := func(change changing) spoiler { return resigning(everybodys, change) }
	claim := func(name string, value any) spoiler { return always(saying(name, value)) }
	text := func(other func(text string) any) spoiler {
		return replacing(everybodys, func(_ *proxy, _ *ask, text string) any { return other(text) })
	}
	return at(tokenPath+" "+keysPath, []fault{
		{name: "no ID token is issued", spoil: text(func(string) any { return nil }),
			fails: "OIDCCore/3.1.3.3/id-token OIDCCore/3.1.3.2/code-of-authentication OIDCDiscovery/3/scope-openid"},
		{name: "ID tokens are not JWTs", spoil: text(func(string) any { return "conformance" }), fails: "OIDCCore/2/jwt"},
		{name: "ID tokens have an invalid signature", spoil: text(func(text string) any {
			at := strings.LastIndex(text, ".") + 10
			return text[:at] + rules.Spoilt(text[at:])[4]
		}), fails: "OIDCCore/2/signed"},
		{name: "ID tokens have alg none", spoil: always(method(jwt.SigningMethodNone)),
			fails: "OIDCCore/2/alg-none OIDCCore/10.1/supported-algorithm OIDCDiscovery/3/id-token-algorithms-true"},
		{name: "ID tokens have an unknown alg", spoil: always(heading("alg", "RS257")),
			fails: "OIDCCore/10.1/known-algorithm OIDCCore/10.1/supported-algorithm"},
		{name: "ID tokens are signed with PS256, which the client did not register",
			spoil: always(method(jwt.SigningMethodPS256)),
			fails: "OIDCCore/15.1/rs256-by-default OIDCRegistration/2/id-token-rs256"},
		{name: "ID tokens contain their key", spoil: always(heading("jku", "https://attacker.example/keys")),
			fails: "OIDCCore/2/no-key-headers"},
		{name: "the kid of ID tokens is wrong", spoil: always(heading("kid", "another")),
			fails: "OIDCCore/10.1/kid OIDCCore/10.1/key-published"},
		{name: "ID tokens have no kid", spoil: always(heading("kid", nil)), fails: "OIDCCore/10.1.1/kid-always"},

		{name: "the iss of ID tokens is wrong", spoil: claim("iss", "https://attacker.example"),
			fails: "OIDCDiscovery/4.3/issuer-in-id-token OIDCCore/16.15/issuer-equal"},
		{name: "the iss of ID tokens has a query", spoil: claim("iss", "https://attacker.example?x"),
			fails: "OIDCCore/2/iss"},
		{name: "the aud of ID tokens is wrong", spoil: claim("aud", "another"), fails: "OIDCCore/2/aud"},
		{name: "the aud of ID tokens is a list",
			spoil: always(func(_ *jwt.Token, claims map[string]any) { claims["aud"] = []any{claims["aud"]} }),
			fails: "OIDCCore/2/aud-single"},
		{name: "the azp of ID tokens is wrong", spoil: claim("azp", "another"), fails: "OIDCCore/2/azp"},
		{name: "ID tokens have no exp", spoil: claim("exp", nil), fails: "OIDCCore/2/exp"},
		{name: "ID tokens have no iat", spoil: claim("iat", nil), fails: "OIDCCore/2/iat"},
		{name: "the iat of ID tokens is a string", spoil: claim("iat", "1700000000"),
			fails: "OIDCCore/2/iat OIDCCore/13.3/numbers"},
		{name: "ID tokens have claims that are null", spoil: always(func(_ *jwt.Token, claims map[string]any) {
			for _, name := range []string{"name", "azp", "amr", "acr", "at_hash"} {
				claims[name] = nil
			}
		}), fails: "OIDCCore/13.3/no-null", skips: "OIDCCore/2/azp OIDCCore/2/amr OIDCCore/2/acr OIDCCore/3.1.3.6/at-hash"},
		{name: "ID tokens have the email address without its scope", spoil: always(func(_ *jwt.Token, claims map[string]any) {
			if claims["email"] == nil {
				claims["email_verified"] = true
			}
		}), fails: "OIDCCore/5.4/in-id-token"},
		{name: "a claim of ID tokens is another than at UserInfo", spoil: always(func(_ *jwt.Token, claims map[string]any) {
			if claims["updated_at"] != nil {
				claims["updated_at"] = 1
			}
		}), fails: "OIDCCore/5.4/in-id-token"},
		{name: "ID tokens have sub_jwk", spoil: claim("sub_jwk", map[string]any{"kty": "RSA"}),
			fails: "OIDCCore/7.4/sub-jwk"},
		{name: "the at_hash of ID tokens is wrong", spoil: claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
			fails: "OIDCCore/3.1.3.6/at-hash"},
		{name: "ID tokens have no at_hash", spoil: claim("at_hash", nil), fails: "OIDCCore/3.1.3.6/at-hash-always"},

		{name: "ID tokens have no nonce", spoil: claim("nonce", nil), fails: "OIDCCore/2/nonce"},
		{name: "nonces of less than eight characters are refused", at: tokenPath,
			spoil: refusingIf(func(p *proxy, q *ask) bool {
				nonce := p.codes(q.form().Get("code")).Get("nonce")
				return nonce != "" && len(nonce) < 8
			}, badRequest), passes: "OIDCCore/2/nonce-not-processed"},
		{name: "nonces are truncated", spoil: always(func(_ *jwt.Token, claims map[string]any) {
			if nonce, _ := claims["nonce"].(string); len(nonce) > 255 {
				claims["nonce"] = nonce[:255]
			}
		}), fails: "OIDCCore/2/nonce", passes: "OIDCCore/2/nonce-not-processed"},
		{name: "nonces are normalized", spoil: always(func(_ *jwt.Token, claims map[string]any) {
			if nonce, _ := claims["nonce"].(string); nonce != "" {
				claims["nonce"] = strings.ReplaceAll(nonce, "\u212b", "\u00c5")
			}
		}), fails: "OIDCCore/14/not-normalized"},

		{name: "ID tokens have no auth_time", spoil: claim("auth_time", nil),
			fails:  "OIDCCore/2/auth-time-with-max-age OIDCCore/2/auth-time-essential OIDCCore/2/auth-time-always",
			blocks: "OIDCCore/2/auth-time-of-login OIDCCore/3.1.2.3/prompt-login OIDCCore/3.1.2.1/max-age-renews",
			passes: "OIDCCore/3.1.2.1/max-age OIDCCore/3.1.2.1/max-age-zero OIDCCore/3.1.2.1/max-age-silent"},
		{name: "auth_time stays that of the first login",
			spoil: replacing(everybodys, func(p *proxy, _ *ask, text string) any {
				return resign(text, saying("auth_time", p.once("auth_time", inside(text).Claims["auth_time"])))
			}), fails: "OIDCCore/3.1.2.3/prompt-login OIDCCore/3.1.2.1/max-age-renews", passes: "OIDCCore/3.1.2.1/max-age " +
				"OIDCCore/3.1.2.1/max-age-zero"},
		{name: "auth_time is always 0", spoil: claim("auth_time", 0), fails: "OIDCCore/2/auth-time-of-login",
			blocks: "OIDCCore/3.1.2.3/prompt-login OIDCCore/3.1.2.1/max-age-renews"},
		{name: "auth_time is the time of issue",
			spoil: always(func(_ *jwt.Token, claims map[string]any) { claims["auth_time"] = time.Now().Unix() }),
			fails: "OIDCCore/2/auth-time-of-login OIDCCore/12.2/auth-time"},
		{name: "ID tokens have no acr", spoil: claim("acr", nil), fails: "OIDCCore/3.1.2.1/acr-values"},
		{name: "the acr of ID tokens is a number", spoil: claim("acr", 1), fails: "OIDCCore/2/acr OIDCCore/2/acr-name"},
		{name: "the acr of ID tokens contains spaces", spoil: claim("acr", "by a password"),
			fails: "OIDCCore/2/acr-name OIDCDiscovery/3/acr-values-true"},
		{name: "the acr of ID tokens is the first requested value",
			spoil: replacing(everybodys, func(p *proxy, q *ask, text string) any {
				asked := p.codes(q.form().Get("code"))
				if asked.Has("acr_values") || strings.Contains(asked.Get("claims"), `"acr"`) {
					return resign(text, saying("acr", "urn:conformance:unknown"))
				}
				return text
			}), fails: "OIDCCore/5.5.1.1/essential-met OIDCCore/5.5.1.1/voluntary"},
		{name: "the amr of ID tokens is a string", spoil: claim("amr", "pwd"), fails: "OIDCCore/2/amr"},

		{name: "ID tokens have no sub", spoil: claim("sub", nil), fails: "OIDCCore/2/sub"},
		{name: "the sub of ID tokens is too long", spoil: claim("sub", strings.Repeat("x", 256)),
			fails: "OIDCCore/2/sub-length"},
		{name: "the sub differs each time",
			spoil: always(func(_ *jwt.Token, claims map[string]any) { claims["sub"] = rand.Text() }),
			fails: "OIDCCore/2/sub-stays OIDCCore/8.1/deterministic", skips: "OIDCCore/8/public-same"},
		{name: "all clients get the same sub", spoil: claim("sub", "person"),
			fails: "OIDCCore/8/pairwise-differs OIDCRegistration/2/subject-type OIDCCore/8.1/sectors-differ"},
		{name: "pairwise subjects can be reversed",
			spoil: replacing(of(need.Pairwise), func(p *proxy, _ *ask, text string) any {
				return resign(text, saying("sub",
					base64.RawURLEncoding.EncodeToString([]byte("other.example "+p.target.User.Username))))
			}), fails: "OIDCCore/8.1/not-reversible"},
	})
}

// refreshedFaults are faults of refreshed ID tokens (OIDC Core §12.2).
func refreshedFaults() []fault {
	claim := func(name string, value any) spoiler { return resigning(refreshed, saying(name, value)) }
	return at(tokenPath+" "+keysPath, []fault{
		{name: "a refresh issues no ID token", spoil: replacing(refreshed, func(*proxy, *ask, string) any { return nil }),
			fails: "OIDCCore/12.2/id-token"},
		{name: "the iss of a refreshed ID token is wrong", spoil: claim("iss", "https://attacker.example"),
			fails: "OIDCCore/12.2/iss"},
		{name: "the sub of a refreshed ID token is wrong", spoil: claim("sub", "another"), fails: "OIDCCore/12.2/sub"},
		{name: "the aud of a refreshed ID token is wrong", spoil: claim("aud", "another"), fails: "OIDCCore/12.2/aud"},
		{name: "the iat of a refreshed ID token is that of the login",
			spoil: resigning(refreshed, func(_ *jwt.Token, claims map[string]any) {
				claims["iat"] = claims["auth_time"]
			}), fails: "OIDCCore/12.2/iat"},
		{name: "the auth_time of a refreshed ID token is the time of the refresh",
			spoil: resigning(refreshed, func(_ *jwt.Token, claims map[string]any) {
				claims["auth_time"] = claims["iat"]
			}), fails: "OIDCCore/12.2/auth-time"},
		{name: "the auth_time of a refreshed ID token is that of the person's last login",
			spoil: replacing(everybodys, func(p *proxy, q *ask, text string) any {
				if refreshed(p, q) {
					return resign(text, saying("auth_time", json.Number(p.note("last login"))))
				}
				p.keep("last login", fmt.Sprintf("%.0f", inside(text).Number("auth_time")))
				return text
			}), fails: "OIDCCore/12.2/auth-time-of-own-login", passes: "OIDCCore/12.2/auth-time"},
		{name: "a refreshed ID token has another nonce", spoil: claim("nonce", "another"),
			fails: "OIDCCore/12.2/no-nonce OIDCCore/12.2/same-nonce"},
		{name: "the at_hash of a refreshed ID token is wrong", spoil: claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
			fails: "OIDCCore/12.2/same-rules"},
	})
}
