package rules

import (
	"reflect"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// rfc9470 has the checks of the rules about step-up authentication.
var rfc9470 = checks{
	"RFC9470/4/max-age": wantPlainMaxAge,
	"RFC9470/5/told": func(t *T) {
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
	"RFC9470/5/one-met": func(t *T) {
		c := t.Client(need.Code)
		stepUp(t)
		acr, _ := liveToken(t, t.GrantFor(withoutOpenID(t, c)).Access)["acr"].(string)
		if acr == "" {
			t.Skipf("the rule applies to a server whose access tokens have acr: without it no value is known that a login " +
				"satisfies")
		}
		wantCode(t, t.Authorize(withoutOpenID(t, c).Set("acr_values", "urn:conformance:unknown "+acr)),
			"a request for the acr that a login has")
	},
	"RFC9470/5/unmet": func(t *T) {
		stepUp(t)
		t.Code(withoutOpenID(t, t.Client(need.Code)))
		t.WantRedirectError(
			t.Authorize(withoutOpenID(t, t.Client(need.Code)).Set("acr_values",
				"urn:conformance:unknown urn:conformance:other")), "unmet_authentication_requirements")
	},
	"RFC9470/6.1/claims": func(t *T) {
		stepUp(t)
		j := personJWT(t)
		if j.Number("auth_time") < 0 || j.Text("acr") == "" {
			t.Failf("auth_time is %s, and acr is %s", Quoted(j.Claims["auth_time"]), Quoted(j.Claims["acr"]))
		}
	},
	"RFC9470/6.1/unchanged": func(t *T) {
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
	"RFC9470/6.2/auth-time": func(t *T) {
		value, there := liveToken(t, t.Grant(t.Client(need.Code)).Access)["auth_time"]
		if !there {
			t.Skipf("the rule applies to a server whose introspection tells auth_time")
		}
		// A login was not before 2001, nor far in the future: a number of milliseconds is.
		if at, is := value.(float64); !is || at < 1e9 || at > 1e11 {
			t.Failf("auth_time is %s", Quoted(value))
		}
	},
	"RFC9470/6.2/acr": func(t *T) {
		value, there := liveToken(t, t.Grant(t.Client(need.Code)).Access)["acr"]
		if !there {
			t.Skipf("the rule applies to a server whose introspection tells acr")
		}
		if acr, is := value.(string); !is || acr == "" {
			t.Failf("acr is %s", Quoted(value))
		}
	},
	"RFC9470/7/advertised": func(t *T) {
		if list, is := publishedMetadata(t).List("acr_values_supported"); !is || len(list) == 0 {
			t.Failf("acr_values_supported is %q", list)
		}
	},
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
	wantReauthentication(t, b, withoutOpenID(t, c).Set("max_age", "1"),
		"the login is more than one second old, and max_age is 1")
}
