package templates

import (
	"cmp"
	"encoding/base64"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mandate/templates/languages"
)

// Control is one labelled input of a form. parts.html draws it. Templates build it in a pipe:
//
//	{{template "field" field "email" "Email address" .Email | kind "email" | complete "email"}}
type Control struct {
	Field
	ID, Label, Hint string // ID is the name of the form field too, unless Name is set
	Name            string
	Kind            string // type of the input
	Complete        string // autocomplete
	Also            string // id of another text that describes it
	Lines           int    // more than one: it is a textarea
	Options         []Option
	Pair            []Control // two inputs that belong together
	Exact           bool      // a name or an address: the browser adds no capitals and checks no spelling
	Numeric         bool      // digits only: a phone shows its number pad
	Optional, Focus bool
	On              bool // the state of a single checkbox
}

// DescribedBy lists the ids of the texts that a screen reader reads after the label.
func (c Control) DescribedBy() string {
	var ids []string
	if c.Also != "" {
		ids = append(ids, c.Also)
	}
	if c.Hint != "" {
		ids = append(ids, c.ID+"-hint")
	}
	if c.Error != "" {
		ids = append(ids, c.ID+"-error")
	}
	return strings.Join(ids, " ")
}

// Sent returns the name of the form field.
func (c Control) Sent() string { return cmp.Or(c.Name, c.ID) }

// problems is the error summary above a form.
type problems struct {
	Message string
	Errors  []FieldError
	Focus   bool // takes the focus when the page opens, so that it is read first
}

// copyable is a value with a button that copies it. The button needs JavaScript.
type copyable struct{ Label, Value string }

// found is a search form with the last search.
type found struct{ Label, Query string }

// controls returns the functions with which templates build forms. The control is the last argument,
// because a pipe passes it there.
func controls() template.FuncMap {
	return template.FuncMap{
		"field": func(id, label string, f Field) Control {
			return Control{ID: id, Label: label, Field: f, Kind: "text"}
		},
		"named_field": func(id, name, label string, f Field) Control {
			return Control{ID: id, Name: name, Label: label, Field: f, Kind: "text"}
		},
		"choices": func(kind, id, label string, options []Option, problem string) Control {
			return Control{ID: id, Label: label, Kind: kind, Options: options, Field: Field{Error: problem}}
		},
		"toggle": func(id, label string, on bool, errors []FieldError) Control {
			return Control{ID: id, Label: label, On: on, Field: Field{Error: about(errors, id)}}
		},
		"kind":     func(kind string, c Control) Control { c.Kind = kind; return c },
		"complete": func(token string, c Control) Control { c.Complete = token; return c },
		"hint":     func(text string, c Control) Control { c.Hint = text; return c },
		"also":     func(id string, c Control) Control { c.Also = id; return c },
		"lines":    func(n int, c Control) Control { c.Lines = n; return c },
		"focus":    func(on bool, c Control) Control { c.Focus = on; return c },
		"exact":    func(c Control) Control { c.Exact = true; return c },
		"numeric":  func(c Control) Control { c.Numeric = true; return c },
		"optional": func(c Control) Control { c.Optional = true; return c },

		"only":     func(problem string) Field { return Field{Error: problem} },
		"wrong":    func(id, message string) FieldError { return FieldError{ID: id, Message: message} },
		"problems": summarize,
		"listed":   func(errors []FieldError) problems { return summarize("", errors...) },
		"quiet":    func(p problems) problems { p.Focus = false; return p },
		"copyable": func(label, value string) copyable { return copyable{label, value} },
		"search":   func(label, query string) found { return found{label, query} },

		// An id must not contain white space, but the name of a group may.
		"ident": url.PathEscape,

		"picture": picture,
		"app":     appAddress,
		"onward":  onward,
	}
}

// svgPrefix begins the data: URL of a picture that this server has drawn.
const svgPrefix = "data:image/svg+xml;base64,"

// picture returns the address of a picture that this server has drawn, or "" for anything else. The
// template engine refuses every data: URL that it does not get from here.
func picture(address string) template.URL {
	raw, ok := strings.CutPrefix(address, svgPrefix)
	_, err := base64.StdEncoding.DecodeString(raw)
	if !ok || err != nil {
		return ""
	}
	return template.URL(svgPrefix + raw)
}

// appAddress returns an address that opens an authenticator app, or "" for anything else.
func appAddress(address string) template.URL {
	if !strings.HasPrefix(address, "otpauth://totp/") {
		return ""
	}
	return template.URL(address)
}

// scheme is that of an address which may open an application (RFC 3986 §3.1).
var scheme = regexp.MustCompile(`^([a-z][a-z0-9+.-]*):`)

// onward returns the address of an application, which may have a scheme of its own, or "" for one that
// runs a script or shows what it contains itself. The server has checked it when it was registered.
func onward(address string) template.URL {
	of := scheme.FindStringSubmatch(address)
	if of == nil || strings.Contains(of[1], "script") ||
		slices.Contains([]string{"about", "blob", "data", "file", "filesystem"}, of[1]) {
		return ""
	}
	return template.URL(address)
}

// about returns the error of one field.
func about(errors []FieldError, id string) string {
	for _, f := range errors {
		if f.ID == id {
			return f.Message
		}
	}
	return ""
}

// fieldName returns the name of a field for the error summary, so that "This field is required" says which
// field. It is the beginning of the field's label.
func fieldName(l *languages.Language, id string) string {
	switch id {
	case "username":
		return l.T("Username")
	case "email":
		return l.T("Email address")
	case "password":
		return l.T("Password")
	case "current_password":
		return l.T("Current password")
	case "new_password":
		return l.T("New password")
	case "name":
		return l.T("Name")
	case "first_name":
		return l.T("First name")
	case "last_name":
		return l.T("Last name")
	}
	// On pages for administrators.
	return map[string]string{
		"first_name":            "First name",
		"last_name":             "Last name",
		"group":                 "Groups",
		"name":                  "Name",
		"kind":                  "What",
		"person":                "Person",
		"by":                    "Done by",
		"address":               "Address",
		"since":                 "Since",
		"until":                 "Until",
		"grant_type":            "Grants",
		"scope":                 "Scopes",
		"access_token_lifetime": "Access token",
		"profile":               "Profile",
		"overlap":               "The old secret stops working",
		"administers":           "Administers these groups",
		"administrator":         "Administrator",
		"resources":             "Resources",
		"uses":                  "Number of applications",
		"expires":               "It expires",
		"language":              "Language of the message",
		"may":                   "What can be registered",
		"uri":                   "URI",
		"scopes":                "Scopes",
		"token_format":          "Token format",
		"algorithm":             "Algorithm",
		"introspectors":         "Introspectors",
		"jwt_typ":               "Type of JWTs",
		"sender_constrained":    "Only sender-constrained tokens",
	}[id]
}

// summarize returns the error summary, with only those fields that have an error.
func summarize(message string, fields ...FieldError) problems {
	p := problems{Message: message, Focus: true}
	for _, f := range fields {
		if f.Message != "" {
			p.Errors = append(p.Errors, f)
		}
	}
	return p
}
