package clients

import (
	"errors"
	"net/http"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// applicationKeys sets what the page of an application shows about its keys.
func (s *server) applicationKeys(
	w http.ResponseWriter,
	r *http.Request,
	who *storage.SignedIn,
	a storage.Application,
	page *templates.Application,
) error {
	page.JWKSURI = a.JWKSURI
	known, err := s.Provider.Clients.Keys(r.Context(), a)
	if err != nil {
		return err
	}
	for _, k := range known {
		page.Keys = append(page.Keys, templates.ApplicationKey{
			ID:        k.ID,
			Kind:      k.Kind,
			Algorithm: k.Algorithm,
			LastUsed:  lastUsed(k.LastUsedAt, storage.FromPage),
		})
	}
	owned := who.User.Administrator || policy.StandingOf(a) != policy.StandingAdministrator
	if page.Public || page.FollowsDocument || a.JWKSURI != "" || page.Certificate || !owned || page.ReadOnly {
		return nil
	}
	page.TestKeyURL, page.UsesKeys = s.ApplicationPath(a.ID, "test-key/"), clientauth.SignsByKey(a)
	page.NewKey = s.TakeText(w, r, who, "/o/applications/"+a.ID, "test key of "+a.ID)
	for i, name := range clients.TestAlgorithms() {
		page.TestAlgorithms = append(page.TestAlgorithms, templates.Option{Value: name, Label: name, Checked: i == 0})
	}
	return nil
}

// testKey makes a key pair for tests. The page of the application shows the private key once.
func (s *server) testKey(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
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
	private, err := s.Provider.Clients.AddTestKey(r.Context(), actor, a.ID, r.PostForm.Get("algorithm"))
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		return &oauth.Error{Status: http.StatusUnprocessableEntity, Code: "invalid_request", Description: invalid.Error()}
	}
	if err != nil {
		return err
	}
	request.Note(r.Context(), "client", a.ClientID)
	s.KeepText(w, who, "/o/applications/"+a.ID, "test key of "+a.ID, private)
	s.SetNotice(w, "test-key")
	web.SeeOther(w, r, s.ApplicationPath(a.ID, ""))
	return nil
}
