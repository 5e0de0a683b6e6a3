package conformance

import (
	"net/http"
	"regexp"
	"strings"
)

// Faults of a resource (RFC 6750).
func bearerFaults() []fault {
	bearing := func(q *ask, token string) {
		if token != "" {
			q.header.Set("Authorization", "Bearer "+token)
		}
	}
	return []fault{
		{name: "a token may come in two places", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.header.Get("Authorization") != "" {
				q.query = ""
			}
		}), fails: "RFC6750/2/one-method", hides: "RFC6750/3.1/invalid-request-400"},
		{name: "a token in the header is not taken", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.header.Get("Authorization") != "" {
				bearing(q, "made-up")
			}
		}), fails: "RFC6750/2.1/header", hides: "RFC6749/7 RFC6750"},
		{name: "the scheme has to be written Bearer", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if !strings.HasPrefix(q.header.Get("Authorization"), "Bearer") {
				q.header.Del("Authorization")
			}
		}), fails: "RFC6750/2.1/scheme-any-case"},
		{name: "a token in the form is taken", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.method == http.MethodPost {
				bearing(q, q.form().Get("access_token"))
				q.method, q.body = http.MethodGet, ""
			}
		}), fails: "RFC6750/2.2/form"},
		{name: "a token in the query is taken", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.header.Get("Authorization") == "" && q.query != "" {
				bearing(q, q.params().Get("access_token"))
				q.query = ""
			}
		}), fails: "RFC6750/2.3/not-in-query"},
		{name: "a resource challenges nobody", at: resourcePath, spoil: answering(header("WWW-Authenticate", "")), fails: "RFC6750/3/challenge",
			hides: "RFC6750/3"},
		{name: "a resource's challenge has no attribute", at: resourcePath, spoil: challenging(`^Bearer realm="[^"]*"$`, "Bearer"), fails: "RFC6750/3/has-attribute"},
		{name: "a resource's challenge has the realm twice", at: resourcePath, spoil: challenging(`^Bearer `, `Bearer realm="x", `), fails: "RFC6750/3/attributes-once"},
		{name: "a resource's challenge has no error", at: resourcePath, spoil: challenging(`,? *error="[^"]*"`, ""),
			fails: "RFC6750/3/error-told RFC6750/3.1/invalid-token-401 RFC6750/3.1/invalid-request-400"},
		{name: "a resource's challenge is not ASCII", at: resourcePath, spoil: challenging(`error_description="`, `error_description="é `), fails: "RFC6750/3/ascii"},
		{name: "a resource calls invalid_token invalid_request", at: resourcePath, spoil: challenging(`invalid_token`, "invalid_request"), fails: "RFC6750/3.1/invalid-token-401"},
		{name: "a resource calls invalid_request invalid_token", at: resourcePath, spoil: challenging(`invalid_request`, "invalid_token"), fails: "RFC6750/3.1/invalid-request-400"},
		{name: "a resource answers a dead token with 403", at: resourcePath, spoil: answering(func(a *Answer) {
			if strings.Contains(a.Header.Get("WWW-Authenticate"), "invalid_token") {
				a.Status = http.StatusForbidden
			}
		}), fails: "RFC6750/3.1/invalid-token-401"},
		{name: "a resource answers two tokens with 401", at: resourcePath, spoil: answering(func(a *Answer) {
			if a.Status == http.StatusBadRequest {
				a.Status = http.StatusUnauthorized
			}
		}), fails: "RFC6750/3.1/invalid-request-400"},
		{name: "a resource answers too little scope with 401", at: widerPath, spoil: refusing(status(http.StatusUnauthorized)), fails: "RFC6750/3.1/insufficient-scope-403"},
		{name: "a resource calls insufficient_scope invalid_token", at: widerPath, spoil: challenging("insufficient_scope", "invalid_token"), fails: "RFC6750/3.1/insufficient-scope-403"},
		{name: "a resource does not name the scope", at: widerPath, spoil: challenging(`,? *scope="[^"]*"`, ""), fails: "RFC6750/3.1/scope-named"},
		{name: "a resource names an error without a token", at: resourcePath, spoil: challenging(`^Bearer realm="[^"]*"$`, `Bearer error="invalid_token"`),
			fails: "RFC6750/3.1/no-error-without-token"},
		{name: "a resource answers no token with 400", at: resourcePath, spoil: func(p *proxy, q *ask) *Answer {
			a := p.real(q)
			if q.header.Get("Authorization") == "" && q.query == "" && q.method == http.MethodGet {
				a.Status = http.StatusBadRequest
			}
			return a
		}, fails: "RFC6750/3.1/no-error-without-token"},
		{name: "a resource takes any token", at: resourcePath, spoil: func(p *proxy, q *ask) *Answer {
			if strings.HasPrefix(q.header.Get("Authorization"), "Bearer ") && q.query == "" {
				return &Answer{Status: http.StatusOK, Header: http.Header{}}
			}
			return p.real(q)
		}, fails: "RFC6749/7/token-validated RFC6750/5.2/not-tampered-with",
			hides: "RFC6750/3"},
		{name: "a resource does not look at the scope", at: widerPath, spoil: refusing(status(http.StatusOK)), fails: "RFC6749/7/scope-covers",
			hides: "RFC6750/3.1"},
	}
}

// challenging changes the challenge of a resource.
func challenging(expression, replacement string) spoiler {
	is := regexp.MustCompile(expression)
	return refusing(func(a *Answer) {
		a.Header.Set("WWW-Authenticate", is.ReplaceAllString(a.Header.Get("WWW-Authenticate"), replacement))
	})
}
