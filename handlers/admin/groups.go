package admin

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/storage"
	"mandate/templates"
)

// groups lists the groups. It is for administrators.
func (s *server) groups(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	page, err := s.groupsPage(r)
	if err != nil {
		return err
	}
	page.NameField.Value = form.Get("name")
	s.SayKept(r, form != nil, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) groupsPage(r *http.Request) (templates.Groups, error) {
	page := templates.Groups{Frame: s.Frame(r, ""), Action: s.Path("/admin/groups/")}
	groups, err := s.Provider.People.Groups(r.Context())
	for _, g := range groups {
		page.Rows = append(page.Rows, templates.GroupRow{Name: g.Name, Members: g.Members, DeleteURL: s.groupPath(g.Name)})
	}
	return page, err
}

func (s *server) groupPath(name string) string {
	return s.Path("/admin/groups/" + url.PathEscape(name) + "/delete/")
}

func (s *server) addGroup(w http.ResponseWriter, r *http.Request) error {
	_, err := s.Administrator(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(r.PostForm.Get("name"))
	err = s.Provider.People.AddGroup(r.Context(), name)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		page, err := s.groupsPage(r)
		if err != nil {
			return err
		}
		page.NameField = templates.Field{Value: name, Error: invalid.At("name")}
		return s.Render(w, r, web.InvalidForm, page)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "group-added")
	web.SeeOther(w, r, s.Path("/admin/groups/"))
	return nil
}

// namedGroup finds the group of the path. It is for administrators.
func (s *server) namedGroup(r *http.Request) (storage.Group, error) {
	_, err := s.Administrator(r)
	if err != nil {
		return storage.Group{}, err
	}
	name, err := web.Variable(r, "name")
	if err != nil {
		return storage.Group{}, err
	}
	return s.Provider.People.GroupNamed(r.Context(), name)
}

func (s *server) deleteGroupPage(w http.ResponseWriter, r *http.Request) error {
	g, err := s.namedGroup(r)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK,
		templates.Confirm{Frame: s.Frame(r, ""), Heading: "Delete the group “" + g.Name + "”?",
			Message: "Its members are not deleted.",
			Action:  s.groupPath(g.Name), Button: "Delete the group", CancelURL: s.Path("/admin/groups/"), Danger: true})
}

func (s *server) deleteGroup(w http.ResponseWriter, r *http.Request) error {
	g, err := s.namedGroup(r)
	if err != nil {
		return err
	}
	err = s.Provider.People.DeleteGroup(r.Context(), g.Name)
	if used, ok := errors.AsType[*oauth.Invalid](err); ok {
		return web.BadRequest(used.At("name"))
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "group-gone")
	web.SeeOther(w, r, s.Path("/admin/groups/"))
	return nil
}
