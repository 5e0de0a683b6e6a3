package handlers

import "net/http"

// The pages to which several others lead.
const (
	totpPath          = "/account/factors/totp/"
	codesPath         = "/account/factors/codes/"
	newPasskeyPath    = "/account/passkeys/new/"
	identitiesPath    = "/account/identities/"
	eventsPath        = "/admin/events/"
	initialTokensPath = "/admin/registration-tokens/"
)

// The fields of the event log that other pages fill in.
const (
	byKind   = "kind"
	byObject = "object"
)

func (s *server) applicationPath(id, rest string) string {
	return s.path("/o/applications/" + id + "/" + rest)
}

// toAccount redirects to the account page. It serves GET at paths that only take
// POST: a reload or a bookmark leads there.
func (s *server) toAccount(w http.ResponseWriter, r *http.Request) error {
	seeOther(w, r, s.path("/account/"))
	return nil
}
