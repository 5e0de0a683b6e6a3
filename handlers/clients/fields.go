package clients

import (
	"cmp"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// readFields reads the fields of the form, as it sends each kind of them.
func readFields(form url.Values) clients.Registration {
	var said clients.Registration
	for _, f := range clients.Fields() {
		switch value := f.Value(&said).(type) {
		case *bool:
			*value = form.Has(f.Name)
		case *int64:
			*value = web.Seconds(form.Get(f.Name))
		case *[]string:
			*value = web.Unique(form[f.Name])
			if f.Kind == clients.Lines {
				*value = web.Lines(form.Get(f.Name))
			}
		case *string:
			*value = form.Get(f.Name)
			if f.Kind != clients.Choice {
				*value = strings.TrimSpace(*value)
			}
		}
	}
	return said
}

// storedFields returns the form with the columns of an application.
func storedFields(a storage.Application) url.Values {
	form := url.Values{}
	for _, f := range clients.Fields() {
		switch column := f.Column(&a).(type) {
		case *bool:
			if *column {
				form.Set(f.Name, "on")
			}
		case *int64:
			if *column > 0 {
				form.Set(f.Name, strconv.FormatInt(*column, 10))
			}
		case *string:
			form.Set(f.Name, *column)
			switch {
			case f.Kind == clients.Choices:
				form[f.Name] = strings.Fields(*column)
			case f.Kind == clients.Switch && *column == "":
				form.Del(f.Name)
			case f.Kind == clients.Switch:
				form.Set(f.Name, "on")
			}
		}
	}
	return form
}

// keep copies the fields that the form does not have from the application as it is. An empty box sends nothing, so a
// box that was not sent is off, if the page has it. The provider refuses what only an administrator may set.
func (s *server) keep(said *clients.Registration, was storage.Application, form url.Values, privileges bool) {
	had := readFields(storedFields(was))
	for _, f := range clients.Fields() {
		box := f.Kind == clients.Switch || f.Kind == clients.Choices
		absent := s.absent(f.Name, privileges)
		if absent && f.OpenID || !form.Has(f.Name) && (absent || !box) {
			reflect.ValueOf(f.Value(said)).Elem().Set(reflect.ValueOf(f.Value(&had)).Elem())
		}
	}
}

// filled is a form with what somebody has filled in, and with what this person may choose.
type filled struct {
	form        url.Values
	invalid     *oauth.Invalid
	actor       storage.User
	application *storage.Application // nil: a new one
	may         policy.Allowance
	privileges  bool // the page has the fields of administrators
}

// fill puts the fields into their places on the page. What has no place of its own stands among the others.
func (s *server) fill(page *templates.ApplicationForm, of filled) {
	place := map[string]*templates.Control{
		"name": &page.Name, "client_type": &page.ClientType, "grant_type": &page.Grants,
		"redirect_uris": &page.RedirectURIs, "scope": &page.Scopes, "may_introspect": &page.MayIntrospect,
	}
	for _, f := range clients.Fields() {
		own, placed := place[f.Name]
		switch c := s.control(f, of); {
		case placed:
			*own = c
		case s.absent(f.Name, of.privileges), f.Name == "certificate_subject" && !s.acceptsCertificates(of):
		case f.Guarded, f.Access:
			page.Guarded = append(page.Guarded, c)
		default:
			page.Others = among(page.Others, f.Kind, c)
		}
	}
	page.Name.Complete, page.Name.Optional = "off", false
	page.RedirectURIs.Lines, page.RedirectURIs.Optional = 4, false
}

// among adds a field to the others. Two lifetimes in succession stand side by side.
func among(others []templates.Control, kind clients.Kind, c templates.Control) []templates.Control {
	last := len(others) - 1
	switch {
	case kind != clients.Seconds:
		return append(others, c)
	case last < 0 || len(others[last].Pair) != 1:
		return append(others, templates.Control{Kind: "pair", Label: "Lifetimes", Pair: []templates.Control{c}})
	}
	others[last].Pair = append(others[last].Pair, c)
	return others
}

// control returns a field with its value and its mistake, as its kind is drawn.
func (s *server) control(f clients.Field, of filled) templates.Control {
	c := templates.Control{ID: f.Name, Label: f.Label, Hint: f.Hint, Kind: "text"}
	c.Value, c.Error = of.form.Get(f.Name), of.invalid.At(f.Name)
	switch f.Kind {
	case clients.Choice:
		c.Kind, c.Options = "radio", s.choices(f.Name, []string{c.Value}, of)
	case clients.Choices:
		c.Kind, c.Options = "checkbox", s.choices(f.Name, of.form[f.Name], of)
	case clients.Switch:
		c.Kind, c.On = "toggle", of.form.Has(f.Name)
	case clients.Block:
		c.Lines, c.Exact, c.Optional = 4, true, true
	case clients.Lines:
		c.Lines, c.Exact, c.Optional = 2, true, true
	case clients.Line, clients.Seconds:
		c.Exact, c.Optional = true, true
	case clients.Text:
		c.Optional = true
	}
	switch own := s.Provider.Lifetimes(); f.Name {
	case "hash_client_secret", "pairwise":
		c.Kind = "box"
	case "response_modes":
		c.Optional = true
	case "jwks":
		if clients.HoldsPrivateKey(c.Value) {
			c.Value = ""
		}
	case "access_token_lifetime":
		c.Hint = "If empty: " + web.Span(own.Access)
	case "refresh_token_lifetime":
		c.Hint = "If empty: " + web.Span(own.Refresh)
	}
	return c
}

// acceptsCertificates reports whether the page has the field for the subject of a certificate.
func (s *server) acceptsCertificates(of filled) bool {
	return s.Provider.Clients.OffersSubject() || of.form.Get("certificate_subject") != "" ||
		of.invalid.At("certificate_subject") != ""
}

// changes names the fields of a form that somebody has changed. A profile sets the others. The form has no algorithm
// without OpenID Connect, which is the usual one.
func changes(now, before clients.Registration) []string {
	now.Algorithm = cmp.Or(now.Algorithm, policy.DefaultAlgorithm)
	before.Algorithm = cmp.Or(before.Algorithm, policy.DefaultAlgorithm)
	var names []string
	for _, f := range clients.Fields() {
		if !f.Same(&now, &before) {
			names = append(names, f.Name)
		}
	}
	return names
}

// absent reports whether the page of an application has no such field that a person can fill in.
// privileges says that it has the fields of administrators.
func (s *server) absent(name string, privileges bool) bool {
	f, _ := clients.FieldOf(name)
	return (f.Guarded || f.Access) && !privileges || f.OpenID && !s.Config.OpenID || name == "version"
}

// titled returns a line of the summary of mistakes. Without its field on the page it leads nowhere, so the text has the
// name of the field.
func titled(name, message string, shown bool) templates.FieldError {
	f, known := clients.FieldOf(name)
	switch {
	case shown:
		return templates.FieldError{ID: name, Name: f.Title(), Message: message}
	case known:
		return templates.FieldError{Message: f.Title() + ": " + message}
	}
	return templates.FieldError{Message: message}
}
