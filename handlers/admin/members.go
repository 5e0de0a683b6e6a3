package admin

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// The pages of people who administer groups.

const membersPath = "/members/"

// memberActs are what an administrator of a group does to a member. Each has a form.
var memberActs = []string{
	storage.ActRemove, storage.ActDisable, storage.ActEnable, storage.ActFactors, storage.ActLink,
}

func (s *server) groupMembersPath(group string) string {
	return s.Path(membersPath + url.PathEscape(group) + "/")
}

// myGroups lists the groups that a person administers.
func (s *server) myGroups(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Delegate(r)
	if err != nil {
		return err
	}
	names, err := s.Provider.People.Administered(r.Context(), who.User.ID)
	if err != nil {
		return err
	}
	page := templates.Members{Frame: s.Frame(r, "")}
	for _, name := range names {
		page.Groups = append(page.Groups, templates.Option{Label: name, Value: s.groupMembersPath(name)})
	}
	return s.Render(w, r, http.StatusOK, page)
}

// members lists the members of a group for a person who administers it.
func (s *server) members(w http.ResponseWriter, r *http.Request) error {
	return s.showMembers(w, r, http.StatusOK, templates.Field{})
}

func (s *server) showMembers(w http.ResponseWriter, r *http.Request, status int, recipient templates.Field) error {
	who, group, err := s.inGroup(r)
	if err != nil {
		return err
	}
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	found, total, err := s.Provider.People.Members(r.Context(), actor, group, web.PageSize, l.Offset())
	if err != nil {
		return err
	}
	pager, err := l.Pager(total)
	if err != nil {
		return err
	}
	page := templates.Members{Frame: s.Frame(r, group), Group: group, Pager: pager, Recipient: recipient}
	if form, err := s.KeptForm(w, r, who); err != nil {
		return err
	} else if form != nil {
		page.Recipient.Value = form.Get("recipient")
		s.SayKept(r, true, &page.Frame)
	}
	if s.Provider.Invitations.Offered() && s.Provider.People.SendsMail() {
		page.InviteAction = s.groupMembersPath(group) + "invite/"
	}
	temporary, err := s.Provider.People.Temporary(r.Context(), group, "")
	if err != nil {
		return err
	}
	until := map[string]string{}
	for _, m := range temporary {
		until[m.UserID] = untilText(m.ExpiresAt)
	}
	for _, u := range found {
		page.Rows = append(page.Rows, templates.MemberRow{Username: u.Username, Name: u.FullName(), Active: u.Active,
			URL: s.memberPath(group, u.ID), Until: until[u.ID]})
	}
	return s.Render(w, r, status, page)
}

// inGroup returns the session, and the group of the path.
func (s *server) inGroup(r *http.Request) (*storage.SignedIn, string, error) {
	who, err := s.Delegate(r)
	if err != nil {
		return nil, "", err
	}
	group, err := web.Variable(r, "name")
	return who, group, err
}

func (s *server) memberPath(group, id string) string {
	return s.groupMembersPath(group) + "people/" + url.PathEscape(id) + "/"
}

// inviteMember invites somebody to the group.
func (s *server) inviteMember(w http.ResponseWriter, r *http.Request) error {
	who, group, err := s.inGroup(r)
	if err == nil {
		err = s.ParseForm(r)
	}
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	recipient := strings.TrimSpace(r.PostForm.Get("recipient"))
	err = s.Provider.Invitations.InviteMember(r.Context(), actor, group, recipient, s.Language(r).Tag())
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		return s.showMembers(w, r, web.InvalidForm, templates.Field{
			Value: recipient,
			Error: web.Problem(s.Language(r), invalid, "recipient"),
		})
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "member-invited")
	web.SeeOther(w, r, s.groupMembersPath(group))
	return nil
}

// onMember returns who administers the group of the path, and the member whom the page is about.
func (s *server) onMember(r *http.Request) (
	who *storage.SignedIn, by policy.Actor, group, id string, err error) {
	who, group, err = s.inGroup(r)
	if err == nil {
		id, err = web.Variable(r, "id")
	}
	if err == nil {
		by, err = s.Acting(r, who)
	}
	return who, by, group, id, err
}

// member shows a member of a group, with what the administrator of the group may do.
func (s *server) member(w http.ResponseWriter, r *http.Request) error {
	_, actor, group, id, err := s.onMember(r)
	if err != nil {
		return err
	}
	m, err := s.Provider.People.Member(r.Context(), actor, group, id)
	if err != nil {
		return err
	}
	l, here := s.Language(r), s.memberPath(group, id)
	page := templates.Member{Frame: s.Frame(r, m.Username), Group: group, GroupURL: s.groupMembersPath(group),
		Row: templates.MemberRow{Username: m.Username, Name: m.FullName(), Active: m.Active}, Email: m.Email}
	for _, why := range []error{m.NotManaged, m.NotRemoved} {
		if e, ok := errors.AsType[*oauth.Error](why); ok {
			text, _ := web.Said(l, e)
			page.Reasons = oauth.Union(page.Reasons, []string{text})
		}
	}
	if m.NotManaged == nil {
		page.FactorsAction = here + storage.ActFactors + "/"
		if m.Active && m.Email != "" && s.Provider.People.SendsMail() {
			page.LinkAction = here + storage.ActLink + "/"
		}
		page.ActiveAction = here + storage.ActEnable + "/"
		if m.Active {
			page.ActiveAction = here + storage.ActDisable + "/"
		}
	}
	if m.NotRemoved == nil {
		page.RemoveAction = here + storage.ActRemove + "/"
	}
	return s.Render(w, r, http.StatusOK, page)
}

// toMember leads back to the page with the button, for a person who had to sign in again.
func (s *server) toMember(w http.ResponseWriter, r *http.Request) error {
	who, actor, group, id, err := s.onMember(r)
	if err == nil {
		_, err = s.Provider.People.Member(r.Context(), actor, group, id)
	}
	if err == nil {
		err = s.SayOnceMore(w, r, who)
	}
	if err != nil {
		return err
	}
	web.SeeOther(w, r, s.memberPath(group, id))
	return nil
}

// manage returns the handler of the form of an act.
func (s *server) manage(act string) web.Handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		_, actor, group, id, err := s.onMember(r)
		if err == nil {
			err = s.Provider.People.Manage(r.Context(), actor, group, id, act)
		}
		if err != nil {
			return err
		}
		s.SetNotice(w, "member-"+act)
		to := s.memberPath(group, id)
		if act == storage.ActRemove {
			to = s.groupMembersPath(group)
		}
		web.SeeOther(w, r, to)
		return nil
	}
}
