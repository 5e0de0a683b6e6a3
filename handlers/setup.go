package handlers

import (
	"errors"
	"net/http"
	"strings"

	"mandate/provider"
	"mandate/templates"
)

// setupPage shows the form that the first start's link leads to.
func (s *server) setupPage(w http.ResponseWriter, r *http.Request) error {
	link, err := variable(r, "link")
	if err != nil {
		return err
	}
	err = s.provider.People.CheckSetup(r.Context(), link)
	if errors.Is(err, provider.ErrNotFound) {
		return &provider.Error{Status: http.StatusNotFound, Code: "not_found", Description: "This link was already used, or is not valid. " +
			"Sign in instead; if there is no administrator, create one with: mandate user add NAME --admin --password-stdin"}
	}
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, templates.Setup{Frame: s.frame(r, ""), Action: r.URL.EscapedPath()})
}

// setup creates the first administrator.
func (s *server) setup(w http.ResponseWriter, r *http.Request) error {
	link, err := variable(r, "link")
	if err != nil {
		return err
	}
	err = s.parseForm(r)
	if err != nil {
		return err
	}
	person := provider.Person{Username: strings.TrimSpace(r.PostForm.Get("username")), Email: strings.TrimSpace(r.PostForm.Get("email")),
		Password: r.PostForm.Get("password")}
	err = s.provider.People.Setup(r.Context(), link, person)
	if invalid, ok := errors.AsType[*provider.Invalid](err); ok {
		noteInvalid(r, invalid)
		return s.render(w, r, invalidForm, templates.Setup{Frame: s.frame(r, ""), Action: r.URL.EscapedPath(),
			UsernameField: templates.Field{Value: person.Username, Error: invalid.At("username")},
			Email:         templates.Field{Value: person.Email, Error: invalid.At("email")},
			Password:      templates.Field{Error: invalid.At("password")}})
	}
	if err != nil {
		return err
	}
	s.setNotice(w, "set-up")
	redirect(w, r, s.path("/login/"))
	return nil
}
