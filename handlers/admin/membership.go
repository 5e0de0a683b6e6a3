package admin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/storage"
	"mandate/templates"
)

// membershipPage has the form that makes a person a member of a group until a day.
func (s *accounts) membershipPage(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	page, err := s.membershipForm(r, u, form, nil)
	if err != nil {
		return err
	}
	s.SayKept(r, form != nil, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

func (s *accounts) membershipForm(r *http.Request, u storage.User, form url.Values, invalid *oauth.Invalid) (
	templates.Membership, error) {
	page := templates.Membership{Frame: s.Frame(r, ""), Username: u.Username, PersonURL: s.userPath(u.ID),
		Action: s.userPath(u.ID) + "membership/", GroupError: invalid.At("membership"),
		Until:  templates.Field{Value: form.Get("until"), Error: invalid.At("until")},
		Errors: web.FieldErrors(invalid)}
	groups, err := s.Provider.People.Groups(r.Context())
	for _, g := range groups {
		page.Groups = append(page.Groups, web.Checked(form["membership"], templates.Option{Value: g.Name})...)
	}
	return page, err
}

// addMembership makes a person a member of a group until a day.
func (s *accounts) addMembership(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
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
	invalid := &oauth.Invalid{}
	groups, err := s.Provider.People.Groups(r.Context())
	if err != nil {
		return err
	}
	group := r.PostForm.Get("membership")
	if !slices.ContainsFunc(groups, func(g storage.Group) bool { return g.Name == group }) {
		invalid.Add("membership", "Choose a group.")
	}
	until := dayIn(r.PostForm, "until", 0, invalid)
	if until == 0 && invalid.At("until") == "" {
		invalid.Add("until", "Choose the day on which the membership ends.")
	}
	err = invalid.Err()
	if err == nil {
		err = s.Provider.People.SetMembership(r.Context(), actor, u, group, until)
	}
	if wrong, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, wrong)
		page, err := s.membershipForm(r, u, r.PostForm, wrong)
		if err != nil {
			return err
		}
		return s.Render(w, r, web.InvalidForm, page)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "saved")
	web.SeeOther(w, r, s.userPath(u.ID))
	return nil
}

// temporary lists the memberships of a person that end by themselves.
func (s *accounts) temporary(r *http.Request, u storage.User) ([]templates.TemporaryMembership, error) {
	found, err := s.Provider.People.Temporary(r.Context(), "", u.ID)
	var rows []templates.TemporaryMembership
	for _, m := range found {
		rows = append(rows, templates.TemporaryMembership{Group: m.Group, Until: untilText(m.ExpiresAt)})
	}
	return rows, err
}

// untilText is the end of a membership: a day, or with its time if a command has chosen another one.
func untilText(at int64) string {
	end := time.Unix(at, 0).UTC()
	if end.Equal(end.Truncate(24 * time.Hour)) {
		return end.Format(time.DateOnly)
	}
	return end.Format("2006-01-02 15:04") + " UTC"
}
