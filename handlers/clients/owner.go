package clients

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// ownerPage asks an administrator who is to be responsible for an application.
func (s *server) ownerPage(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.administered(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	page := s.ownerForm(r, who, a, templates.Field{Value: form.Get("owner")})
	s.SayKept(r, form != nil, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

// administered finds the application of the path. It is for administrators.
func (s *server) administered(r *http.Request) (*storage.SignedIn, storage.Application, error) {
	who, err := s.Administrator(r)
	if err != nil {
		return nil, storage.Application{}, err
	}
	_, a, err := s.named(r)
	return who, a, err
}

func (s *server) ownerForm(
	r *http.Request,
	who *storage.SignedIn,
	a storage.Application,
	field templates.Field,
) templates.Owner {
	return templates.Owner{
		Frame:        s.Frame(r, ""),
		Name:         a.Name,
		Owner:        ownerText(a),
		Standing:     standingText(a),
		Suspended:    s.Provider.Rules.WhySuspended(a),
		Mine:         clients.OwnerResponsible(a) && a.OwnerID != nil && *a.OwnerID == who.User.ID,
		Username:     field,
		RedirectURIs: web.Lines(a.RedirectURIs),
		Version:      strconv.FormatInt(a.Version, 10),
		Action:       s.ApplicationPath(a.ID, "owner/"),
		CancelURL:    s.ApplicationPath(a.ID, ""),
	}
}

// changeOwner takes an application over, or assigns it to another person.
func (s *server) changeOwner(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.administered(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	username, said := strings.TrimSpace(r.PostForm.Get("owner")), "assigned"
	version := web.SentVersion(r.PostForm)
	if r.PostForm.Has("take_over") {
		_, err = s.Provider.Clients.TakeOver(r.Context(), actor, a.ID, version)
		said = "taken-over"
	} else {
		_, err = s.Provider.Clients.Assign(r.Context(), actor, a.ID, version, username)
	}
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		return s.Render(w, r, web.InvalidForm, s.ownerForm(r, who, a, templates.Field{
			Value: username,
			Error: invalid.At("owner"),
		}))
	}
	if err != nil {
		return err
	}
	request.Note(r.Context(), "client", a.ClientID)
	s.SetNotice(w, said)
	web.SeeOther(w, r, s.ApplicationPath(a.ID, ""))
	return nil
}

// standingText says who is responsible for an application.
func standingText(a storage.Application) string {
	switch policy.StandingOf(a) {
	case policy.StandingAdministrator:
		return "An administrator"
	case policy.StandingPerson:
		return "Its owner, who is not an administrator"
	}
	if policy.FollowsDocument(a) {
		return "Nobody: it came with a metadata document"
	}
	return "Nobody: it registered itself"
}
