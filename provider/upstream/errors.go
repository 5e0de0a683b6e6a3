package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
)

// Refusal is an error that the other server sent in its response (RFC 6749 §4.1.2.1).
type Refusal struct{ Code string }

// Error returns the code, which is printable ASCII.
func (r *Refusal) Error() string { return "the other server refuses: " + r.Code }

// Unreachable is a request to the other server that failed, and that may succeed later.
type Unreachable struct{ Err error }

// Error returns what was done, and why it failed.
func (u *Unreachable) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

// tokenError describes why a code could not be redeemed. The text has nothing of the response but its
// error code.
func tokenError(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return &Unreachable{fmt.Errorf("redeem the code: %s", clip(withoutURL(err).Error()))}
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	err = fmt.Errorf("redeem the code: the token endpoint answers with status %d %s", status, printable(answer.ErrorCode))
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return &Unreachable{err}
	}
	return err
}

// withoutURL returns the cause of an error of an HTTP client. A URL may have a secret in its query.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// clip returns the beginning of a text that the other server may have chosen, for the log.
func clip(text string) string {
	text = printable(text)
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return text
}

// printable returns a text in printable ASCII, of at most 300 characters.
func printable(text string) string {
	if len(text) > 300 {
		text = text[:300]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
