package protocol

import (
	"fmt"
	"net/http"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
)

// jwks returns the set of public keys (RFC 7517 §5, OIDC Core §10.1.1).
func (s *server) jwks(w http.ResponseWriter, r *http.Request) error {
	set, err := s.Provider.Keys.JWKSet(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", s.Config.JWKSMaxAge))
	return web.WriteJSON(w, http.StatusOK, set)
}

// userInfo is the UserInfo endpoint (OIDC Core §5.3).
func (s *server) userInfo(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Content-Type"),
		"application/x-www-form-urlencoded") {
		// RFC 6750 §2.2: the token may be in a form, and only in a form.
		err := s.ParseForm(r)
		if err != nil {
			return err
		}
	}
	answer, client, err := s.Provider.Tokens.UserInfo(r.Context(), r, s.Requests.Address(r))
	request.Note(r.Context(), "client", client)
	if err != nil {
		return err
	}
	if answer.Signed != "" {
		w.Header().Set("Content-Type", "application/jwt")
		_, _ = w.Write([]byte(answer.Signed)) // an error here means that the client has gone
		return nil
	}
	return web.WriteJSON(w, http.StatusOK, answer.Claims)
}
