package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"mandate/provider/redirect"
	"mandate/storage"
)

// Error is what a client may see of a refusal. Its cause is for the log.
type Error struct {
	Status      int
	Code        string // RFC 6749 §5.2 and its kin
	Description string // tells the client's developer what to change
	Challenge   string // WWW-Authenticate, where one is due
	RetryAfter  int    // seconds, where waiting helps

	// Mismatch shows how a redirect URI differs from the registered ones.
	Mismatch *redirect.Mismatch

	Cause   error
	LogText string // the description before a client's words were put into it
}

// Error is for the log: what a client sent may be a secret in the wrong place,
// so the description stands there without it.
func (e *Error) Error() string {
	text := e.LogText
	if text == "" {
		text = e.Description
	}
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, text, e.Cause)
	}
	return e.Code + ": " + text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

func Refuse(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Description: ASCII(fmt.Sprintf(format, args...)), LogText: format}
}

// asciiText keeps to what error_description may have (RFC 6749 §4.1.2.1,
// §5.2): parts of a request stand in it.
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

// unavailable is what a client sees of a database that failed: a 5xx, never an
// answer about the record (RFC 7009 §2.2.1 asks for 503 at revocation).
func Unavailable(err error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
		Description: "The server cannot reach its database. Try again in a moment.", RetryAfter: 1, Cause: err}
}

// stored passes on that a record is not there, and turns every other error of
// the store into what a client may see.
func Stored(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrNotFound):
		return ErrNotFound
	}
	return Unavailable(err)
}

// ErrNotFound: there is no such thing, or not for this person.
var ErrNotFound = storage.ErrNotFound

// Invalid lists what is wrong with a form, each mistake at its field.
type Invalid struct{ Fields []FieldError }

// FieldError names a field and what to change in it.
type FieldError struct{ Field, Message string }

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

// At gives the message for one field, or "".
func (i *Invalid) At(field string) string {
	if i == nil {
		return ""
	}
	for _, f := range i.Fields {
		if f.Field == field {
			return f.Message
		}
	}
	return ""
}

func (i *Invalid) Add(field, format string, args ...any) {
	if i.At(field) == "" {
		i.Fields = append(i.Fields, FieldError{field, fmt.Sprintf(format, args...)})
	}
}

// err is nil where nothing was found.
func (i *Invalid) Err() error {
	if len(i.Fields) == 0 {
		return nil
	}
	return i
}
