package resource

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Login says what an API requires of the login behind an access token (RFC 9470). The
// zero Login requires nothing, so it also accepts a token without a login.
type Login struct {
	// MaxAge is the largest age of the login, in whole seconds. Zero means any age. The
	// clocks of this server and of the authorization server must agree.
	MaxAge time.Duration

	// ACRValues lists the accepted kinds of login (Authentication Context Class
	// Reference), the preferred one first. If it is empty, every kind is accepted.
	ACRValues []string
}

func (l Login) validate() error {
	if l.MaxAge < 0 || l.MaxAge%time.Second != 0 {
		return errors.New("max_age: use a whole number of seconds, from 1; 0 means any age")
	}
	// RFC 9470 §3: the values are separated by spaces, in a quoted string.
	if slices.ContainsFunc(l.ACRValues, func(s string) bool { return !isWord(s) }) {
		return fmt.Errorf("acr_values %q: use one string for each, printable ASCII without space, quote and backslash",
			l.ACRValues)
	}
	return nil
}

// isWord reports whether s can stand in a list of a challenge.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' })
}

// missing returns what the login behind a token lacks, for the developer of the client,
// or "". The age is computed at each request, because the token may come from a cache. A
// token without auth_time or acr does not satisfy a requirement about it.
func (l Login) missing(t *Token) string {
	seconds := int64(l.MaxAge / time.Second)
	switch {
	case len(l.ACRValues) > 0 && !slices.Contains(l.ACRValues, t.ACR):
		return "Another kind of login is required: send acr_values in an authorization request"
	case seconds > 0 && (t.AuthTime.IsZero() || time.Now().Unix()-t.AuthTime.Unix() > seconds):
		return "A more recent login is required: send max_age in an authorization request"
	}
	return ""
}

// requirement is what a request needs.
type requirement struct {
	scopes []string
	login  Login
	client string // for the log: to which the token of this request was issued, once it is known
}

// stepUp returns the refusal of an active token whose login is not sufficient, or nil. The
// token is valid, so a stranger does not learn the requirements (RFC 9470 §9).
func (q requirement) stepUp(t *Token) *refusal {
	why := q.login.missing(t)
	if why == "" {
		return nil
	}
	// RFC 9470 §3: the challenge has what the client sends in its next authorization
	// request. If the token also lacks a scope, one request can bring both.
	params := fmt.Sprintf(`, error="insufficient_user_authentication", error_description=%q`, why)
	if q.login.MaxAge > 0 {
		params += fmt.Sprintf(`, max_age="%d"`, int64(q.login.MaxAge/time.Second))
	}
	if len(q.login.ACRValues) > 0 {
		params += fmt.Sprintf(`, acr_values=%q`, strings.Join(q.login.ACRValues, " "))
	}
	if !t.HasScope(q.scopes...) {
		params += fmt.Sprintf(`, scope=%q`, strings.Join(q.scopes, " "))
	}
	return &refusal{status: http.StatusUnauthorized, params: params, detail: why + "."}
}
