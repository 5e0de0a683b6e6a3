package protocol

import (
	"net/http"
	"strings"

	"mandate/handlers/web"
)

// anyOrigin lets scripts of every site call a path. It is for endpoints that use no
// cookie: with the origin * a browser also hides the response to a request with cookies
// from the script (Fetch, CORS check). It answers a preflight request before anything
// else, because a browser sends no credentials with it.
//
// RFC 10017 §6.3.3.4: an application in a browser calls these endpoints by CORS.
func anyOrigin(next http.Handler, methods web.On) http.Handler {
	allowed := strings.Join(methods.Names(), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		// A header that this server does not send yet is harmless here.
		h.Set("Access-Control-Expose-Headers",
			"WWW-Authenticate, Retry-After, DPoP-Nonce, OAuth-Client-Attestation-Challenge")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", allowed)
			// Programs that measure a site add headers of their own, such as traceparent. Fetch: the asterisk does not
			// stand for Authorization, and browsers before 2022 take it as a name.
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version, *")
			h.Set("Access-Control-Max-Age", "7200")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// proven sends a nonce for the next DPoP proof with each response, if proofs need one (RFC 9449
// §8.2). It is for the endpoints that read proofs.
func (s *server) proven(next web.Handle) web.Handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		if nonce := s.Provider.Proofs.Nonce(); nonce != "" {
			w.Header().Set("DPoP-Nonce", nonce)
		}
		return next(w, r)
	}
}
