package protocol

import (
	"errors"
	"net/http"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/policy"
)

// token is the token endpoint (RFC 6749 §3.2).
func (s *server) token(w http.ResponseWriter, r *http.Request) error {
	answer, application, err := s.Provider.Grants.Token(r.Context(), r, s.Requests.Address(r))
	request.RecordOf(r.Context()).Grant = grantOf(r)
	if application != nil {
		request.Note(r.Context(), "client", application.ClientID)
	}
	if err != nil {
		// RFC 8628 §3.5: a device that waits polls again and again, which is no failure.
		e, ok := errors.AsType[*oauth.Error](err)
		request.RecordOf(r.Context()).Quiet = ok && e.Code == "authorization_pending"
		return err
	}
	request.Note(r.Context(), web.LeftOut, answer.LeftOut.String())
	request.Outcome(r.Context(), "ok")
	return web.WriteJSON(w, http.StatusOK, answer)
}

// otherGrant stands for every grant type that the server does not know.
const otherGrant = "other"

// grantOf returns the grant type, or otherGrant if it is unknown. A client must not
// be able to put text of its own into the log or into the name of a metric.
func grantOf(r *http.Request) string {
	asked := r.PostForm.Get("grant_type")
	if !policy.SupportsGrant(asked) {
		return otherGrant
	}
	return asked
}
