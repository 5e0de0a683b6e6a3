package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mandate/provider/oauth"
	"mandate/storage"
	"mandate/templates"
)

// groups lists the groups. It is for administrators.
func (s *server) groups(w http.ResponseWriter, r *http.Request) error {
	who, err := s.administrator(r)
	if err != nil {
		return err
	}
	form, err := s.keptForm(w, r, who)
	if err != nil {
		return err
	}
	page, err := s.groupsPage(r)
	if err != nil {
		return err
	}
	page.NameField.Value = form.Get("name")
	s.sayKept(r, form != nil, &page.Frame)
	return s.render(w, r, http.StatusOK, page)
}

func (s *server) groupsPage(r *http.Request) (templates.Groups, error) {
	page := templates.Groups{Frame: s.frame(r, ""), Action: s.path("/admin/groups/")}
	groups, err := s.provider.People.Groups(r.Context())
	for _, g := range groups {
		page.Rows = append(page.Rows, templates.GroupRow{Name: g.Name, Members: g.Members, DeleteURL: s.groupPath(g.Name)})
	}
	return page, err
}

func (s *server) groupPath(name string) string {
	return s.path("/admin/groups/" + url.PathEscape(name) + "/delete/")
}

func (s *server) addGroup(w http.ResponseWriter, r *http.Request) error {
	_, err := s.administrator(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(r.PostForm.Get("name"))
	err = s.provider.People.AddGroup(r.Context(), name)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		noteInvalid(r, invalid)
		page, err := s.groupsPage(r)
		if err != nil {
			return err
		}
		page.NameField = templates.Field{Value: name, Error: invalid.At("name")}
		return s.render(w, r, invalidForm, page)
	}
	if err != nil {
		return err
	}
	s.setNotice(w, "group-added")
	seeOther(w, r, s.path("/admin/groups/"))
	return nil
}

// namedGroup finds the group of the path. It is for administrators.
func (s *server) namedGroup(r *http.Request) (storage.Group, error) {
	_, err := s.administrator(r)
	if err != nil {
		return storage.Group{}, err
	}
	name, err := variable(r, "name")
	if err != nil {
		return storage.Group{}, err
	}
	return s.provider.People.GroupNamed(r.Context(), name)
}

func (s *server) deleteGroupPage(w http.ResponseWriter, r *http.Request) error {
	g, err := s.namedGroup(r)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, templates.Confirm{Frame: s.frame(r, ""), Heading: "Delete the group “" + g.Name + "”?",
		Message: "Its members are not deleted.",
		Action:  s.groupPath(g.Name), Button: "Delete the group", CancelURL: s.path("/admin/groups/"), Danger: true})
}

func (s *server) deleteGroup(w http.ResponseWriter, r *http.Request) error {
	g, err := s.namedGroup(r)
	if err != nil {
		return err
	}
	err = s.provider.People.DeleteGroup(r.Context(), g.Name)
	if err != nil {
		return err
	}
	s.setNotice(w, "group-gone")
	seeOther(w, r, s.path("/admin/groups/"))
	return nil
}
