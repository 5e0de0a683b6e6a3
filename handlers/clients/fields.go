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
			if f.Kind == clients.Choices {
				form[f.Name] = strings.Fields(*column)
			}
		}
	}
	return form
}

// changes names the fields of a form that somebody has changed. A profile sets the others. The form has no algorithm
// without OpenID Connect, which is the usual one.
func changes(now, before clients.Registration) []string {
	now.Algorithm = cmp.Or(now.Algorithm, policy.DefaultAlgorithm)
	before.Algorithm = cmp.Or(before.Algorithm, policy.DefaultAlgorithm)
	var names []string
	for _, f := range clients.Fields() {
		value, was := f.Value(&now), f.Value(&before)
		same := reflect.DeepEqual(value, was)
		if list, is := value.(*[]string); is {
			same = oauth.SameSet(*list, *was.(*[]string))
		}
		if !same {
			names = append(names, f.Name)
		}
	}
	return names
}

// absent reports whether the page of an application has no such field that a person can fill in.
// privileges says that it has the fields of administrators.
func (s *server) absent(name string, privileges bool) bool {
	f, _ := clients.FieldOf(name)
	return f.Guarded && !privileges || f.OpenID && !s.Config.OpenID || name == "version"
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
