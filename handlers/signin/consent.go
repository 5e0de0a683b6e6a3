package signin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/authority"
	"mandate/provider/authorize"
	"mandate/provider/claims"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/loopback"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/resources"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

func (s *flows) consentPage(
	w http.ResponseWriter,
	r *http.Request,
	a *authorize.Authorization,
	asked *authorize.Interaction,
) error {
	host, loopback := destination(s.Language(r), a.RedirectURI)
	access := s.access(s.Language(r), a.Application, append(slices.Clone(a.Scopes), a.ClaimScopes...), a.Audience, asked)
	access.Beyond = beyond(a.LeftOut.Shown())
	// Any program on the device can use a redirect URI there, and a statement is no secret.
	if statement := s.Provider.Registrations.StatementOf(a.Application); statement.Identity && !loopback {
		access.Voucher, access.Application = statement.Issuer, a.Application.Name // it vouches for no other name
	}
	// The title does not contain the name of the application, which a stranger has
	// chosen.
	return s.Render(w, r, http.StatusOK, templates.Consent{
		Frame:        s.Frame(r, ""),
		Access:       access,
		RedirectHost: host,
		RedirectURI:  a.RedirectURI,
		Loopback:     loopback,
		Ticket:       asked.Ticket,
		Action:       s.Path("/o/consent/"),
		SwitchURL:    s.switchURL(s.again(w, r, a)),
	})
}

// switchURL leads to the login page for another account, and from there to next.
func (s *flows) switchURL(next string) string {
	return s.Path("/login/") + "?next=" + url.QueryEscape(next)
}

// access describes what an application asks for. before is what the person approved before.
func (s *flows) access(
	l *languages.Language,
	a storage.Application,
	scopes []policy.Scope,
	audience resources.Audience,
	before *authorize.Interaction,
) templates.Access {
	shown := templates.Access{Asker: s.asker(l, a)}
	again := before.Before
	shown.Offline = s.Config.OpenID && s.Provider.Rules.OutlivesSession(authorize.ScopeNames(scopes))
	for _, scope := range scopes {
		shown.Scopes = append(shown.Scopes, templates.ConsentScope{Name: scope.Name, Description: describe(l, scope),
			New: again && !slices.Contains(before.Approved, scope.Name)})
	}
	resources := audience.Named()
	shown.AlsoServer = len(resources) > 0 && audience.HasServer()
	for _, api := range resources {
		shown.Resources = append(shown.Resources, templates.API{Name: api.Name, URI: api.URI,
			New: again && !slices.Contains(before.ApprovedFor, api.URI)})
	}
	for _, rule := range claims.Unasked(a.Claims) {
		shown.Learns = append(shown.Learns, templates.Learned{Claim: rule.Name, Field: rule.Field})
	}
	return shown
}

// beyond describes the scopes that an application requests and cannot get.
func beyond(names []string, unknown int) templates.Beyond {
	return templates.Beyond{Scopes: strings.Join(names, ", "), Unknown: unknown}
}

// describe returns the description of a scope in a language.
func describe(l *languages.Language, scope policy.Scope) string {
	if scope.BuiltIn {
		return l.Text(scope.Description)
	}
	return scope.DescribedIn(l.Tag())
}

// asker describes an application, and what it says about itself, in a language if it says it in that one.
func (s *flows) asker(l *languages.Language, a storage.Application) templates.Asker {
	pages := clients.PagesOf(a, l.Tag())
	shown := templates.Asker{
		Application: clients.NameIn(a, l.Tag()),
		LogoURL:     s.logoAddress(a),
		HomeURL:     pages.Home,
		PolicyURL:   pages.Policy,
		TermsURL:    pages.Terms,
	}
	if a.Owner != nil {
		shown.Owner = *a.Owner
	}
	s.describeStranger(&shown, a)
	return shown
}

// describeStranger adds what a person must know about an application that came by itself. It
// chose its name, so the page never shows the name alone
// (CIMD-02 §8.5).
func (s *flows) describeStranger(shown *templates.Asker, a storage.Application) {
	shown.Unchecked = policy.CameByItself(a) && policy.StandingOf(a) == policy.StandingOpen
	shown.LocalOnly = shown.Unchecked && !slices.ContainsFunc(web.Lines(a.RedirectURIs), func(uri string) bool {
		_, local := destination(s.Pages.Languages.English(), uri)
		return !local
	})
	at, err := url.Parse(policy.DocumentOf(a))
	if err == nil && at.Host != "" {
		shown.DocumentHost, shown.DocumentURL = authority.Shown(at.String()), at.String()
		if shown.Application == at.Hostname() {
			shown.Application = "" // it has no name of its own
		}
	}
}

// destination describes the redirect URI in words that a person recognizes.
func destination(l *languages.Language, redirectURI string) (host string, local bool) {
	u, err := url.Parse(redirectURI)
	switch {
	case err != nil:
		return redirectURI, false
	case u.Scheme == "http" && loopback.InBrowser(u.Hostname()):
		return l.T("a program on this computer"), true
	case u.Scheme == "https" || u.Scheme == "http":
		return authority.Shown(redirectURI), false
	}
	return l.T("an app on this device (%s)", strings.TrimSuffix(u.Scheme, ":")), true
}

// consent handles the decision that the person made on the consent page.
func (s *flows) consent(w http.ResponseWriter, r *http.Request) error {
	err := s.ParseForm(r)
	if err != nil {
		return err
	}
	who, err := s.SignedIn(r)
	if err != nil {
		return err
	}
	if who == nil {
		return oauth.ForPerson(
			http.StatusBadRequest, "invalid_request", "",
			"Your session has ended. Go back to the application and begin again.",
		)
	}
	a, err := s.Provider.Authorizations.Resume(
		clientauth.From(r.Context(), s.Requests.Address(r)), r.PostForm.Get("ticket"), who,
	)
	if err != nil {
		return s.showClientError(w, r, "", err)
	}
	s.UseLocales(r, a.UILocales())
	request.Note(r.Context(), "client", a.Application.ClientID)
	var response redirect.Response
	switch {
	case a.Refused != nil:
		s.countRefusal(r, a, a.Refused)
		web.NoteError(r, a.Refused)
		response = s.Provider.Authorizations.Refusal(a, a.Refused)
	case r.PostForm.Get("decision") == "approve":
		// The approval is stored before the code, which may fail: another answer may have used the pushed request.
		request.RecordOf(r.Context()).Counts = true
		response, err = s.Provider.Authorizations.Approve(r.Context(), a, who)
	case r.PostForm.Get("decision") == "deny":
		err = s.Provider.Authorizations.Denied(r.Context(), a, who)
		response = s.Provider.Authorizations.Deny(a)
	default:
		return web.BadRequest("Choose to approve or to deny.")
	}
	if err != nil {
		return err
	}
	return s.answer(w, r, response)
}

// logoAddress is the path of the logo of an application, or "".
func (s *flows) logoAddress(a storage.Application) string {
	name := s.Provider.Clients.LogoName(a)
	if name == "" {
		return ""
	}
	return s.Path("/logo/") + name + "/"
}
