package rules

import (
	"net/http"
)

// rfc6749Answers has the checks of the rules about successful responses of the token endpoint (RFC 6749 §5.1).
var rfc6749Answers = checks{
	"RFC6749/5.1/json": func(t *T) {
		a := someTokens(t).Answer
		if a.MediaType() != "application/json" {
			t.Failf("the Content-Type is %q", a.Header.Get("Content-Type"))
		}
	},
	"RFC6749/5.1/status": func(t *T) { t.WantStatus(someTokens(t).Answer, http.StatusOK) },
	"RFC6749/5.1/token-type": func(t *T) {
		if kind := someTokens(t).Answer.Text("token_type"); kind == "" {
			t.Failf("the response has no token_type")
		}
	},
	"RFC6749/5.1/expires-in": func(t *T) {
		value, sent := someTokens(t).Answer.JSON()["expires_in"]
		seconds, is := value.(float64)
		switch {
		case !sent:
			t.Failf("the response has no expires_in")
		case is && (seconds <= 0 || seconds != float64(int64(seconds))):
			t.Failf("expires_in is %s, want a whole number of seconds", Quoted(value))
		}
	},
	"RFC6749/5.1/expires-in-number": func(t *T) {
		value := someTokens(t).Answer.JSON()["expires_in"]
		if value == nil {
			t.Skipf("the rule applies to a server whose token responses have expires_in, which is recommended")
		}
		if _, is := value.(float64); !is {
			t.Failf("expires_in is %s, which is no number", Quoted(value))
		}
	},
	"RFC6749/5.1/ten-hours": func(t *T) {
		if seconds := tokenLifetime(t); seconds != 36000 {
			t.Failf("expires_in is %s", Quoted(seconds))
		}
	},
	"RFC6749/5.1/no-store": func(t *T) { wantHeader(t, someTokens(t).Answer, "Cache-Control", "no-store") },
	"RFC6749/5.1/no-cache": func(t *T) { wantHeader(t, someTokens(t).Answer, "Pragma", "no-cache") },
}
