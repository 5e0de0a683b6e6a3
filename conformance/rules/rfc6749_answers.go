package rules

import (
	"net/http"

	"mandate/conformance/need"
)

// rfc6749Answers returns the rules about successful responses of the token endpoint (RFC 6749 §5.1).
func rfc6749Answers() []Rule {
	return []Rule{
		{
			ID: "RFC6749/5.1/json", Level: Must,
			Text:  "The token response has the type application/json.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				a := someTokens(t).Answer
				if a.MediaType() != "application/json" {
					t.Failf("the Content-Type is %q", a.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID: "RFC6749/5.1/status", Level: Should,
			Text:  "The token response has the status 200.",
			Needs: []Need{need.Token},
			Check: func(t *T) { t.WantStatus(someTokens(t).Answer, http.StatusOK) },
		},
		{
			ID: "RFC6749/5.1/token-type", Level: Must,
			Text:  "The response has token_type.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				if kind := someTokens(t).Answer.Text("token_type"); kind == "" {
					t.Failf("the response has no token_type")
				}
			},
		},
		{
			ID: "RFC6749/5.1/expires-in", Level: Should,
			Text:  "The response has expires_in, the lifetime of the access token in whole seconds.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				value, sent := someTokens(t).Answer.JSON()["expires_in"]
				seconds, is := value.(float64)
				switch {
				case !sent:
					t.Failf("the response has no expires_in")
				case is && (seconds <= 0 || seconds != float64(int64(seconds))):
					t.Failf("expires_in is %s, want a whole number of seconds", Quoted(value))
				}
			},
		},
		{
			ID: "RFC6749/5.1/expires-in-number", Level: Must,
			Text:  "expires_in, if present, is a JSON number.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				value := someTokens(t).Answer.JSON()["expires_in"]
				if value == nil {
					t.Skipf("the rule applies to a server whose token responses have expires_in, which is recommended")
				}
				if _, is := value.(float64); !is {
					t.Failf("expires_in is %s, which is no number", Quoted(value))
				}
			},
		},
		{
			ID: "RFC6749/5.1/ten-hours", Level: May,
			Text:  "The default lifetime of an access token is 36000 seconds.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				if seconds := tokenLifetime(t); seconds != 36000 {
					t.Failf("expires_in is %s", Quoted(seconds))
				}
			},
		},
		{
			ID: "RFC6749/5.1/scope-identical", Level: Must,
			Text:         "The response has the scope of the token, unless it equals the requested scope.",
			Inapplicable: "It repeats §3.3, whose rule is checked.",
		},
		{
			ID: "RFC6749/5.1/no-store", Level: Must,
			Text:  "A response with tokens has Cache-Control: no-store.",
			Needs: []Need{need.Token},
			Check: func(t *T) { wantHeader(t, someTokens(t).Answer, "Cache-Control", "no-store") },
		},
		{
			ID: "RFC6749/5.1/no-cache", Level: Must,
			Text:  "A response with tokens has Pragma: no-cache.",
			Needs: []Need{need.Token},
			Check: func(t *T) { wantHeader(t, someTokens(t).Answer, "Pragma", "no-cache") },
		},
		{
			ID: "RFC6749/5.1/size-documented", Level: Should,
			Text:         "The documentation states the size of tokens.",
			Inapplicable: "The documentation states it in its security model.",
		},
	}
}
