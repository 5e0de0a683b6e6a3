// Package oauth holds what the packages of the provider share to read an OAuth 2.0
// request and to refuse it: error responses (RFC 6749 §4.1.2.1, §5.2), forms (RFC 6749
// §3.2), the syntax of scope (RFC 6749 §3.3), and small functions for texts and lists.
package oauth

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"mandate/provider/redirect"
	"mandate/storage"
)

// Error is the refusal of a request: the part that the client may see, and the cause,
// which is for the log only.
type Error struct {
	Status      int
	Code        string // the error code (RFC 6749 §5.2 and the codes of later documents)
	Description string // tells the client's developer what to change
	// the Description without its arguments, so that a page can show it in another language; may be empty
	Format     string
	Args       []any
	Challenge  string // the WWW-Authenticate header; "": the response has none
	RetryAfter int    // seconds; 0: waiting does not help

	// Mismatch shows how a redirect URI differs from the registered ones.
	Mismatch *redirect.Mismatch

	Cause   error
	LogText string // the description without the values that the client sent

	// Application is the one that the request names, whether or not the sender is this application. nil: it names none
	// that is stored, or the endpoint does not count refusals.
	Application *storage.Application
}

// Error returns the text for the log. It uses LogText instead of Description: a value
// that a client sent may be a secret in the wrong place, and the log must not contain
// it.
func (e *Error) Error() string {
	text := e.Text()
	if e.Cause != nil {
		// The text can be a sentence with a period.
		text = strings.TrimSuffix(text, ".") + ": " + e.Cause.Error()
	}
	return e.Code + ": " + text
}

// Text returns the description without the values that the client sent.
func (e *Error) Text() string { return cmp.Or(e.LogText, e.Description) }

// Fixed returns the description without any value that is not a text of this program or of its settings: requests
// without end have only so many of them.
func (e *Error) Fixed() string {
	if e.LogText == "" && len(e.Args) > 0 {
		return withoutValues(e.Format, e.Args)
	}
	return e.Text()
}

// Refused returns the Error of a request that was refused. An error of this server or of its database is none.
func Refused(err error) (*Error, bool) {
	e, ok := errors.AsType[*Error](err)
	return e, ok && e.Status < http.StatusInternalServerError
}

// About returns an error with the application that the request names.
func About(a storage.Application, err error) error {
	e, refused := Refused(err)
	if !refused || a.ID == "" {
		return err
	}
	told := *e // other requests may share the error
	told.Application = &a
	return &told
}

// Because sets the cause, and returns the Error.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Cause }

// Refuse returns an Error with status 400, the given code and the formatted
// description. The log has an ellipsis in the place of each argument that is not Own.
func Refuse(code, format string, args ...any) *Error {
	e := &Error{Status: http.StatusBadRequest, Code: code, Description: ASCII(fmt.Sprintf(format, args...)),
		Format: format, Args: args}
	if len(args) > 0 {
		e.LogText = withoutValues(format, args)
	}
	return e
}

// withoutValues formats a description with an ellipsis in the place of each argument that is not Own.
func withoutValues(format string, args []any) string {
	shown := slices.Clone(args)
	for i, arg := range args {
		if _, known := arg.(own); !known {
			shown[i] = own{"…"}
		}
	}
	return fmt.Sprintf(verb.ReplaceAllString(format, "%v"), shown...)
}

// ForPerson returns an Error whose description people read on a page. The log has forLog instead, or
// the description if forLog is empty.
func ForPerson(status int, code, forLog, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Description: fmt.Sprintf(format, args...), Format: format, Args: args,
		LogText: forLog}
}

// verb is a verb of fmt that prints an argument.
var verb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)

// Own marks an argument of Refuse that the log may have: a value of the server, such as a limit
// or an address of its own, or a choice from a list of the server. It is never a text that the
// sender of a request can choose.
func Own(value any) any { return own{value} }

type own struct{ value any }

// Format formats the value as if it were not marked.
func (o own) Format(s fmt.State, verb rune) { fmt.Fprintf(s, fmt.FormatString(s, verb), o.value) }

// ASCII replaces each character that error_description may not contain (RFC 6749
// §4.1.2.1, §5.2). A description can quote parts of the request.
func ASCII(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r == '\\':
			return '/'
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, text)
}

const rejected = "The database does not accept a value of this request. The log of the server has the reason."

// Unavailable returns the Error for a database that failed. It is a 5xx response, and
// never a statement about the record (RFC 7009 §2.2.1 asks for 503 at the revocation
// endpoint).
func Unavailable(err error) *Error {
	if errors.Is(err, storage.ErrRejected) {
		// A repetition would fail in the same way.
		return &Error{Status: http.StatusInternalServerError, Code: "server_error", Description: rejected, Format: rejected,
			Cause: err}
	}
	return Later(http.StatusServiceUnavailable, time.Second, "The server cannot reach its database. Try again in a "+
		"moment.").Because(err)
}

// Later returns the Error for a request that can succeed after a wait: status 429 or 503.
//
// RFC 9110 §10.2.3: Retry-After has whole seconds. The wait is rounded up, so that a client
// which obeys it does not come too early.
func Later(status int, wait time.Duration, text string) *Error {
	return &Error{Status: status, Code: "temporarily_unavailable", Description: ASCII(text), Format: text,
		RetryAfter: max(1, int((wait+time.Second-1)/time.Second))}
}

// Stored turns an error of the store into one that a client may see. It returns nil for
// nil, ErrNotFound for a missing record, and Unavailable for every other error.
func Stored(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrNotFound):
		return ErrNotFound
	}
	return Unavailable(err)
}

// ErrNotFound says that the record does not exist, or that this person may not see it.
var ErrNotFound = storage.ErrNotFound

// ErrConfirm means that the person must sign in again before this change: somebody else could use
// a browser that was left open, or a stolen cookie.
var ErrConfirm = errors.New("the person must sign in again first")

// Invalid lists the mistakes in a form, each with its field.
type Invalid struct{ Fields []FieldError }

// FieldError names a field and what to change in it. Format and Args are the parts of Message, so that a
// page can show it in another language. Format may be empty.
type FieldError struct {
	Field, Message string
	Format         string
	Args           []any
}

// Error returns all mistakes in one line.
func (i *Invalid) Error() string {
	text := ""
	for n, f := range i.Fields {
		if n > 0 {
			text += "; "
		}
		text += f.Field + ": " + f.Message
	}
	return text
}

// At returns the message for one field, or "" if the field has no mistake.
func (i *Invalid) At(field string) string { return i.Find(field).Message }

// Find returns the mistake in one field, or an empty one if the field has none.
func (i *Invalid) Find(field string) FieldError {
	if i != nil {
		for _, f := range i.Fields {
			if f.Field == field {
				return f
			}
		}
	}
	return FieldError{}
}

// Add notes a mistake in a field. The first mistake of a field stays: Add ignores all
// others. The format "%s" adds a whole text.
func (i *Invalid) Add(field, format string, args ...any) {
	if text, ok := wholeText(format, args); ok {
		i.add(FieldError{Field: field, Message: text, Format: text})
		return
	}
	i.add(FieldError{field, fmt.Sprintf(format, args...), format, args})
}

func wholeText(format string, args []any) (string, bool) {
	if format != "%s" || len(args) != 1 {
		return "", false
	}
	text, ok := args[0].(string)
	return text, ok
}

func (i *Invalid) add(f FieldError) {
	if i.At(f.Field) == "" {
		i.Fields = append(i.Fields, f)
	}
}

// Err returns the list as an error, or nil if there is no mistake.
func (i *Invalid) Err() error {
	if len(i.Fields) == 0 {
		return nil
	}
	return i
}

// InvalidToken returns the error for a bearer token that is not accepted, with the challenge
// of RFC 6750 §3. The text has no quotes.
func InvalidToken(text string) *Error {
	return &Error{Status: http.StatusUnauthorized, Code: "invalid_token", Description: text,
		Challenge: `Bearer realm="mandate", error="invalid_token", error_description="` + text + `"`}
}

// NoToken returns the error for a request that has no bearer token.
//
// RFC 6750 §3.1: the challenge of such a request has no error code.
func NoToken(text string) *Error {
	return &Error{Status: http.StatusUnauthorized, Code: "invalid_token", Description: text,
		Challenge: `Bearer realm="mandate"`}
}
