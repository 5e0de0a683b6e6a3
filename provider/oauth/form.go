package oauth

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReadForm reads the form in the body of a protocol request. It returns an Error with
// the code invalid_request if the request breaks one of these rules.
//
// RFC 6749 §3.2: parameters are in the body, form-encoded, and each is sent once. A
// parameter without a value counts as omitted. RFC 6749 Appendix B: the encoding is
// UTF-8. A later document allows some parameters to be sent more than once: they are
// listed in several.
func ReadForm(r *http.Request, several ...string) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, Refuse("invalid_request",
			"Send the parameters in the body, with Content-Type: application/x-www-form-urlencoded.")
	}
	// RFC 6749 §2.3.1: credentials must not be in the request URI, because logs keep
	// it.
	if r.URL.RawQuery != "" {
		return nil, Refuse("invalid_request", "Send the parameters in the body, not in the query of the URL.")
	}
	err = r.ParseForm()
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		e := Refuse("invalid_request", "The body is larger than the %d bytes that this server reads.", Own(big.Limit))
		e.Status = http.StatusRequestEntityTooLarge
		return nil, e
	}
	if err != nil {
		return nil, Refuse("invalid_request", "The body is not form-encoded: check its percent-encoding.")
	}
	err = CheckParameters(r.PostForm, several...)
	if err != nil {
		return nil, err
	}
	for name, values := range r.PostForm {
		if r.PostForm[name] = Without(values, ""); len(r.PostForm[name]) == 0 {
			delete(r.PostForm, name)
		}
	}
	return r.PostForm, nil
}

// CheckParameters refuses a form in which a parameter is sent twice or is not UTF-8
// text. It checks every parameter, also an unknown one. If a parameter had two values,
// two programs could each use a different one (RFC 6749 §3.1, §3.2). Only the parameters
// that several lists may be sent more than once.
func CheckParameters(form url.Values, several ...string) error {
	for name, values := range form {
		if !PlainText(name) {
			return Refuse("invalid_request", "The name of a parameter is not UTF-8 text.")
		}
		if len(values) > 1 && !slices.Contains(several, name) {
			return Refuse("invalid_request", "The parameter %q is sent more than once.", Clip(name, 40))
		}
		if slices.ContainsFunc(values, func(value string) bool { return !PlainText(value) }) {
			return Refuse("invalid_request", "The parameter %q is not UTF-8 text.", Clip(name, 40))
		}
	}
	return nil
}

// Resource is the parameter that names the resources of a token. It may be sent more than
// once (RFC 8707 §2).
const Resource = "resource"

// PlainText reports whether both databases accept a text: it is UTF-8 and has no NUL
// character, which PostgreSQL refuses.
func PlainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// MaxState is the greatest length of the parameter state, in bytes.
const MaxState = 4096
