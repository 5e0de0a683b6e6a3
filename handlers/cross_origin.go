package handlers

import (
	"net/http"

	"mandate/provider"
)

// anyOrigin lets scripts of every site read the response. It is for endpoints that
// use no cookie. With the origin * a browser also hides the response to a request
// with cookies from the script (Fetch, CORS check).
func anyOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			h.Set("Access-Control-Max-Age", "7200")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses a form that a page of another site has sent with the person's
// cookies.
func sameOrigin(allowed *http.CrossOriginProtection, h handle) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := allowed.Check(r)
		if err != nil {
			return &provider.Error{Status: http.StatusForbidden, Code: "access_denied",
				Description: "This form was sent from another site, so nothing was done. Open the page here and send it again."}
		}
		return h(w, r)
	}
}
