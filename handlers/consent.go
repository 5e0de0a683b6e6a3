package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/handlers/request"
	"mandate/provider"
	"mandate/templates"
)

func (s *server) consentPage(w http.ResponseWriter, r *http.Request, a *provider.Authorization, who *provider.SignedIn, asked *provider.Interaction) error {
	host, loopback := destination(a.RedirectURI)
	// The title does not contain the name of the application, which a stranger has
	// chosen.
	page := templates.Consent{Frame: s.frame(r, ""), Application: a.Application.Name,
		RedirectHost: host, RedirectURI: a.RedirectURI, Loopback: loopback, Ticket: asked.Ticket, Action: s.path("/o/consent/"),
		SwitchURL: s.path("/login/") + "?next=" + url.QueryEscape(r.URL.Path+"?"+r.URL.RawQuery)}
	if a.Application.Owner != nil {
		page.Owner = *a.Application.Owner
	}
	for _, scope := range append(slices.Clone(a.Scopes), a.ClaimScopes...) {
		page.Offline = page.Offline || s.config.OpenID && scope.Name == "offline_access"
		page.Scopes = append(page.Scopes, templates.ConsentScope{Name: scope.Name, Description: scope.Description,
			New: len(asked.Approved) > 0 && !slices.Contains(asked.Approved, scope.Name)})
	}
	resources := a.Audience.Named()
	page.AlsoServer = len(resources) > 0 && a.Audience.HasServer()
	for _, api := range resources {
		page.Resources = append(page.Resources, templates.API{Name: api.Name, URI: api.URI,
			New: len(asked.Approved) > 0 && !slices.Contains(asked.ApprovedFor, api.URI)})
	}
	return s.render(w, r, http.StatusOK, page)
}

// destination describes the redirect URI in words that a person recognizes.
func destination(redirectURI string) (host string, loopback bool) {
	u, err := url.Parse(redirectURI)
	switch {
	case err != nil:
		return redirectURI, false
	case u.Scheme == "http":
		return "a program on this computer", true
	case u.Scheme == "https":
		return u.Host, false
	}
	return "an app on this device (" + strings.TrimSuffix(u.Scheme, ":") + ")", true
}

// consent handles the decision that the person made on the consent page.
func (s *server) consent(w http.ResponseWriter, r *http.Request) error {
	err := s.parseForm(r)
	if err != nil {
		return err
	}
	who, err := s.signedIn(r)
	if err != nil {
		return err
	}
	if who == nil {
		return badRequest("Your session has ended. Go back to the application and begin again.")
	}
	a, err := s.provider.Authorizations.Resume(r.Context(), r.PostForm.Get("ticket"), who)
	if err != nil {
		return s.showClientError(w, r, err)
	}
	request.Note(r.Context(), "client", a.Application.ClientID)
	var response provider.Response
	switch {
	case a.Refused != nil:
		response = s.provider.Authorizations.Refusal(a, a.Refused)
	case r.PostForm.Get("decision") == "approve":
		response, err = s.provider.Authorizations.Approve(r.Context(), a, who)
	case r.PostForm.Get("decision") == "deny":
		response = s.provider.Authorizations.Deny(a)
	default:
		return badRequest("Choose to approve or to deny.")
	}
	if err != nil {
		return err
	}
	return s.answer(w, r, response)
}
