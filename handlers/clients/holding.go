package clients

import (
	"net/http"
	"strconv"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/registration"
	"mandate/storage"
	"mandate/templates"
)

// applicationUse describes where an application came from, and what it holds.
func (s *server) applicationUse(r *http.Request, a storage.Application) (templates.ApplicationUse, error) {
	h, err := s.Provider.Clients.Holding(r.Context(), a)
	return templates.ApplicationUse{
		Origin:       originText(a.Origin),
		LastUsed:     lastUsed(a.LastUsedAt, a.Origin),
		Statement:    statementText(s.Provider.Registrations.StatementOf(a)),
		People:       counted(h.People, h.MorePeople),
		Tokens:       counted(h.Tokens, h.MoreTokens),
		Signed:       a.AccessTokenFormat == policy.FormatJWT,
		RevokeAllURL: s.ApplicationPath(a.ID, "revoke/"),
	}, err
}

// originText says how an application came here.
func originText(origin string) string {
	return map[string]string{
		"":                       "Unknown: it is older than this entry",
		storage.FromPage:         "A person registered it on a page of this server",
		storage.FromCommand:      "The operator registered it on the command line",
		storage.FromRegistration: "It registered itself",
		storage.FromDocument:     "Its metadata document: nobody registered it here",
	}[origin]
}

// statementText says what an issuer of software statements vouches for.
func statementText(s registration.Statement) string {
	switch {
	case s.Issuer == "":
		return ""
	case s.Identity:
		return "Vouched for by " + s.Issuer + ": its name and its redirect URIs"
	}
	return "Of " + s.Issuer + ", which does not vouch for the present name together with all redirect URIs"
}

// lastUsed says when an application last got a code or a token. The time of an application
// of unknown origin is not known before its first use after the column was added.
func lastUsed(at int64, origin string) string {
	switch {
	case at > 0:
		return web.Moment(at)
	case origin == "":
		return "Unknown"
	}
	return "Never"
}

// counted writes a number that may be the bound of a count.
func counted(n int, more bool) string {
	switch {
	case more && n >= clients.MostCounted:
		return "More than 1,000"
	case more && n == 0:
		return "Not counted: the server has too many to look at all of them"
	case more:
		return "At least " + strconv.Itoa(n) + ": the server has too many to look at all of them"
	case n == 0:
		return "None"
	}
	return strconv.Itoa(n)
}

func (s *server) revokeAllPage(w http.ResponseWriter, r *http.Request) error {
	_, a, err := s.named(r)
	if err != nil {
		return err
	}
	details := []string{
		"All its access and refresh tokens stop working at once.",
		"What people have approved is forgotten: each of them is asked again.",
	}
	if a.ClientType != policy.Public {
		details = append(
			details,
			"It keeps its secret, and whoever knows the secret can get new tokens: replace the secret afterwards if somebody "+
				"else may know it.",
		)
	} else {
		details = append(details, "It stays registered, and people can approve it again.")
	}
	if a.AccessTokenFormat == policy.FormatJWT {
		details = append(
			details, "An API that verifies signed tokens itself, without asking this server, accepts them until they expire.",
		)
	}
	return s.Render(w, r, http.StatusOK, templates.Confirm{
		Frame:     s.Frame(r, ""),
		Heading:   "Revoke everything that “" + a.Name + "” holds?",
		Message:   "This cannot be undone. The application stays.",
		Details:   details,
		Action:    s.ApplicationPath(a.ID, "revoke/"),
		Button:    "Revoke everything",
		CancelURL: s.ApplicationPath(a.ID, ""),
		Danger:    true,
	})
}

// revokeAll revokes everything that an application holds.
func (s *server) revokeAll(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
	if err != nil {
		return err
	}
	err = s.Provider.Clients.RevokeAll(r.Context(), policy.By(who.User), a.ID)
	if err != nil {
		return err
	}
	request.Note(r.Context(), "client", a.ClientID)
	s.SetNotice(w, "revoked-all")
	web.SeeOther(w, r, s.ApplicationPath(a.ID, ""))
	return nil
}
