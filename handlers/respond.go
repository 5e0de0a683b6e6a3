package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"mandate/provider"
)

// handle reads a request, asks the provider, decides, and writes. It returns
// errors; an adapter writes them.
type handle func(w http.ResponseWriter, r *http.Request) error

// failure writes an error in the form that its readers expect.
type failure func(w http.ResponseWriter, r *http.Request, e *provider.Error)

// adapt turns a handle into a handler, with how it fails.
func adapt(h handle, prepare func(http.Header), fail failure) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recordOf(r.Context()).fail = fail
		prepare(w.Header())
		err := h(w, r)
		if err != nil {
			e := refusal(r, err)
			ended(r.Context(), e.Code)
			fail(w, r, e)
		}
	})
}

// protocol is for endpoints that programs call by a specification.
func (s *server) protocol(h handle) http.Handler { return adapt(h, uncached, protocolError) }

// api is for the sample API, whose errors have the form of the framework that
// its clients know.
func (s *server) api(h handle) http.Handler { return adapt(h, uncached, apiError) }

// uncached: RFC 6749 §5.1 asks for both headers.
func uncached(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
}

// refusal says what of an error may be seen outside, and notes the whole of it
// for the log.
func refusal(r *http.Request, err error) *provider.Error {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		note(r.Context(), "error", e.Error())
		return e
	}
	if invalid, ok := errors.AsType[*provider.Invalid](err); ok {
		// What was typed may stand in the messages.
		note(r.Context(), "error", "invalid: "+fieldNames(invalid))
		return &provider.Error{Status: http.StatusUnprocessableEntity, Code: "invalid_request", Description: invalid.Error()}
	}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		note(r.Context(), "error", err.Error())
		return tooLarge(big)
	}
	note(r.Context(), "error", err.Error())
	if errors.Is(err, provider.ErrNotFound) {
		return &provider.Error{Status: http.StatusNotFound, Code: "not_found", Description: "There is nothing at this address."}
	}
	return &provider.Error{Status: http.StatusInternalServerError, Code: "server_error",
		Description: "Internal error. The server's log has it under " + requestID(r) + "."}
}

func fieldNames(invalid *provider.Invalid) string {
	var names []string
	for _, f := range invalid.Fields {
		names = append(names, f.Field)
	}
	return strings.Join(names, ", ")
}

func badRequest(description string) error {
	return &provider.Error{Status: http.StatusBadRequest, Code: "invalid_request", Description: description}
}

func tooLarge(big *http.MaxBytesError) *provider.Error {
	return &provider.Error{Status: http.StatusRequestEntityTooLarge, Code: "invalid_request",
		Description: fmt.Sprintf("The body is larger than the %d bytes that this server reads.", big.Limit)}
}

// protocolError writes an error response (RFC 6749 §5.2).
func protocolError(w http.ResponseWriter, r *http.Request, e *provider.Error) {
	writeError(w, r, e, struct {
		Error       string `json:"error"`
		Description string `json:"error_description,omitempty"`
	}{e.Code, e.Description})
}

func apiError(w http.ResponseWriter, r *http.Request, e *provider.Error) {
	writeError(w, r, e, apiDetail{e.Description})
}

func writeError(w http.ResponseWriter, r *http.Request, e *provider.Error, body any) {
	if e.Challenge != "" {
		w.Header().Set("WWW-Authenticate", e.Challenge)
	}
	retryAfter(w, e)
	uncached(w.Header())
	err := writeJSON(w, statusOf(e), body)
	if err != nil {
		note(r.Context(), "error", err.Error())
	}
}

func retryAfter(w http.ResponseWriter, e *provider.Error) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
}

func statusOf(e *provider.Error) int {
	if e.Status < http.StatusBadRequest || e.Status > 599 {
		return http.StatusBadRequest
	}
	return e.Status
}

// writeJSON writes a whole answer, or none and an error.
func writeJSON(w http.ResponseWriter, status int, value any) error {
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
	_, _ = w.Write(b.Bytes()) // an error here means that the client has gone
	return nil
}

// redirect sends the browser elsewhere by GET.
//
// RFC 9700 §4.12: 303, since by 307 a browser would send the form on, with the
// password in it.
func redirect(w http.ResponseWriter, r *http.Request, target string) {
	w.Header().Set("Cache-Control", "no-store")
	// Not http.Redirect: it would resolve and rewrite a target that has to stay
	// as it stands, and write a body that repeats it.
	w.Header().Set("Location", asciiURL(target))
	w.WriteHeader(http.StatusSeeOther)
}

// asciiURL percent-encodes what may not stand in a header, and nothing else.
func asciiURL(target string) string {
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
