package admin

import (
	"net/http"
	"strconv"
	"strings"

	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// glance returns the state of a person.
func (s *accounts) glance(
	r *http.Request,
	u storage.User,
	sessions int,
	methods templates.SignInMethods,
) (*templates.Glance, error) {
	g := &templates.Glance{Active: u.Active, Administrator: u.Administrator, Auditor: u.Auditor, Sessions: sessions,
		NoAddress: u.Email == ""}
	profile, err := people.ProfileOf(u)
	if err != nil {
		return nil, err
	}
	g.Confirmed = profile.EmailVerified
	var factors []string
	if methods.TOTPSince != "" {
		factors = append(factors, "authenticator app")
	}
	switch {
	case methods.Passkeys == 1:
		factors = append(factors, "one passkey")
	case methods.Passkeys > 1:
		factors = append(factors, strconv.Itoa(methods.Passkeys)+" passkeys")
	}
	if len(factors) > 0 {
		factors = append(factors, strconv.Itoa(methods.Codes)+" recovery codes")
	}
	g.Factors = strings.Join(factors, ", ")
	last, failures, err := s.Provider.Events.SignInsOf(r.Context(), u.ID)
	if last > 0 {
		g.LastSignIn = s.Pages.Languages.English().Moment(last)
	}
	g.Failures = failures
	return g, err
}

// onlyShown removes from the page of a person what an auditor could not send.
func onlyShown(page *templates.UserForm) {
	page.Sessions.EndAllAction = ""
	for i := range page.Sessions.Rows {
		page.Sessions.Rows[i].EndAction = ""
	}
	for i := range page.Methods.Keys {
		page.Methods.Keys[i].RemoveURL = ""
	}
	for i := range page.Methods.Accounts {
		page.Methods.Accounts[i].RemoveURL = ""
	}
	for i := range page.Owned {
		page.Owned[i].DeleteURL = ""
	}
}
