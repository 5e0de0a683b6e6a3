package rules

import (
	"mandate/conformance/check"
	"mandate/conformance/need"
)

// oauth21 has the checks of what OAuth 2.1 adds to the documents that it contains.
var oauth21 = checks{
	"OAuth21/10.2/redirect-uri-left-out": func(t *T) {
		c := t.Client(need.Code)
		supportsPKCE(t, c)
		t.Grant(c)
		t.WantGranted(t.Token(c, formWithout(t.Code(t.Request(c)), "redirect_uri")))
	},
}

// formWithout returns the token request for a code without some of its parameters.
func formWithout(code *check.Code, names ...string) map[string][]string {
	form := code.Form()
	for _, name := range names {
		form.Del(name)
	}
	return form
}
