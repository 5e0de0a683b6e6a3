package web

import (
	"net/http"

	"mandate/provider/oauth"
	"mandate/templates"
)

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

// PeopleOfPath is the path of the page with the people who may use an application.
func PeopleOfPath(id string) string { return "/admin/applications/" + id + "/people/" }

// Restriction describes for whom an application is, from its lists as they are stored.
func Restriction(allowed, denied string, nobodyNew bool) templates.Restriction {
	return templates.Restriction{Allowed: oauth.Lines(allowed), Denied: oauth.Lines(denied), NobodyNew: nobodyNew}
}
