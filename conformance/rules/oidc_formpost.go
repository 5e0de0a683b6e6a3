package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcFormPost has the checks of the rules of OAuth 2.0 Form Post Response Mode.
var oidcFormPost = checks{
	"OIDCFormPost/2/parameters-in-form": func(t *T) {
		r, f := postedBack(t, t.Request(t.Client(need.Code)))
		if f.Values.Get("code") == "" || f.Values.Get("state") != r.Request.Params.Get("state") {
			t.Failf("the form has a code: %t, and the state of the request: %t", f.Values.Get("code") != "",
				f.Values.Get("state") == r.Request.Params.Get("state"))
		}
	},
	"OIDCFormPost/2/code-works": func(t *T) {
		r, f := postedBack(t, t.Request(t.Client(need.Code)))
		wantTokens(t, t.Redeem(&check.Code{Value: withCode(t, f), Request: r.Request}))
	},
	"OIDCFormPost/2/error-in-form": func(t *T) {
		postedBack(t, t.Request(t.Client(need.Code)))
		r := t.Deny(t.Request(t.Client(need.Code)).Set("response_mode", "form_post"))
		if r.ErrorCode() == "" { // the server did not ask the person
			r = t.Authorize(t.Request(t.Client(need.Code)).Set("response_mode", "form_post").Set("response_type", "conformance"))
		}
		t.WithError(r)
		if r.Mode != "form_post" {
			t.At(r.Answer)
			t.Failf("with response_mode=form_post %s is returned by %s", r.Outcome(), r.Mode)
		}
	},
	"OIDCFormPost/2/not-in-address": func(t *T) {
		r, f := postedBack(t, t.Request(t.Client(need.Code)))
		if code := withCode(t, f); strings.Contains(f.Action, r.Request.Params.Get("state")) ||
			strings.Contains(f.Action, code) {
			t.Failf("the address to which the form is sent contains the code or the state")
		}
	},
	"OIDCFormPost/2/action": func(t *T) {
		r, f := postedBack(t, t.Request(t.Client(need.Code)))
		if want := r.Request.Params.Get("redirect_uri"); f.Action != want {
			t.Failf("the form is sent to %s, want %s", f.Action, want)
		}
	},
	"OIDCFormPost/2/action-with-query": func(t *T) {
		c := t.Client(need.Several)
		for _, uri := range c.RedirectURIs {
			if _, f := postedBack(t, t.Request(c).Set("redirect_uri", uri)); f.Action != uri {
				t.Errorf("the form is sent to %s, want %s", f.Action, uri)
			}
		}
	},
	"OIDCFormPost/2/method": func(t *T) {
		if _, f := postedBack(t, t.Request(t.Client(need.Code))); f.Method != http.MethodPost {
			t.Failf("the method of the form is %q, want POST", f.Method)
		}
	},
	"OIDCFormPost/2/not-stored": func(t *T) {
		r, _ := postedBack(t, t.Request(t.Client(need.Code)))
		wantHeader(t, r.Answer, "Cache-Control", "no-store")
	},
	"OIDCFormPost/2/button": func(t *T) {
		if _, f := postedBack(t, t.Request(t.Client(need.Code))); len(f.Buttons) == 0 {
			t.Failf("the form has no button")
		}
	},
	"OIDCFormPost/4/nothing-leaks": func(t *T) {
		r, _ := postedBack(t, t.Request(t.Client(need.Code)))
		if policy := r.Answer.Header.Get("Referrer-Policy"); policy != "no-referrer" && policy != "same-origin" {
			t.Errorf("Referrer-Policy is %q", policy)
		}
		wantHeader(t, r.Answer, "Content-Security-Policy", "default-src")
	},
}

// postedBack sends a request with response_mode=form_post, and returns the form on the last page. If the server does
// not support this mode, the check is skipped.
func postedBack(t *T, r *check.Request) (*check.Response, *browser.Form) {
	response := t.Authorize(r.Set("response_mode", "form_post"))
	if response.Answer == nil {
		t.Blockedf("%s", response)
	}
	t.At(response.Answer)
	for _, f := range browser.Parse(response.Answer).Forms {
		known := wire.SamePlace(f.Action, r.Params.Get("redirect_uri")) || f.Values.Has("code")
		visible := slices.ContainsFunc(f.Fields, func(l browser.Field) bool { return l.Kind != "hidden" })
		if known && !visible {
			return response, f
		}
	}
	if !t.Metadata().Lists("response_modes_supported", "form_post") {
		t.Skipf("the rule applies to a server that supports the response mode form_post: here the metadata does not list " +
			"it, and a request with it ends without a form")
	}
	t.Blockedf("the metadata lists the response mode form_post, but a request with it ends without a form: %s",
		response.Outcome())
	return nil, nil
}

// withCode returns the code in a form. Without a code the check is blocked.
func withCode(t *T, f *browser.Form) string {
	if f.Values.Get("code") == "" {
		t.Blockedf("the form has no code")
	}
	return f.Values.Get("code")
}
