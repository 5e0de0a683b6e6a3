package conformance

import (
	"net/http"
	"slices"
	"strings"
)

// The form post response mode. A server without it is let off.
func oidcFormPost() []Rule {
	return []Rule{
		{
			ID: "OIDCFormPost/2/parameters-in-form", Level: Must,
			Text:  "The code and the state come as hidden fields of a form.",
			Needs: asking(),
			Check: func(t *T) {
				r, f := t.postedBack(t.Request(t.Client(NeedCode)))
				if f.values.Get("code") == "" || f.values.Get("state") != r.request.Params.Get("state") {
					t.Failf("the form has code %q and state %q, and the state was %q", f.values.Get("code"), f.values.Get("state"), r.request.Params.Get("state"))
				}
			},
		},
		{
			ID: "OIDCFormPost/2/code-works", Level: Must,
			Text:  "The code of the form is one.",
			Needs: codeFlow(),
			Check: func(t *T) {
				r, f := t.postedBack(t.Request(t.Client(NeedCode)))
				t.WantGranted(t.Redeem(&Code{f.values.Get("code"), r.request}))
			},
		},
		{
			ID: "OIDCFormPost/2/error-in-form", Level: Must,
			Text:  "An error comes by a form, too.",
			Needs: asking(),
			Check: func(t *T) {
				t.postedBack(t.Request(t.Client(NeedCode)))
				r := t.wrong(t.Deny(t.Request(t.Client(NeedCode)).Set("response_mode", "form_post")))
				if r.Mode != "form_post" {
					t.At(r.Answer)
					t.Failf("the error comes by %s", r.Mode)
				}
			},
		},
		{
			ID: "OIDCFormPost/2/not-in-address", Level: Must,
			Text:  "Neither the code nor the state stands in the address that the form goes to.",
			Needs: asking(),
			Check: func(t *T) {
				r, f := t.postedBack(t.Request(t.Client(NeedCode)))
				if strings.Contains(f.action, r.request.Params.Get("state")) || strings.Contains(f.action, f.values.Get("code")) {
					t.Failf("the form goes to %s", f.action)
				}
			},
		},
		{
			ID: "OIDCFormPost/2/action", Level: Must,
			Text:  "The form goes to the redirect URI of the client.",
			Needs: asking(),
			Check: func(t *T) {
				r, f := t.postedBack(t.Request(t.Client(NeedCode)))
				if want := r.request.Params.Get("redirect_uri"); f.action != want {
					t.Failf("the form goes to %s, want %s", f.action, want)
				}
			},
		},
		{
			ID: "OIDCFormPost/2/action-with-query", Level: Must,
			Text:  "The form goes to the redirect URI as it is, with its query.",
			Needs: []Need{NeedAuthorization, NeedSeveral, NeedUser},
			Check: func(t *T) {
				c := t.Client(NeedSeveral)
				for _, uri := range c.RedirectURIs {
					if _, f := t.postedBack(t.Request(c).Set("redirect_uri", uri)); f.action != uri {
						t.Errorf("the form goes to %s, want %s", f.action, uri)
					}
				}
			},
		},
		{
			ID: "OIDCFormPost/2/method", Level: Must,
			Text:  "The method of the form is POST.",
			Needs: asking(),
			Check: func(t *T) {
				if _, f := t.postedBack(t.Request(t.Client(NeedCode))); f.method != http.MethodPost {
					t.Failf("the method is %q", f.method)
				}
			},
		},
		{
			ID: "OIDCFormPost/2/not-stored", Level: Must,
			Text:  "The page tells the browser, and whoever is on the way, not to store it.",
			Needs: asking(),
			Check: func(t *T) {
				r, _ := t.postedBack(t.Request(t.Client(NeedCode)))
				t.wantHeader(r.Answer, "Cache-Control", "no-store")
			},
		},
		{
			ID: "OIDCFormPost/2/submitted-by-itself", Level: Must,
			Text:      "The browser sends the form without the person's help.",
			Elsewhere: "conformance/mandate/browser_openid_test.go:TestBrowserFormPost",
		},
		{
			ID: "OIDCFormPost/2/button", Level: May,
			Text:  "The form has a button, for browsers without scripts.",
			Needs: asking(),
			Check: func(t *T) {
				if _, f := t.postedBack(t.Request(t.Client(NeedCode))); len(f.buttons) == 0 {
					t.Failf("the form has no button")
				}
			},
		},
		{
			ID: "OIDCFormPost/2/web-addresses-only", Level: May,
			Text:      "The mode is refused where the redirect URI is not one of http or https: nobody else takes a form.",
			Elsewhere: "conformance/mandate/openid_request_test.go:TestOIDCFormPost2",
		},
		{
			ID: "OIDCFormPost/4/nothing-leaks", Level: May,
			Text:  "The page with the code tells no other site where it came from, and loads nothing from elsewhere.",
			Needs: asking(),
			Check: func(t *T) {
				r, _ := t.postedBack(t.Request(t.Client(NeedCode)))
				if policy := r.Answer.Header.Get("Referrer-Policy"); policy != "no-referrer" && policy != "same-origin" {
					t.Errorf("Referrer-Policy is %q", policy)
				}
				t.wantHeader(r.Answer, "Content-Security-Policy", "default-src")
			},
		},
	}
}

// postedBack asks for the answer by form_post, and finds the form on the last page.
func (t *T) postedBack(r *Request) (*Response, *form) {
	response := t.Authorize(r.Set("response_mode", "form_post"))
	if response.Mode == "query" || response.Mode == "fragment" {
		t.Skipf("the server has no response mode form_post: %s", response)
	}
	if response.Answer == nil {
		t.Blockedf("%s", response)
	}
	t.At(response.Answer)
	for _, f := range parsePage(response.Answer).forms {
		known := samePlace(f.action, r.Params.Get("redirect_uri")) || f.values.Has("code")
		visible := slices.ContainsFunc(f.fields, func(l field) bool { return l.kind != "hidden" })
		if known && !visible {
			return response, f
		}
	}
	t.Blockedf("there is no form for the client: %s", response)
	return nil, nil
}
