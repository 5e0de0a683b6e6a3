package web

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"mandate/provider/oauth"
)

// On maps each method of a path to its handler.
type On map[string]Handle

// Serve calls the handler of the method.
func (m On) Serve(w http.ResponseWriter, r *http.Request) error {
	h := m[r.Method]
	// RFC 9110 §9.3.2: HEAD is GET without the content.
	if h == nil && r.Method == http.MethodHead {
		h = m[http.MethodGet]
	}
	if h != nil {
		return h(w, r)
	}
	methods := m.Names()
	// RFC 9110 §15.5.6: a response that refuses a method lists the allowed methods.
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return &oauth.Error{Status: http.StatusMethodNotAllowed, Code: "invalid_request",
		Description: "This address does not support that method. Use " + strings.Join(methods, " or ") + "."}
}

// Names returns the methods that a path supports.
func (m On) Names() []string {
	methods := slices.Sorted(maps.Keys(m))
	if m[http.MethodGet] != nil {
		methods = slices.Insert(methods, slices.Index(methods, http.MethodGet)+1, http.MethodHead)
	}
	return methods
}

type auditedKey struct{}

// Audited is for pages of administrators that only show something: auditors may see them. No other page of
// administrators is for auditors, and no form is.
func Audited(h Handle) Handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		return h(w, r.WithContext(context.WithValue(r.Context(), auditedKey{}, true)))
	}
}

// audited reports whether a route lets auditors see what its handler shows.
func audited(r *http.Request) bool {
	return r.Context().Value(auditedKey{}) != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}
