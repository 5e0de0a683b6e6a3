package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"mandate/handlers/request"
	"mandate/provider/oauth"
)

// Handle reads a request, calls the provider, decides, and writes the response. It
// returns an error, which an adapter writes.
type Handle func(w http.ResponseWriter, r *http.Request) error

// failure writes an error in the format that the caller expects.
type failure func(w http.ResponseWriter, r *http.Request, e *oauth.Error)

// failWith returns a function that notes an error of any kind for the log, and
// writes the part that the caller may see.
func failWith(write failure) request.Failure {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		e := refusal(r, err)
		request.Outcome(r.Context(), e.Code)
		write(w, r, e)
	}
}

// Adapt turns a handle into a handler. It sets the headers first, and writes the
// error if the handle fails.
func Adapt(h Handle, prepare func(http.Header), write failure) http.Handler {
	fail := failWith(write)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request.RecordOf(r.Context()).Fail = fail
		prepare(w.Header())
		err := h(w, r)
		if err != nil {
			fail(w, r, err)
		}
	})
}

// Protocol adapts the endpoints that programs call as a specification says.
func (s *Site) Protocol(h Handle) http.Handler { return Adapt(h, Uncached, protocolError) }

// Uncached sets both headers that RFC 6749 §5.1 requires.
func Uncached(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
}

// refusal returns the part of an error that the caller may see, and notes the whole
// error for the log.
func refusal(r *http.Request, err error) *oauth.Error {
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		NoteError(r, e)
		return e
	}
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		// The messages may contain what the person typed.
		request.Note(r.Context(), "error", "invalid: "+fieldNames(invalid))
		return &oauth.Error{Status: http.StatusUnprocessableEntity, Code: "invalid_request", Description: invalid.Error()}
	}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		request.Note(r.Context(), "error", err.Error())
		return TooLarge(big)
	}
	request.Note(r.Context(), "error", err.Error())
	if errors.Is(err, oauth.ErrNotFound) {
		return oauth.ForPerson(http.StatusNotFound, "not_found", "", "There is nothing at this address.")
	}
	return oauth.ForPerson(http.StatusInternalServerError, "server_error", "",
		"Internal error. The server's log describes it under the request ID %s.", request.ID(r))
}

// maxDescription is for how many bytes of a description the log has room.
const maxDescription = 300

// NoteError notes an error for the log: its code, the description without what the client sent, and the cause, which
// the client does not see.
func NoteError(r *http.Request, e *oauth.Error) {
	request.Note(r.Context(), "error", e.Code)
	request.Note(r.Context(), "description", oauth.Clip(e.Text(), maxDescription))
	if e.Cause != nil {
		request.Note(r.Context(), "cause", e.Cause.Error())
	}
}

func fieldNames(invalid *oauth.Invalid) string {
	var names []string
	for _, f := range invalid.Fields {
		names = append(names, f.Field)
	}
	return strings.Join(names, ", ")
}

func BadRequest(description string) error {
	return &oauth.Error{Status: http.StatusBadRequest, Code: "invalid_request", Description: description}
}

func TooLarge(big *http.MaxBytesError) *oauth.Error {
	return &oauth.Error{Status: http.StatusRequestEntityTooLarge, Code: "invalid_request",
		Description: fmt.Sprintf("The body is larger than the %d bytes that this server reads.", big.Limit)}
}

// ProtocolBody is an error response (RFC 6749 §5.2).
type ProtocolBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
	URI         string `json:"error_uri,omitempty"`
}

// protocolError writes an error response without error_uri, which the documents of some endpoints do not have.
func protocolError(w http.ResponseWriter, r *http.Request, e *oauth.Error) {
	WriteError(w, r, e, ProtocolBody{Error: e.Code, Description: e.Description})
}

func WriteError(w http.ResponseWriter, r *http.Request, e *oauth.Error, body any) {
	if e.Challenge != "" {
		w.Header().Set("WWW-Authenticate", e.Challenge)
	}
	RetryAfter(w, e)
	Uncached(w.Header())
	err := WriteJSON(w, StatusOf(e), body)
	if err != nil {
		request.Note(r.Context(), "error", err.Error())
	}
}

func RetryAfter(w http.ResponseWriter, e *oauth.Error) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
}

func StatusOf(e *oauth.Error) int {
	if e.Status < http.StatusBadRequest || e.Status > 599 {
		return http.StatusBadRequest
	}
	return e.Status
}

// WriteJSON writes the whole response, or returns an error and writes nothing.
func WriteJSON(w http.ResponseWriter, status int, value any) error {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(value)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error here means that the client has disconnected
	return nil
}

// redirect makes the browser load another address with GET.
//
// RFC 9700 §4.12: 303, because with 307 a browser would send the form again, with
// the password in it.
func SeeOther(w http.ResponseWriter, r *http.Request, target string) {
	w.Header().Set("Cache-Control", "no-store")
	// Not http.Redirect: it would resolve and rewrite a target that must stay as it
	// is, and repeat the target in a body.
	w.Header().Set("Location", ASCIIURL(target))
	w.WriteHeader(http.StatusSeeOther)
}

// ASCIIURL percent-encodes the characters that a header cannot contain, and nothing
// else.
func ASCIIURL(target string) string {
	var b strings.Builder
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// LeftOut is the attribute of a log line for the scopes of a request that its application cannot get.
const LeftOut = "scopes_left_out"
