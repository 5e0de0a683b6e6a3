package web

import "net/http"

// The pages to which several others lead.
const (
	TotpPath          = "/account/factors/totp/"
	CodesPath         = "/account/factors/codes/"
	NewPasskeyPath    = "/account/passkeys/new/"
	IdentitiesPath    = "/account/identities/"
	EventsPath        = "/admin/events/"
	InitialTokensPath = "/admin/registration-tokens/"
)

// The fields of the event log that other pages fill in.
const (
	ByKind   = "kind"
	ByObject = "object"
)

// PasskeyPath returns the page of a passkey, for its owner.
func (s *Site) PasskeyPath(id string) string { return s.Path("/account/passkeys/" + id + "/") }

// ApplicationPath returns a page of an application.
func (s *Site) ApplicationPath(id, rest string) string {
	return s.Path("/o/applications/" + id + "/" + rest)
}

// ToAccount redirects to the account page. It serves GET at paths that only take
// POST: a reload or a bookmark leads there.
func (s *Site) ToAccount(w http.ResponseWriter, r *http.Request) error {
	SeeOther(w, r, s.Path("/account/"))
	return nil
}
