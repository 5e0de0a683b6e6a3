package rules

import (
	"reflect"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// rfc9470 returns the rules about step-up authentication. Those about the authorization server apply if its metadata says
// that it takes part.
func rfc9470() []Rule {
	return []Rule{
		{
			ID: "RFC9470/3/error", Level: Must,
			Text:     "If the login behind a token does not satisfy an API, the challenge has the error insufficient_user_authentication.",
			TestedBy: "handlers/resource/login_test.go:TestRequireLogin",
		},
		{
			ID: "RFC9470/3/acr-values", Level: Must,
			Text:     "acr_values of the challenge is a list of values separated by spaces.",
			TestedBy: "handlers/resource/login_test.go:TestRequireLogin",
		},
		{
			ID: "RFC9470/3/max-age", Level: Must,
			Text:     "max_age of the challenge is a number of seconds that is not negative.",
			TestedBy: "handlers/resource/login_test.go:TestRequireLogin",
		},
		{
			ID: "RFC9470/3/scope", Level: May,
			Text:     "If the token also lacks a scope, the challenge names the scopes.",
			TestedBy: "handlers/resource/login_test.go:TestRequireLogin",
		},
		{
			ID: "RFC9470/4/client", Level: Should,
			Text:         "A client sends acr_values and max_age of the challenge in its next authorization request.",
			Inapplicable: "This binds clients.",
		},
		{
			// The document says this without a keyword.
			ID: "RFC9470/4/max-age", Level: Should,
			Text:  "A person whose login is older than max_age has to sign in again, without OpenID Connect too.",
			Needs: codeFlowNeeds(need.Keys),
			Check: wantPlainMaxAge,
		},
		{
			// The document says this without a keyword.
			ID: "RFC9470/5/told", Level: Should,
			Text:  "After a request with acr_values and max_age the access token has acr and auth_time.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				c := t.Client(need.Code)
				supported := stepUp(t)
				if len(supported) == 0 {
					t.Skipf("the rule applies to a server whose acr_values_supported names a value")
				}
				said := liveToken(t, t.GrantFor(withoutOpenID(t, c).Set("max_age", "36000").Set("acr_values", supported[0])).Access)
				if said["auth_time"] == nil || said["acr"] == nil {
					t.Failf("auth_time of the token is %s, and acr is %s", Quoted(said["auth_time"]), Quoted(said["acr"]))
				}
			},
		},
		{
			ID: "RFC9470/5/one-met", Level: Should,
			Text:  "A request succeeds if the login satisfies one of its acr_values.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				c := t.Client(need.Code)
				stepUp(t)
				acr, _ := liveToken(t, t.GrantFor(withoutOpenID(t, c)).Access)["acr"].(string)
				if acr == "" {
					t.Skipf("the rule applies to a server whose access tokens have acr: without it no value is known that a login satisfies")
				}
				wantCode(t, t.Authorize(withoutOpenID(t, c).Set("acr_values", "urn:conformance:unknown "+acr)), "a request for the acr that a login has")
			},
		},
		{
			// OIDC Core §15.1 requires the opposite for a request with the scope openid.
			ID: "RFC9470/5/unmet", Level: Should,
			Text:  "A request without the scope openid fails with unmet_authentication_requirements if no login satisfies its acr_values.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				stepUp(t)
				t.Code(withoutOpenID(t, t.Client(need.Code)))
				t.WantRedirectError(t.Authorize(withoutOpenID(t, t.Client(need.Code)).Set("acr_values", "urn:conformance:unknown urn:conformance:other")), "unmet_authentication_requirements")
			},
		},
		{
			// The document says this without a keyword.
			ID: "RFC9470/6.1/claims", Level: Should,
			Text:  "A JWT access token for a person has the claims auth_time and acr.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				stepUp(t)
				j := personJWT(t)
				if j.Number("auth_time") < 0 || j.Text("acr") == "" {
					t.Failf("auth_time is %s, and acr is %s", Quoted(j.Claims["auth_time"]), Quoted(j.Claims["acr"]))
				}
			},
		},
		{
			// The document says this without a keyword.
			ID: "RFC9470/6.1/unchanged", Level: Should,
			Text:  "auth_time and acr are the same after the access token is renewed.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				c := t.Client(need.Code)
				first := t.GrantRefresh(c)
				was := liveToken(t, first.Access)
				if was["auth_time"] == nil && was["acr"] == nil {
					t.Skipf("the rule applies to a server whose introspection tells auth_time or acr")
				}
				is := liveToken(t, t.Granted(t.Refresh(c, first.Refresh)).Access)
				for _, name := range []string{"auth_time", "acr"} {
					if !reflect.DeepEqual(was[name], is[name]) {
						t.Errorf("%s is %s after a refresh, but was %s", name, Quoted(is[name]), Quoted(was[name]))
					}
				}
			},
		},
		{
			ID: "RFC9470/6.2/auth-time", Level: Must,
			Text:  "auth_time of introspection, if present, is the number of seconds at the login.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				value, there := liveToken(t, t.Grant(t.Client(need.Code)).Access)["auth_time"]
				if !there {
					t.Skipf("the rule applies to a server whose introspection tells auth_time")
				}
				// A login was not before 2001, nor far in the future: a number of milliseconds is.
				if at, is := value.(float64); !is || at < 1e9 || at > 1e11 {
					t.Failf("auth_time is %s", Quoted(value))
				}
			},
		},
		{
			ID: "RFC9470/6.2/acr", Level: Must,
			Text:  "acr of introspection, if present, is a string.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				value, there := liveToken(t, t.Grant(t.Client(need.Code)).Access)["acr"]
				if !there {
					t.Skipf("the rule applies to a server whose introspection tells acr")
				}
				if acr, is := value.(string); !is || acr == "" {
					t.Failf("acr is %s", Quoted(value))
				}
			},
		},
		{
			ID: "RFC9470/7/advertised", Level: May,
			Text: "The metadata has acr_values_supported.",
			Check: func(t *T) {
				if list, is := publishedMetadata(t).List("acr_values_supported"); !is || len(list) == 0 {
					t.Failf("acr_values_supported is %q", list)
				}
			},
		},
		{
			ID: "RFC9470/9/not-authentication", Level: Must,
			Text:         "Nobody uses the document to present OAuth as an authentication protocol.",
			Inapplicable: "This binds texts about OAuth, and no program.",
		},
		{
			ID: "RFC9470/9/valid-tokens", Level: May,
			Text:     "An API tells its requirements on the login only to a client with a valid token.",
			TestedBy: "handlers/resource/login_test.go:TestRequireLogin",
		},
	}
}

// stepUp returns the acr values of the metadata. Without them the check is skipped.
//
// RFC 9470 §7: their presence says that the server honours acr_values and max_age.
func stepUp(t *T) []string { return optionalList(t, publishedMetadata(t), "acr_values_supported") }

// withoutOpenID returns an authorization request without the scope openid.
func withoutOpenID(t *T, c *target.Client) *check.Request {
	r := t.Request(c)
	scopes := strings.Fields(r.Params.Get("scope"))
	rest := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == "openid" })
	if len(scopes) > 0 && len(rest) == 0 {
		t.Skipf("the rule needs a scope beside openid: name one in the target under scope")
	}
	if len(scopes) > len(rest) {
		r.Set("scope", strings.Join(rest, " "))
	}
	return r
}

// wantPlainMaxAge asserts that max_age works in a request without the scope openid.
func wantPlainMaxAge(t *T) {
	c, b := t.Client(need.Code), t.NewBrowser()
	stepUp(t)
	tokens := t.GrantIn(b, withoutOpenID(t, c))
	if asked, _ := t.AsksPassword(b, withoutOpenID(t, c)); asked {
		t.Blockedf("the server asks for a login without max_age too")
	}
	t.WaitPast(check.ServerTime(tokens.Answer), 1)
	wantReauthentication(t, b, withoutOpenID(t, c).Set("max_age", "1"), "the login is more than one second old, and max_age is 1")
}
