package faults

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"mandate/conformance/jose"
	"mandate/conformance/wire"
)

// userInfoFaults are faults of UserInfo (OIDC Core §5.3).
func userInfoFaults() []fault {
	told := func(change func(*wire.Answer)) spoiler {
		return answering(func(a *wire.Answer) {
			if a.Status == http.StatusOK {
				change(a)
			}
		})
	}
	return append(at(userInfoPath, []fault{
		{name: "the sub of UserInfo is wrong", spoil: telling(put("sub", "another")),
			fails: "OIDCCore/5.3.2/same-sub OIDCCore/8.1/same-at-userinfo"},
		{name: "UserInfo has the content type text", spoil: answering(header("Content-Type", "text/plain")),
			fails: "OIDCCore/5.3.2/content-type OIDCRegistration/2/userinfo-plain OIDCCore/5.3.2/signed-content-type"},
		{name: "UserInfo is not JSON", spoil: told(func(a *wire.Answer) { a.Body = []byte("sub=1") }),
			fails: "OIDCCore/5.3.2/json", hides: "RFC6750/2.3/private-userinfo"},
		{name: "UserInfo is Latin-1", spoil: told(func(a *wire.Answer) { a.Body = append(a.Body, 0xe9) }),
			fails: "OIDCCore/5.3.2/utf-8", hides: "RFC6750/2.3/private-userinfo"},
		{name: "UserInfo accepts a token in the query", spoil: spoiling(func(_ *proxy, q *ask) {
			if token := q.params().Get("access_token"); token != "" {
				q.header.Set("Authorization", "Bearer "+token)
				q.query = ""
			}
		}), fails: "RFC9700/4.3.2/a46-not-in-query OIDCCore/5.3/bearer-not-in-query", passes: "RFC6750/2.3/private-userinfo"},
		{name: "UserInfo accepts a token in the query, and the answer can be kept by anybody",
			spoil: func(p *proxy, q *ask) *wire.Answer {
				token := q.params().Get("access_token")
				if token != "" {
					q.header.Set("Authorization", "Bearer "+token)
					q.query = ""
				}
				a := p.real(q)
				if token != "" {
					a.Header.Del("Cache-Control")
				}
				return a
			}, fails: "RFC9700/4.3.2/a46-not-in-query OIDCCore/5.3/bearer-not-in-query RFC6750/2.3/private-userinfo"},
		{name: "UserInfo accepts any token", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Status == http.StatusUnauthorized && q.header.Get("Authorization") != "" {
				return &wire.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: []byte(`{"sub":"person"}`)}
			}
			return a
		}, fails: "OIDCCore/5.3/bearer OIDCCore/5.3.3/invalid-token OIDCCore/5.3/id-token-is-no-access-token " +
			"OIDCCore/16.9/use-recorded OIDCCore/5.3.3/no-token",
			blocks: "OIDCCore/5.3.3/revoked-token"},
		{name: "UserInfo sends no challenge", spoil: answering(header("WWW-Authenticate", "")),
			fails: "OIDCCore/5.3.3/no-token"},
		{name: "UserInfo reports invalid_token as invalid_request", spoil: challenging("invalid_token", "invalid_request"),
			fails: "OIDCCore/5.3.3/invalid-token OIDCCore/5.3.3/revoked-token"},
		{name: "UserInfo answers insufficient scope with 401", spoil: answering(func(a *wire.Answer) {
			if a.Status == http.StatusForbidden {
				a.Status = http.StatusUnauthorized
			}
		}), fails: "OIDCCore/5.3.3/scope-missing"},
		{name: "UserInfo refuses GET", spoil: unlessBy(http.MethodPost), fails: "OIDCCore/5.3/get",
			hides: "RFC6750/2.3/private-userinfo"},
		{name: "UserInfo refuses POST", spoil: unlessBy(http.MethodGet),
			fails: "OIDCCore/5.3/post OIDCCore/5.3/bearer-in-form"},
		{name: "scripts cannot read UserInfo", spoil: answering(header("Access-Control-Allow-Origin", "")),
			fails: "OIDCCore/5.3/cors RFC9700/2.6/a38-cors"},
	}), at(userInfoPath+" "+keysPath, []fault{
		{name: "signed UserInfo has an invalid signature", spoil: told(func(a *wire.Answer) {
			if text := string(a.Body); strings.Count(text, ".") == 2 && !strings.HasPrefix(text, "{") {
				a.Body = []byte(jose.Altered(text)[1])
			}
		}), fails: "OIDCCore/5.3.2/signed-signature OIDCRegistration/2/userinfo-signed"},
		{name: "the iss of signed UserInfo is wrong", spoil: signedInfo(saying("iss", "https://attacker.example")),
			fails: "OIDCCore/5.3.2/signed-iss"},
		{name: "the aud of signed UserInfo is wrong", spoil: signedInfo(saying("aud", "another")),
			fails: "OIDCCore/5.3.2/signed-aud"},
		{name: "the sub of signed UserInfo is wrong", spoil: signedInfo(saying("sub", "another")),
			fails: "OIDCCore/5.3.2/signed-sub"},
	})...)
}

// telling changes the object with the claims.
func telling(change func(map[string]any)) spoiler {
	return answering(func(a *wire.Answer) {
		if a.Status == http.StatusOK {
			edit(a, change)
		}
	})
}

// signedInfo changes signed UserInfo responses.
func signedInfo(change func(*jwt.Token, map[string]any)) spoiler {
	return withKey(func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if q.path == userInfoPath && a.MediaType() == "application/jwt" {
			a.Body = []byte(resign(string(a.Body), change))
		}
		return a
	})
}

// unlessBy refuses requests by other methods, except preflight requests.
func unlessBy(method string) spoiler {
	return refusingIf(func(_ *proxy, q *ask) bool { return q.method != method && q.method != http.MethodOptions },
		func() *wire.Answer { return refusal(http.StatusMethodNotAllowed, "invalid_request") })
}

// claimFaults are faults of the claims (OIDC Core §5.1, §5.2, §5.4 to §5.6).
func claimFaults() []fault {
	var all []fault
	for _, row := range []struct {
		claim string
		value any // or none
		fails string
	}{
		{"sub", nil, "OIDCCore/5.3.2/sub"},
		{"name", 1, "OIDCCore/5.1/texts"},
		{"nickname", "", "OIDCCore/5.3.2/left-out"},
		{"email", "Alice <alice@example.com>", "OIDCCore/5.1/email"},
		{"email_verified", "true", "OIDCCore/5.1/email-verified"},
		{"phone_number", "01865 276150", "OIDCCore/5.1/phone-number OIDCCore/5.1/verified-phone-number"},
		{"phone_number_verified", "true", "OIDCCore/5.1/phone-number-verified"},
		{"updated_at", "2026-01-01", "OIDCCore/5.1/updated-at"},
		{"birthdate", "4 May", "OIDCCore/5.1/birthdate"},
		{"zoneinfo", "GMT +1:00", "OIDCCore/5.1/zoneinfo"},
		{"locale", "English (UK)", "OIDCCore/5.1/locale"},
		{"picture", "p.png", "OIDCCore/5.1/urls"},
		{"address", "Oxford", "OIDCCore/5.1/address"},
		{"address", map[string]any{"country": 44}, "OIDCCore/5.1.1/members"},
		{"favourite", "x", "OIDCCore/5.1.2/claim-names OIDCDiscovery/3/claims-whole OIDCCore/5.4/nothing-more"},
		{"name#en", "Alice", "OIDCCore/5.2/without-tags"},
		{"_claim_names", map[string]any{}, "OIDCDiscovery/3/claim-types-true"},
	} {
		all = append(all, fault{name: fmt.Sprintf("%s of UserInfo is %v", row.claim, row.value),
			spoil: telling(put(row.claim, row.value)), fails: row.fails})
	}
	for _, row := range [][2]string{{"profile", "family_name"}, {"email", "email_verified"}, {"address", "address"},
		{"phone", "phone_number"}} {
		alone := func(asked string) bool { return asked == "openid "+row[0] }
		all = append(all, fault{name: "the scope " + row[0] + " brings no " + row[1] + " by itself",
			spoil: tellingOf(alone, put(row[1], nil)), fails: "OIDCCore/5.4/" + row[0]})
	}
	return at(userInfoPath, append(all, []fault{
		{name: "several scopes return only the claims of the first",
			spoil: tellingOf(func(asked string) bool { return strings.Count(asked, " ") > 1 }, put("address", nil)),
			fails: "OIDCCore/5.4/several"},
		{name: "one scope with claims returns acr too",
			spoil:  tellingOf(func(asked string) bool { return strings.Count(asked, " ") == 1 }, put("acr", "0")),
			passes: "OIDCCore/5.4/several"},
		{name: "the scope openid returns the email address",
			spoil: tellingOf(func(asked string) bool { return asked == "openid" }, put("email", "alice@example.com")),
			fails: "OIDCCore/5.4/nothing-more"},
		{name: "claims without a value are null",
			spoil: telling(func(object map[string]any) { object["locale"], object["address"] = nil, nil }),
			fails: "OIDCCore/5.3.2/left-out", skips: "OIDCCore/5.1/locale OIDCCore/5.1/address"},
		{name: "claims are in a nested object", spoil: telling(func(object map[string]any) {
			claims := map[string]any{}
			for name, value := range object {
				if name != "sub" {
					claims[name] = value
					delete(object, name)
				}
			}
			object["claims"] = claims
		}), fails: "OIDCCore/5.6/normal"},
	}...))
}

// tellingOf changes the claims for tokens with certain scopes.
func tellingOf(is func(scope string) bool, change func(map[string]any)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if is(p.askedFor(carried(q)).Get("scope")) {
			edit(a, change)
		}
		return a
	}
}

// carried returns the token in the header.
func carried(q *ask) string { return strings.TrimPrefix(q.header.Get("Authorization"), "Bearer ") }
