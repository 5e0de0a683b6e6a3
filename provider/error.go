package provider

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ory/fosite"

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

	cause error
	text  string // the description before a client's words were put into it
}

// Error is for the log: what a client sent may be a secret in the wrong place,
// so the description stands there without it.
func (e *Error) Error() string {
	text := e.text
	if text == "" {
		text = e.Description
	}
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, text, e.cause)
	}
	return e.Code + ": " + text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

func refuse(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Description: asciiText(fmt.Sprintf(format, args...)), text: format}
}

// asciiText keeps to what error_description may have (RFC 6749 §4.1.2.1,
// §5.2): parts of a request stand in it.
func asciiText(text string) string {
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
func unavailable(err error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
		Description: "The server cannot reach its database. Try again in a moment.", RetryAfter: 1, cause: err}
}

// stored passes on that a record is not there, and turns every other error of
// the store into what a client may see.
func stored(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrNotFound):
		return ErrNotFound
	}
	return unavailable(err)
}

// failed turns any error of a flow into ours. What fosite says is passed on
// where it is meant for clients; its hint may hold what the client sent.
func failed(err error) *Error {
	if ours, ok := errors.AsType[*Error](err); ok {
		return ours
	}
	rfc, ok := errors.AsType[*fosite.RFC6749Error](err)
	if !ok || rfc.CodeField >= http.StatusInternalServerError {
		return &Error{Status: http.StatusInternalServerError, Code: "server_error", Description: "Internal error.", cause: err}
	}
	description := rfc.HintField
	if description == "" {
		description = rfc.DescriptionField
	}
	return &Error{Status: rfc.CodeField, Code: rfc.ErrorField, Description: asciiText(description), cause: err, text: rfc.DescriptionField}
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

func (i *Invalid) add(field, format string, args ...any) {
	if i.At(field) == "" {
		i.Fields = append(i.Fields, FieldError{field, fmt.Sprintf(format, args...)})
	}
}

// err is nil where nothing was found.
func (i *Invalid) err() error {
	if len(i.Fields) == 0 {
		return nil
	}
	return i
}
