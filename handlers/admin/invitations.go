package admin

import (
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/spreadsheet"
	"mandate/storage"
	"mandate/templates"
)

// The pages on which administrators invite people.

const invitationsPath = "/admin/invitations/"

func (s *accounts) invitationPath(id string) string {
	return s.Path(invitationsPath + url.PathEscape(id) + "/")
}

// invitations lists the invitations that nobody has used.
func (s *server) invitations(w http.ResponseWriter, r *http.Request) error {
	_, err := s.Administrator(r)
	if err != nil {
		return err
	}
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	found, total, err := s.Provider.Invitations.List(r.Context(), l.Search, web.PageSize, l.Offset())
	if err != nil {
		return err
	}
	pager, err := l.Pager(total)
	if err != nil {
		return err
	}
	page := templates.Invitations{
		Frame:   s.Frame(r, ""),
		Query:   l.Search,
		Pager:   pager,
		NewURL:  s.Path(invitationsPath + "new/"),
		ListURL: s.Path(invitationsPath + "list/"),
		BackURL: s.Path("/admin/users/"),
		Off:     !s.Provider.Invitations.Offered(),
	}
	for _, i := range found {
		page.Rows = append(page.Rows, s.invitationRow(i))
	}
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) invitationRow(i storage.Invitation) templates.InvitationRow {
	return templates.InvitationRow{
		Email:   i.Email,
		URL:     s.invitationPath(i.ID),
		Groups:  strings.ReplaceAll(i.Groups, "\n", ", "),
		Inviter: oauth.Deref(i.Inviter),
		Until:   web.Moment(i.ExpiresAt),
		ByHand:  !i.Mailed,
		Waiting: i.Waiting,
		Unsent:  i.Unsent,
		Expired: i.ExpiresAt <= time.Now().Unix(),
	}
}

// invitation finds the invitation of the path. It is for administrators.
func (s *server) invitation(r *http.Request) (*storage.SignedIn, storage.Invitation, error) {
	who, id, err := s.Administers(r)
	if err != nil {
		return nil, storage.Invitation{}, err
	}
	i, err := s.Provider.Invitations.One(r.Context(), id)
	return who, i, err
}

// invitationPage shows an invitation.
func (s *server) invitationPage(w http.ResponseWriter, r *http.Request) error {
	who, i, err := s.invitation(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	page := s.shownInvitation(r, i)
	s.SayKept(r, form != nil, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) shownInvitation(
	r *http.Request,
	i storage.Invitation,
	wrong ...templates.FieldError,
) templates.Invitation {
	here := s.invitationPath(i.ID)
	return templates.Invitation{Frame: s.Frame(r, ""), InvitationRow: s.invitationRow(i), Since: web.Moment(i.CreatedAt),
		Life: inWords(time.Duration(i.ExpiresAt-i.CreatedAt) * time.Second), Mails: s.Provider.People.SendsMail(),
		RenewAction: here + "renew/", WithdrawURL: here + "withdraw/", CancelURL: s.Path(invitationsPath), Errors: wrong}
}

// invitePage asks whom to invite.
func (s *server) invitePage(w http.ResponseWriter, r *http.Request) error {
	return s.showInvite(w, r, false)
}

// inviteListPage asks for a list of people to invite.
func (s *server) inviteListPage(w http.ResponseWriter, r *http.Request) error {
	return s.showInvite(w, r, true)
}

func (s *server) showInvite(w http.ResponseWriter, r *http.Request, several bool) error {
	who, err := s.Administrator(r)
	if err == nil && !s.Provider.Invitations.Offered() {
		err = oauth.ErrNotFound
	}
	if err == nil && several {
		err = s.Provider.People.Confirmed(r.Context(), who) // the file of this form could not be kept
	}
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form = s.newInvite(r)
	}
	page, err := s.inviteForm(r, form, several, nil)
	if err != nil {
		return err
	}
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

// newInvite returns the form for an invitation as it begins.
func (s *server) newInvite(r *http.Request) url.Values {
	return url.Values{
		"language": {s.Language(r).Tag()},
		"expires":  {strconv.FormatInt(oauth.Seconds(s.Provider.Invitations.Lifetime()), 10)},
	}
}

func (s *server) inviteForm(
	r *http.Request,
	form url.Values,
	several bool,
	invalid *oauth.Invalid,
) (templates.Invite, error) {
	page := templates.Invite{
		Frame:         s.Frame(r, ""),
		Several:       several,
		Action:        s.Path(invitationsPath + "new/"),
		Other:         s.Path(invitationsPath + "list/"),
		CancelURL:     s.Path(invitationsPath),
		Recipient:     templates.Field{Value: form.Get("recipient"), Error: invalid.At("recipient")},
		List:          templates.Field{Value: form.Get("list")},
		GroupError:    invalid.At("group"),
		ExpiresError:  invalid.At("expires"),
		Expires:       web.Checked(form["expires"], s.invitationLives()...),
		Languages:     web.Checked(form["language"], s.LanguageOptions()...),
		LanguageError: invalid.At("language"),
		Mails:         s.Provider.People.SendsMail(),
		ByHand:        form.Has("by_hand"),
		Most:          people.MostInvites,
		Errors:        web.FieldErrors(invalid),
	}
	if several {
		page.Action, page.Other = page.Other, page.Action
		if invalid.At("list") != "" {
			page.List.Error = "Nobody was invited. The mistakes are named at the top of the page."
		}
		page.Errors = nil
		for _, f := range web.FieldErrors(invalid) {
			for line := range strings.SplitSeq(f.Message, "\n") { // each line of the list has its own mistakes
				page.Errors = append(page.Errors, templates.FieldError{ID: f.ID, Message: line})
			}
		}
		return page, nil
	}
	groups, err := s.Provider.People.Groups(r.Context())
	for _, g := range groups {
		page.Groups = append(page.Groups, web.Checked(form["group"], templates.Option{Value: g.Name})...)
	}
	return page, err
}

// invitationLives returns the choices for how long an invitation works. The usual time is one of them.
func (s *server) invitationLives() []templates.Option {
	usual := s.Provider.Invitations.Lifetime()
	var options []templates.Option
	for _, life := range []time.Duration{24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour} {
		if usual > 0 && usual < life {
			options, usual = append(options, lifeOption(usual)), 0
		}
		if life == usual {
			usual = 0
		}
		options = append(options, lifeOption(life))
	}
	if usual > 0 {
		options = append(options, lifeOption(usual))
	}
	return options
}

func lifeOption(life time.Duration) templates.Option {
	return templates.Option{Value: strconv.FormatInt(oauth.Seconds(life), 10), Label: inWords(life)}
}

func inWords(life time.Duration) string { return cmp.Or(web.InUnits(life), web.Span(life)) }

// inviting reads how people are invited.
func (s *server) inviting(form url.Values) people.Inviting {
	return people.Inviting{
		Lifetime: time.Duration(web.Seconds(form.Get("expires"))) * time.Second,
		ByHand:   form.Has("by_hand"),
		Language: form.Get("language"),
	}
}

// invite invites one person.
func (s *server) invite(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err == nil {
		err = s.ParseForm(r, "group")
	}
	if err != nil {
		return err
	}
	one := people.Invite{Email: strings.TrimSpace(r.PostForm.Get("recipient")), Groups: web.Unique(r.PostForm["group"])}
	made, err := s.Provider.Invitations.Invite(
		r.Context(), policy.By(who.User), []people.Invite{one}, s.inviting(r.PostForm),
	)
	if err != nil {
		return s.correctInvite(w, r, false, err)
	}
	return s.invited(w, r, made, "invited")
}

// inviteList invites all people of a list. The list is in a field or in a file.
func (s *server) inviteList(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	var file string
	if err == nil {
		file, err = s.readUpload(r, "file")
	}
	if err != nil {
		return err
	}
	list, err := readInvites(r.PostForm.Get("list"), file)
	var made []people.Invited
	if err == nil {
		made, err = s.Provider.Invitations.Invite(r.Context(), policy.By(who.User), list, s.inviting(r.PostForm))
	}
	if err != nil {
		return s.correctInvite(w, r, true, err)
	}
	return s.invited(w, r, made, "invited-list")
}

// readInvites reads the list of people from the field or from the file.
func readInvites(field, file string) ([]people.Invite, error) {
	if strings.TrimSpace(field) == "" {
		field, file = file, ""
	}
	if strings.TrimSpace(file) != "" {
		return nil, &oauth.Invalid{Fields: []oauth.FieldError{{
			Field:   "list",
			Message: "There are people in the field and in the file. Empty the field to use the file, or send no file.",
		}}}
	}
	return people.ReadInvites(strings.NewReader(field))
}

// readUpload reads a form with a file, and returns the file. The whole form is not larger than any other.
func (s *server) readUpload(r *http.Request, name string) (string, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return "", &oauth.Error{
			Status:      http.StatusUnsupportedMediaType,
			Code:        "invalid_request",
			Description: "Send the form with Content-Type: multipart/form-data.",
		}
	}
	const inMemory = 32 << 20 // more than MAX_BODY_BYTES may be: nothing is written to a disk
	err = r.ParseMultipartForm(inMemory)
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return "", web.TooLarge(big)
	}
	if err != nil {
		return "", web.BadRequest("The form is not what its Content-Type says.")
	}
	files := r.MultipartForm.File[name]
	if len(files) == 0 {
		return "", web.CheckValues(r.PostForm, nil)
	}
	file, err := files[0].Open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	return string(text), web.CheckValues(r.PostForm, nil)
}

// correctInvite shows the form again, with what is wrong.
func (s *server) correctInvite(w http.ResponseWriter, r *http.Request, several bool, err error) error {
	why, err := s.Refused(w, r, err)
	if err != nil {
		return err
	}
	page, err := s.inviteForm(r, r.PostForm, several, why.Invalid)
	if err != nil {
		return err
	}
	if why.Limit != "" {
		page.Errors = []templates.FieldError{{Message: why.Limit}}
	}
	return s.Render(w, r, why.Status, page)
}

// invited shows the links that no message has. There may be too many of them for a cookie, so this page is
// the response to the form.
func (s *server) invited(w http.ResponseWriter, r *http.Request, made []people.Invited, notice string) error {
	page := templates.Invited{Frame: s.Frame(r, ""), BackURL: s.Path(invitationsPath)}
	for _, one := range made {
		if one.Link != "" {
			page.Rows = append(page.Rows, templates.InvitedRow{Email: one.Email, Link: one.Link})
		}
	}
	if len(page.Rows) > 0 {
		page.All = linksCSV(page.Rows)
		return s.Render(w, r, http.StatusOK, page)
	}
	s.SetNotice(w, notice)
	web.SeeOther(w, r, page.BackURL)
	return nil
}

// linksCSV writes the links of people as CSV, for a program that sends the messages.
func linksCSV(rows []templates.InvitedRow) string {
	var b strings.Builder
	out := csv.NewWriter(&b)
	_ = out.Write([]string{"email", "link"}) // the writer has no error: neither has the builder
	for _, one := range rows {
		_ = out.Write(spreadsheet.Cells(one.Email, one.Link))
	}
	out.Flush()
	return b.String()
}

// renewInvitation makes a new link.
func (s *server) renewInvitation(w http.ResponseWriter, r *http.Request) error {
	who, i, err := s.invitation(r)
	if err == nil {
		err = s.ParseForm(r)
	}
	if err != nil {
		return err
	}
	made, err := s.Provider.Invitations.Renew(r.Context(), policy.By(who.User), i.ID, r.PostForm.Get("how") == "hand")
	if err != nil {
		why, err := s.Refused(w, r, err)
		if err != nil {
			return err
		}
		return s.Render(
			w, r, why.Status,
			s.shownInvitation(r, i, templates.FieldError{Message: cmp.Or(why.Limit, why.Invalid.At("recipient"))}),
		)
	}
	return s.invited(w, r, []people.Invited{made}, "invited-again")
}

// withdrawInvitationPage asks before an invitation ends.
func (s *server) withdrawInvitationPage(w http.ResponseWriter, r *http.Request) error {
	_, i, err := s.invitation(r)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, templates.Confirm{
		Frame:     s.Frame(r, ""),
		Heading:   "Withdraw the invitation of " + i.Email + "?",
		Message:   "The link stops working at once.",
		Action:    s.invitationPath(i.ID) + "withdraw/",
		Button:    "Withdraw the invitation",
		CancelURL: s.invitationPath(i.ID),
		Danger:    true,
	})
}

// withdrawInvitation ends an invitation.
func (s *server) withdrawInvitation(w http.ResponseWriter, r *http.Request) error {
	who, i, err := s.invitation(r)
	if err == nil {
		err = s.Provider.Invitations.Withdraw(r.Context(), policy.By(who.User), i.ID)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "invitation-gone")
	web.SeeOther(w, r, s.Path(invitationsPath))
	return nil
}
