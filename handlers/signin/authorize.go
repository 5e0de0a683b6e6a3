package signin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/authorize"
	"mandate/provider/errorcode"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
	"mandate/templates"
)

// maxQuery limits the length of an authorization request as a query. The longest
// state fits even if each of its bytes is percent-encoded. The login page gets the
// whole query in next, encoded a second time; that still fits into the server's
// limit for headers.
const maxQuery = 16 << 10

// authorize is the authorization endpoint (RFC 6749 §3.1, OIDC Core §3.1.2.1).
func (s *flows) authorize(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost {
		return s.authorizeByPost(w, r)
	}
	if len(r.URL.RawQuery) > maxQuery {
		return tooLong(http.StatusRequestURITooLong)
	}
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return web.BadRequest("The query of this address is not form-encoded: check its percent-encoding.")
	}
	s.UseLocales(r, parameters.Get("ui_locales"))
	ctx := authorize.FromBrowser(r.Context(), s.Requests.Address(r), s.Cookie(r, web.BrowserCookie))
	a, err := s.Provider.Authorizations.Authorize(ctx, parameters)
	if err != nil {
		s.countRefusal(r, nil, err)
		return s.showClientError(w, r, parameters.Get("client_id"), err)
	}
	s.UseLocales(r, a.UILocales())
	request.Note(r.Context(), "client", a.Application.ClientID)
	request.Note(r.Context(), web.LeftOut, a.LeftOut.String())
	who, err := s.SignedIn(r)
	if err != nil {
		return err
	}
	if who != nil {
		err = s.proceed(w, r, a, who)
		if err != nil {
			s.countRefusal(r, a, err)
			return err
		}
		s.Provider.Clients.CountLeftOut(s.sentBy(r, a), a.LeftOut)
		return nil
	}
	// RFC 9700 §4.11.2: the person signs in before the server redirects to the
	// client, even with an error. Otherwise anybody could use this server to forward
	// a browser. A silent request (prompt=none) is the exception.
	if !a.Silent() {
		return s.loginFor(w, r, a, "")
	}
	refused := a.Refused
	if refused == nil {
		refused = authorize.LoginRequired()
	}
	response, err := s.Provider.Authorizations.RefusalToNobody(ctx, a, refused)
	if err != nil {
		return err
	}
	s.countRefusal(r, a, refused)
	return s.sendRefusal(w, r, a, refused, response)
}

// sentBy says who has sent an authorization request. a is nil if its application or its redirect URI is not valid.
// Whoever has an account can send such a request in the name of any application.
func (s *flows) sentBy(r *http.Request, a *authorize.Authorization) events.Refused {
	of := events.Refused{Endpoint: "authorize", Address: s.Requests.Address(r)}
	if by := origin.Of(r.Context()); by.Kind == origin.Person {
		of.PersonID = by.ID
	}
	if a != nil {
		of.Application = &a.Application
	}
	return of
}

// countRefusal counts that an authorization request was refused, for the page of its application.
func (s *flows) countRefusal(r *http.Request, a *authorize.Authorization, err error) {
	s.Provider.Clients.CountRefusal(s.sentBy(r, a), err)
	if e, ok := errors.AsType[*oauth.Error](err); ok && e.Application != nil {
		request.Note(r.Context(), "client", e.Application.ClientID)
	}
}

// refuse sends an error to the client. Nobody answers for the redirect URI of an application for
// which nobody is responsible. A link to this server could otherwise take anybody to any website, or
// give any program on the device a command in the name of this server, so the person decides. That holds
// for prompt=none too: such an application is never answered without the person, so it has no use of
// the parameter.
//
// RFC 9700 §4.11.2: the server redirects by itself only to a redirect URI that it trusts.
func (s *flows) refuse(w http.ResponseWriter, r *http.Request, a *authorize.Authorization, e *oauth.Error) error {
	s.countRefusal(r, a, e)
	return s.sendRefusal(w, r, a, e, s.Provider.Authorizations.Refusal(a, e))
}

func (s *flows) sendRefusal(w http.ResponseWriter, r *http.Request, a *authorize.Authorization, e *oauth.Error,
	response redirect.Response) error {
	web.NoteError(r, e)
	request.Outcome(r.Context(), e.Code)
	if response.Failed != nil || policy.StandingOf(a.Application) != policy.StandingOpen {
		return s.answer(w, r, response)
	}
	l := s.Language(r)
	unchecked := s.target(r, a.RedirectURI)
	if response.FormPost {
		page := s.formPost(r, response)
		page.Unchecked, page.Description = unchecked, e.Description
		return s.Render(w, r, web.StatusOf(e), page)
	}
	onward := ""
	if len(response.Parameters) > 0 {
		onward = response.Location()
	}
	return s.Render(w, r, web.StatusOf(e), templates.ErrorPage{
		Frame:       s.Frame(r, ""),
		Status:      web.StatusOf(e),
		Code:        e.Code,
		Description: e.Description,
		Heading:     l.T("The application’s request was refused"),
		Message:     l.T("The request ended with an error, so nothing was allowed. You can close this page."),
		Unchecked:   unchecked,
		RequestID:   request.ID(r),
		BackURL:     onward,
		Tell:        true,
	})
}

// target describes an address to which a browser goes if the person wants it.
func (s *flows) target(r *http.Request, uri string) *templates.Target {
	host, _ := destination(s.Language(r), uri)
	return &templates.Target{Host: host, URI: uri}
}

// loginFor redirects to the login page, which leads back to exactly this request.
// The reason is empty if the person has no session.
func (s *flows) loginFor(
	w http.ResponseWriter,
	r *http.Request,
	a *authorize.Authorization,
	why authorize.Reason,
) error {
	return s.ToLogin(w, r, s.again(w, r, a), a.LoginHint(), why)
}

// again returns the address that leads back to exactly this request. The person may take longer
// than a request URI or a request object is valid, in this browser alone: nobody can send the
// address to another person.
func (s *flows) again(w http.ResponseWriter, r *http.Request, a *authorize.Authorization) string {
	browser := s.Cookie(r, web.BrowserCookie)
	if browser == "" {
		browser = authorize.NewBrowserName()
	}
	query := s.Provider.Authorizations.Again(a, browser)
	if query == nil {
		return r.URL.Path + "?" + r.URL.RawQuery
	}
	s.SetCookie(w, web.BrowserCookie, browser, authorize.TicketLife*time.Second)
	return r.URL.Path + "?" + query.Encode()
}

// sameAgain is again for a request that may have a login proof. The proof is for one address, so an
// address that leads back already stays as it is.
func (s *flows) sameAgain(w http.ResponseWriter, r *http.Request, a *authorize.Authorization) string {
	if a.Reopened() {
		return r.URL.Path + "?" + r.URL.RawQuery
	}
	return s.again(w, r, a)
}

// keepLoginProof sets the cookie loginProof if the person has signed in for an
// authorization request.
func (s *flows) keepLoginProof(w http.ResponseWriter, in *people.SignIn, next string) {
	request := s.AuthorizationRequest(next)
	if request != nil {
		s.SetCookie(w, loginProof, s.Provider.Authorizations.LoginProof(in, request), authorize.LoginProofLife)
	}
}

// loginProof is the cookie that shows for which request the person has just signed in.
const loginProof = "login"

// dropLoginProof deletes the cookie loginProof, which the request has used. If the same request
// arrives again, the person must sign in again. The cookie stays a little longer if the person is on
// the way to show another factor, and returns to the same request.
func (s *flows) dropLoginProof(w http.ResponseWriter, kept string, asked *authorize.Interaction) {
	switch {
	case kept == "":
	case asked != nil && asked.ACR != "":
		s.SetCookie(w, loginProof, kept, people.SignInLife)
	default:
		s.SetCookie(w, loginProof, "", 0)
	}
}

// authorizeByPost redirects a request that a page of another site has posted. A
// browser sends the session's cookie with the GET, but not with such a POST.
func (s *flows) authorizeByPost(w http.ResponseWriter, r *http.Request) error {
	// The client is told about errors in the parameters after the redirect, as with
	// GET.
	err := s.ReadForm(r)
	if err != nil {
		return err
	}
	if r.URL.RawQuery != "" {
		return web.BadRequest("Send the parameters either in the query or in the body.")
	}
	asQuery := r.PostForm.Encode()
	if len(asQuery) > maxQuery {
		return tooLong(http.StatusRequestEntityTooLarge)
	}
	web.SeeOther(w, r, s.Path("/o/authorize/")+"?"+asQuery)
	return nil
}

func tooLong(status int) error {
	return &oauth.Error{
		Status: status,
		Code:   "invalid_request",
		Description: fmt.Sprintf(
			"The authorization request is longer than %d bytes as a query. Shorten it: state may have at most %d bytes.",
			maxQuery, oauth.MaxState,
		),
	}
}

// showClientError shows an error in the client or its redirect URI as a page. The server
// never redirects to a redirect URI that is not proven.
func (s *flows) showClientError(w http.ResponseWriter, r *http.Request, sent string, err error) error {
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok || e.Mismatch == nil && !unknownClient(e) {
		return err
	}
	l := s.Language(r)
	page := templates.ErrorPage{Frame: s.Frame(r, ""), Status: web.StatusOf(e), Code: e.Code, RequestID: request.ID(r)}
	page.Tell, page.Application = s.MustTell(r, e)
	if e.Mismatch == nil {
		page.Heading, page.SentID, page.Description = web.Heading(l, page.Status), shownID(sent), e.Description
		page.Message = l.T("The program that sent you here uses a client ID that this server does not know.")
	} else {
		page.Frame.Title, page.Heading = l.T("Redirect URI not registered"),
			l.T("The application’s redirect URI is not registered")
		page.Message = l.T("The application requested a response to a redirect URI that it has not registered, so no " +
			"response was sent. If you are its developer: the redirect URI in the request must equal a registered one, " +
			"character by character.")
		page.Diff, err = s.difference(r, "redirect URI", e.Mismatch)
		if err != nil {
			return err
		}
	}
	web.NoteError(r, e)
	request.Outcome(r.Context(), e.Code)
	return s.Render(w, r, page.Status, page)
}

func unknownClient(e *oauth.Error) bool {
	code, _ := errorcode.Find(e.Code)
	one, _ := code.Case(e.Description)
	return e.Code == "invalid_client" && one.ID == "unknown"
}

// shownID returns the beginning of a client ID that a stranger may have written. Everything that could make a
// sentence or a name of it, or could change the direction of the text, is percent-encoded.
func shownID(sent string) string {
	const most = 64 // as long as the longest ID that this server generates, and more
	var shown strings.Builder
	for i := range min(len(sent), most) {
		if c := sent[i]; c < 0x80 &&
			(unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) || strings.ContainsRune("-._~:/", rune(c))) {
			shown.WriteByte(c)
		} else {
			fmt.Fprintf(&shown, "%%%02X", c)
		}
	}
	if len(sent) > most {
		shown.WriteString("…")
	}
	return shown.String()
}

// difference shows in which part the redirect URI differs from a registered one.
// Only the owner of the application and administrators see the characters and the
// registered URI: it may contain a host name that is not public. That of a metadata
// document is public.
func (s *flows) difference(r *http.Request, of string, m *redirect.Mismatch) (*templates.URIDiff, error) {
	who, err := s.Entitled(r)
	administers := err == nil && who.User.Administrator
	if err != nil && !errors.Is(err, web.ErrSignIn) && !errors.Is(err, web.ErrStep) {
		return nil, err
	}
	d := &templates.URIDiff{Of: of, Part: m.Part, Sent: []templates.Segment{{Text: m.Sent}}}
	if m.Nearest == "" {
		d.Part = "nothing is registered"
		return d, nil
	}
	if m.Public || administers || who != nil && m.OwnerID != "" && who.User.ID == m.OwnerID {
		d.Sent = segments(m.Sent, m.From, m.SentTo)
		d.Nearest = segments(m.Nearest, m.From, m.NearestTo)
	}
	return d, nil
}

func segments(uri string, from, to int) []templates.Segment {
	var parts []templates.Segment
	for _, part := range []templates.Segment{{Text: uri[:from]}, {Text: uri[from:to], Differs: true}, {Text: uri[to:]}} {
		if part.Text != "" || part.Differs { // a missing part is shown as a gap
			parts = append(parts, part)
		}
	}
	return parts
}

// proceed does the next step for a person who has a session: it redirects with an
// error, shows the login page, the page of the second factor or the consent page, or issues the code.
func (s *flows) proceed(
	w http.ResponseWriter,
	r *http.Request,
	a *authorize.Authorization,
	who *storage.SignedIn,
) error {
	if a.Refused != nil {
		return s.refuse(w, r, a, a.Refused)
	}
	kept := s.Cookie(r, loginProof)
	a.SetLoginProof(kept)
	asked, err := s.Provider.Authorizations.RequiredInteraction(r.Context(), a, who)
	s.dropLoginProof(w, kept, asked)
	if e, refused := oauth.Refused(err); refused && a.Silent() {
		return s.refuse(w, r, a, e)
	}
	switch {
	case err != nil:
		return err
	case asked != nil && asked.Login:
		return s.loginFor(w, r, a, asked.Reason)
	case asked != nil && asked.Excluded != nil:
		return s.excludedPage(w, r, a, asked.Excluded)
	case asked != nil && asked.ACR != "":
		return s.ToStepUp(w, r, s.sameAgain(w, r, a), asked.ACR)
	case asked != nil:
		return s.consentPage(w, r, a, asked)
	}
	// RFC 9110 §9.3.2: HEAD gets the status that GET would get, and changes nothing.
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	response, err := s.Provider.Authorizations.Complete(r.Context(), a, who)
	if err != nil {
		return err
	}
	return s.answer(w, r, response)
}

// answer sends an authorization response to the client, through the browser.
func (s *flows) answer(w http.ResponseWriter, r *http.Request, response redirect.Response) error {
	if response.Failed != nil {
		return response.Failed
	}
	if !response.FormPost {
		web.SeeOther(w, r, response.Location())
		return nil
	}
	return s.Render(w, r, http.StatusOK, s.formPost(r, response))
}

func (s *flows) formPost(r *http.Request, response redirect.Response) templates.FormPost {
	page := templates.FormPost{Frame: s.Frame(r, ""), Action: response.RedirectURI}
	for _, p := range response.Parameters {
		page.Parameters = append(page.Parameters, templates.Hidden{Name: p.Name, Value: p.Value})
	}
	return page
}
