package handlers

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"
	"time"

	"mandate/provider/clients"
	"mandate/provider/logout"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// account shows a person their own data, consents and sessions.
func (s *server) account(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	page, err := s.accountPage(r, who)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, page)
}

func (s *server) accountPage(r *http.Request, who *storage.SignedIn) (templates.Account, error) {
	u, l := who.User, s.language(r)
	page := templates.Account{
		Frame:        s.frame(r, ""),
		FullName:     u.FullName(),
		Email:        u.Email,
		PasswordHint: s.passwordHint(l),
	}
	if u.Password != "" {
		page.PasswordAction = s.path("/account/password/")
	}
	var err error
	page.Claims, err = s.claimFacts(l, u)
	if err != nil {
		return page, err
	}
	page.Methods, err = s.signInMethods(r, l, u)
	if err != nil {
		return page, err
	}
	may, err := s.provider.People.MayVerify(u)
	if err != nil {
		return page, err
	}
	if may {
		page.Unverified, page.VerifyAction = true, s.path("/account/address/")
	}
	authorized, err := s.provider.People.Authorized(r.Context(), u.ID)
	if err != nil {
		return page, err
	}
	for _, a := range authorized {
		app := templates.AuthorizedApp{
			Name:         clients.NameIn(a.Application, l.Tag()),
			Owner:        a.Owner,
			Document:     a.Document,
			Scopes:       strings.Join(a.Scopes, " "),
			Since:        l.Day(a.Since),
			RevokeAction: s.path("/account/applications/" + a.ApplicationID + "/revoke/"),
			Responsible:  responsibleText(l, a),
			Unchecked:    a.Standing == policy.StandingOpen,
			LastUsed:     lastUsedSentence(l, a),
		}
		audience, err := s.provider.Resources.Granted(r.Context(), strings.Join(a.Resources, "\n"))
		if err != nil {
			return page, err
		}
		for _, api := range audience.Named() {
			app.Resources = append(app.Resources, templates.API{Name: api.Name, URI: api.URI})
		}
		page.Authorized = append(page.Authorized, app)
	}
	page.Sessions, err = s.sessionList(r, l, who, u, "/account/sessions/")
	if err != nil {
		return page, err
	}
	page.Activity, err = s.activity(r, l, u.ID)
	if err != nil {
		return page, err
	}
	page.Passkeys, err = s.passkeyList(r, u)
	if err != nil {
		return page, err
	}
	page.Identities, err = s.identityList(r, u)
	return page, err
}

// passwordHint says how long a new password must be, and what makes a good one.
func (s *server) passwordHint(l *languages.Language) string {
	shortest, longest := s.provider.People.PasswordLengths()
	return l.T(
		"Use %d to %d characters. Several unrelated words are easier to remember and harder to guess than one word with special characters.",
		shortest, longest,
	)
}

// sessionList lists the sessions of a person, each with the path that ends it.
func (s *server) sessionList(
	r *http.Request,
	l *languages.Language,
	who *storage.SignedIn,
	u storage.User,
	path string,
) (templates.SessionList, error) {
	list := templates.SessionList{EndAllAction: s.path(path + "end/")}
	sessions, err := s.provider.People.Sessions(r.Context(), u.ID)
	for _, session := range sessions {
		row := templates.SessionRow{
			Device:   deviceName(l, session.UserAgent),
			Address:  session.Address,
			Since:    l.Moment(session.AuthTime),
			LastSeen: l.Moment(session.SeenAt),
		}
		if session.ID == who.Session.ID {
			// The person ends this session by logging out.
			row.Current = true
		} else {
			row.EndAction = s.path(path + session.ID + "/end/")
		}
		list.Rows = append(list.Rows, row)
	}
	return list, err
}

// toAccount redirects to the account page. It serves GET at paths that only take
// POST: a reload or a bookmark leads there.
func (s *server) toAccount(w http.ResponseWriter, r *http.Request) error {
	seeOther(w, r, s.path("/account/"))
	return nil
}

// changePassword changes the password. It ends all other sessions and, if the person
// wants, everything that was approved.
func (s *server) changePassword(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	// An unchecked box sends nothing, so the hidden field beside it says that the page had the box: whoever posts
	// neither field gets the secure default.
	keep := r.PostForm.Get("approvals") == "asked" && r.PostForm.Get("end_approvals") == ""
	in, err := s.provider.People.ChangePassword(r.Context(), who, people.Passwords{
		Current:       r.PostForm.Get("current_password"),
		Next:          r.PostForm.Get("new_password"),
		KeepApprovals: keep,
	})
	if err == nil {
		s.renew(w, in)
		s.setNotice(w, map[bool]string{true: "password", false: "password-approvals"}[keep])
		seeOther(w, r, s.path("/account/"))
		return nil
	}
	why, err := s.refused(w, r, err)
	if err != nil {
		return err
	}
	page, err := s.accountPage(r, who)
	if err != nil {
		return err
	}
	page.CurrentPassword.Error, page.NewPassword.Error = cmp.Or(
		why.limit, why.at("current_password"),
	), why.at("new_password")
	page.KeepApprovals = keep
	return s.render(w, r, why.status, page)
}

// endSession ends the session of the person in another browser.
func (s *server) endSession(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	id, err := variable(r, "id")
	if err != nil {
		return err
	}
	err = s.provider.People.EndSession(r.Context(), who.User.ID, id)
	if err != nil {
		return err
	}
	s.setNotice(w, "session")
	seeOther(w, r, s.path("/account/"))
	return nil
}

// endSessions ends all sessions of the person, including this one.
func (s *server) endSessions(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	_, err = s.provider.People.EndSessions(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	return s.loggedOut(w, r, &logout.Request{}, who)
}

// revokeApplication revokes what the person has approved for an application.
func (s *server) revokeApplication(w http.ResponseWriter, r *http.Request) error {
	who, err := s.person(r)
	if err != nil {
		return err
	}
	id, err := variable(r, "id")
	if err != nil {
		return err
	}
	err = s.provider.People.Revoke(r.Context(), who.User.ID, id)
	if err != nil {
		return err
	}
	s.setNotice(w, "revoked")
	seeOther(w, r, s.path("/account/"))
	return nil
}

// day writes a date on a page that is in English.
func day(at int64) string { return time.Unix(at, 0).UTC().Format("2 January 2006") }

// moment writes a time on a page that is in English.
func moment(at int64) string { return time.Unix(at, 0).UTC().Format("2 January 2006, 15:04 UTC") }

// device returns a short name for a browser, in words of this server alone. A User-Agent may be any text of a
// stranger, such as a message to the person or the administrator who reads the page.
func deviceName(l *languages.Language, agent string) string {
	return cmp.Or(BrowserName(l, agent), l.T("Unknown browser"))
}

// firstProduct matches the name of the first product and its version, if that is a number. No address of a page
// matches: the name has no dot, and the version no letter.
var firstProduct = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]{0,30})(/[0-9][0-9.]{0,14})?(?:[ /]|$)`)

// program returns what a device calls itself, or "". The page asks whether to approve the device, so a stranger must
// not be able to write a sentence there: only the first product is shown.
// RFC 9110 §10.1.5: the products of a User-Agent stand in the order of their significance.
func program(l *languages.Language, agent string) string {
	product := firstProduct.FindStringSubmatch(agent)
	switch {
	case product == nil:
		return ""
	case product[1] == "Mozilla": // the first product of each browser
		return BrowserName(l, agent)
	}
	return product[1] + product[2]
}

// BrowserName returns a short name for a browser, or "" if its User-Agent contains no known
// name. Every User-Agent contains Mozilla, and most contain the names of other browsers. So
// the order matters: the first mark that is found decides.
func BrowserName(l *languages.Language, agent string) string {
	browser := firstNamed(agent, "Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "FxiOS/", "Firefox",
		"SamsungBrowser/", "Samsung Internet", "Chrome/", "Chrome", "CriOS/", "Chrome", "Safari/", "Safari", "curl/", "curl")
	system := firstNamed(agent, "iPhone", "iPhone", "iPad", "iPad", "Android", "Android", "CrOS", "ChromeOS",
		"Windows", "Windows", "Mac OS X", "macOS", "Linux", "Linux")
	switch {
	case browser == "" && system == "":
		return ""
	case browser == "":
		return l.T("Browser on %s", system)
	case system == "":
		return browser
	}
	return l.T("%[1]s on %[2]s", browser, system)
}

// firstNamed returns the name of the first mark that the text contains. Its
// arguments are pairs of a mark and a name.
func firstNamed(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if strings.Contains(text, pairs[i]) {
			return pairs[i+1]
		}
	}
	return ""
}
