package browser

import (
	"regexp"
	"slices"
	"strings"
)

// Hints name the controls of the server's pages: a field by its name, a button or link by its text.
type Hints struct {
	Username string `yaml:"username,omitempty"`
	Password string `yaml:"password,omitempty"`
	Approve  string `yaml:"approve,omitempty"`
	Deny     string `yaml:"deny,omitempty"`
	Logout   string `yaml:"logout,omitempty"`
	Remember string `yaml:"remember,omitempty"` // a box of the sign-in page
}

// Password returns the form's password field, or nil. Some pages show the password: then only the name tells.
func (f *Form) Password(h Hints) *Field {
	return f.find(func(l Field) bool {
		named := l.Kind == "text" && strings.EqualFold(l.Name, "password")
		return l.Kind == "password" || named || h.Password != "" && l.Name == h.Password
	})
}

// AsksPassword reports whether the page has a password field.
func (p *Page) AsksPassword(h Hints) bool {
	return slices.ContainsFunc(p.Forms, func(f *Form) bool { return f.Password(h) != nil })
}

var nameWords = regexp.MustCompile(`user|login|e-?mail|account|identifier|name`)

// AsksName reports whether the field seems to ask for a user name.
func (l *Field) AsksName() bool { return nameWords.MatchString(l.hint) }

// Username returns the field for the user name: the one whose name suggests it, otherwise the first text field.
func (f *Form) Username(h Hints) *Field {
	if h.Username != "" {
		return f.find(func(l Field) bool { return l.Name == h.Username })
	}
	text := func(l Field) bool { return l.Kind == "text" || l.Kind == "email" || l.Kind == "tel" }
	if named := f.find(func(l Field) bool { return text(l) && nameWords.MatchString(l.hint) }); named != nil {
		return named
	}
	return f.find(text)
}

// A button with the text "do not allow" also contains "allow", so the words for a refusal are compared first.
var (
	denyWords = regexp.MustCompile(
		`\b(deny|denied|cancel|reject|decline|refuse|disallow|abort|no|not|don.?t|ablehnen|abbrechen)\b`)
	approveWords = regexp.MustCompile(
		`\b(allow|approve|authori[sz]e|accept|agree|grant|continue|confirm|consent|yes|ok|next|erlauben|zulassen|weiter)\b`)
)

// Decision finds the button that approves or refuses. A refusal can also be a link.
func (p *Page) Decision(approve bool, h Hints) (*Form, *Control) {
	is := func(c Control) bool { return !denyWords.MatchString(c.text) && approveWords.MatchString(c.text) }
	hint := h.Approve
	if !approve {
		is, hint = func(c Control) bool { return denyWords.MatchString(c.text) }, h.Deny
	}
	if hint != "" {
		is = func(c Control) bool { return strings.Contains(c.text, strings.ToLower(hint)) }
	}
	for _, f := range p.Forms {
		for i := range f.Buttons {
			if is(f.Buttons[i]) && (approve || f.tells(i)) {
				return f, &f.Buttons[i]
			}
		}
	}
	if approve && hint == "" {
		return nil, nil
	}
	for i := range p.links {
		if is(p.links[i]) {
			return nil, &p.links[i]
		}
	}
	return nil, nil
}

// tells reports whether the server can tell a button from the others of its form. Where a script tells them apart,
// pressing the button that refuses without the script is an approval.
func (f *Form) tells(i int) bool {
	b := f.Buttons[i]
	return !slices.ContainsFunc(slices.Delete(slices.Clone(f.Buttons), i, i+1), func(c Control) bool {
		return c.name == b.name && c.value == b.value && c.Action == b.Action
	})
}

// FormPost returns the form that sends the response to a client (OIDC Form Post §2). It has hidden fields only, one
// of them a code or an error. A rule of its own checks its method.
func (p *Page) FormPost() *Form {
	for _, f := range p.Forms {
		visible := slices.ContainsFunc(f.Fields, func(l Field) bool { return l.Kind != "hidden" })
		if !visible && (f.Values.Has("code") || f.Values.Has("error") || f.Values.Has("id_token") ||
			f.Values.Has("response")) {
			return f
		}
	}
	return nil
}

var (
	leaveWords = regexp.MustCompile(`\b(log ?(me )?out|sign (me )?out|end session|yes|confirm|continue|abmelden|ja)\b`)
	stayWords  = regexp.MustCompile(`\b(stay|remain|keep|everywhere)\b`)
)

// LogoutForm returns the form that confirms a logout, or a form of hidden fields that a script would send. The last
// one on the page counts, since many pages have a logout button in their header.
func (p *Page) LogoutForm(h Hints) *Form {
	for _, f := range slices.Backward(p.Forms) {
		for i := range f.Buttons {
			text := f.Buttons[i].text
			is := leaveWords.MatchString(text) && !denyWords.MatchString(text) && !stayWords.MatchString(text)
			if h.Logout != "" {
				is = strings.Contains(text, strings.ToLower(h.Logout))
			}
			if is {
				f.Press(&f.Buttons[i])
				return f
			}
		}
	}
	for _, f := range p.Forms {
		hidden := !slices.ContainsFunc(f.Fields, func(l Field) bool { return l.Kind != "hidden" })
		if p.Scripted && len(f.Buttons) == 0 && hidden {
			return f
		}
	}
	return nil
}

var codeWords = regexp.MustCompile(`code|otp`)

// Code returns the field of a form for the user code of a device, or nil.
func (f *Form) Code() *Field {
	return f.find(func(l Field) bool { return l.Kind == "text" && codeWords.MatchString(l.hint) })
}

// AsksCode returns the form that asks for the user code of a device, and its first button.
func (p *Page) AsksCode() (*Form, *Control) {
	for _, f := range p.Forms {
		if f.Code() != nil {
			return f, f.First()
		}
	}
	return nil, nil
}
