package provider

import (
	"net/http"
	"net/url"
	"testing"

	"mandate/provider/policy"
)

// CVE-2026-9689: no parameter may be sent twice, because two readers may use different values.
func TestParameterPollution(t *testing.T) {
	f := begin(t)
	app := f.app(introspects)
	s := f.login("alice")
	twice := func(r *http.Request, name string) *http.Request {
		form := url.Values{}
		_ = r.ParseForm()
		for k, v := range r.PostForm {
			form[k] = v
		}
		form[name] = append(form[name], form.Get(name))
		if len(form[name]) < 2 {
			form[name] = []string{"a", "b"}
		}
		made := post(form)
		made.Header["Authorization"] = r.Header["Authorization"]
		return made
	}
	for _, name := range []string{"grant_type", "client_id", "client_secret", "code", "redirect_uri", "code_verifier",
		"scope", "username", "password", "refresh_token", "token", "token_type_hint", "state", "unheard-of"} {
		t.Run("RFC6749/3.2 "+name, func(t *testing.T) {
			_, _, err := f.Grants.Token(t.Context(), twice(by(app, "grant_type", policy.GrantCode, "code", "x"), name), "")
			wantError(t, err, "400 invalid_request")
			_, _, err = f.Tokens.Introspect(t.Context(), twice(by(app, "token", "x"), name), "")
			wantError(t, err, "400 invalid_request")
			_, err = f.Tokens.Revoke(t.Context(), twice(by(app, "token", "x"), name), "")
			wantError(t, err, "400 invalid_request")
		})
	}
	for _, name := range []string{"client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge",
		"code_challenge_method", "response_mode", "nonce", "prompt", "unheard-of"} {
		for _, with := range []string{"", "evil"} {
			t.Run("RFC6749/3.1 "+name+" twice, first "+with, func(t *testing.T) {
				form := f.query(app, "state", "s", "scope", "read")
				form[name] = append([]string{with}, form.Get(name))
				a, err := f.Authorizations.Authorize(t.Context(), form)
				if name == "client_id" || name == "redirect_uri" {
					wantError(t, err, "400 invalid_request")
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if a.Refused == nil {
					location, _ := f.Authorizations.Complete(t.Context(), a, s)
					t.Fatal("accepted:", location)
				}
				wantError(t, a.Refused, "400 invalid_request")
				// RFC 6749 §4.1.2.1: the error response contains the state, if the state is valid.
				if state := queryOf(t, f.Authorizations.Refusal(a, a.Refused).Location()).Get("state"); name != "state" &&
					state != "s" {
					t.Errorf("the error comes with the state %q", state)
				}
			})
		}
	}
}
