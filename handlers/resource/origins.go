package resource

import (
	"fmt"
	"net/http"
	"slices"

	"mandate/provider/authority"
)

// Wrap returns a handler for the whole API. It serves the metadata of the API (RFC 9728)
// at [Guard.MetadataURL], answers CORS preflight requests, and lets scripts of the allowed
// origins read each response of next. Without AuthorizationServers and AllowedOrigins it
// does nothing.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.described != nil && g.described.isAt(r.URL):
			g.described.serve(w, r)
		case len(g.origins) > 0 && g.allowOrigin(w.Header(), r):
			// A browser sends a preflight request without a token, so it is never refused.
			w.WriteHeader(http.StatusNoContent)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// allowOrigin sets the CORS headers of a response, and reports whether the request is a
// preflight request. A browser attaches no token by itself, and sends no cookies here
// (Fetch, credentials mode), so a script can do only what its token allows.
func (g *Guard) allowOrigin(h http.Header, r *http.Request) bool {
	origin := "*"
	if !slices.Contains(g.origins, origin) {
		h.Add("Vary", "Origin")
		origin = r.Header.Get("Origin")
		if !slices.Contains(g.origins, origin) {
			return isPreflight(r)
		}
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if !isPreflight(r) {
		// The script needs the challenge (RFC 9728 §5.1), and the headers of the API.
		h.Set("Access-Control-Expose-Headers", "*")
		return false
	}
	h.Set("Access-Control-Allow-Methods", "*")
	allowHeaders(h)
	return true
}

// allowHeaders lets a script send every header. The asterisk does not include
// Authorization (Fetch, CORS non-wildcard request-header name).
func allowHeaders(h http.Header) {
	h.Set("Access-Control-Allow-Headers", "Authorization, *")
	h.Set("Access-Control-Max-Age", "7200")
}

// isPreflight reports whether a request is a CORS preflight request (Fetch standard):
// OPTIONS with an origin and a requested method.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// checkOrigin returns an error if a browser never sends this text as an origin.
func checkOrigin(origin string) error {
	if origin != "*" && !authority.IsOrigin(origin) {
		return fmt.Errorf("guard: allowed origin %q: write it as a browser sends it, such as https://app.example, or use * "+
			"for every origin", origin)
	}
	return nil
}
