package conformance

import (
	"regexp"
	"slices"
	"strings"
)

// Forms names controls of the server's pages: a field by its name, a button or link by the text on it.
type Forms struct {
	Username string `yaml:"username,omitempty"`
	Password string `yaml:"password,omitempty"`
	Approve  string `yaml:"approve,omitempty"`
	Deny     string `yaml:"deny,omitempty"`
	Logout   string `yaml:"logout,omitempty"`
}

// password is the form's field for one, or nil. Two of them are a form in which one is changed or chosen.
func (f *form) password(h Forms) *field {
	return f.find(func(l field) bool { return l.kind == "password" || h.Password != "" && l.name == h.Password })
}

var nameWords = regexp.MustCompile(`user|login|e-?mail|account|identifier|name`)

// asksName says whether the field sounds like one for a user name.
func (l *field) asksName() bool { return nameWords.MatchString(l.hint) }

// username is the form's field for a user name: the one that sounds like it, or else the first for text.
func (f *form) username(h Forms) *field {
	if h.Username != "" {
		return f.find(func(l field) bool { return l.name == h.Username })
	}
	text := func(l field) bool { return l.kind == "text" || l.kind == "email" || l.kind == "tel" }
	if named := f.find(func(l field) bool { return text(l) && nameWords.MatchString(l.hint) }); named != nil {
		return named
	}
	return f.find(text)
}

// A button that does not allow has "allow" on it too, so these words are looked for first.
var (
	denyWords    = regexp.MustCompile(`\b(deny|denied|cancel|reject|decline|refuse|disallow|abort|no|not|don.?t|ablehnen|abbrechen)\b`)
	approveWords = regexp.MustCompile(`\b(allow|approve|authori[sz]e|accept|agree|grant|continue|confirm|consent|yes|ok|next|erlauben|zulassen|weiter)\b`)
)

// decision finds the button, or for a refusal the link, that says yes or no.
func (p *page) decision(approve bool, h Forms) (*form, *control) {
	is := func(c control) bool { return !denyWords.MatchString(c.text) && approveWords.MatchString(c.text) }
	hint := h.Approve
	if !approve {
		is, hint = func(c control) bool { return denyWords.MatchString(c.text) }, h.Deny
	}
	if hint != "" {
		is = func(c control) bool { return strings.Contains(c.text, strings.ToLower(hint)) }
	}
	for _, f := range p.forms {
		for i := range f.buttons {
			if is(f.buttons[i]) {
				return f, &f.buttons[i]
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

// formPost is the form by which a page sends the answer to a client (OIDC Form Post §2): nothing but hidden
// fields, among them a code or an error. Its method is the business of a rule.
func (p *page) formPost() *form {
	for _, f := range p.forms {
		visible := slices.ContainsFunc(f.fields, func(l field) bool { return l.kind != "hidden" })
		if !visible && (f.values.Has("code") || f.values.Has("error") || f.values.Has("id_token") || f.values.Has("response")) {
			return f
		}
	}
	return nil
}

var (
	leaveWords = regexp.MustCompile(`\b(log ?(me )?out|sign (me )?out|end session|yes|confirm|continue|abmelden|ja)\b`)
	stayWords  = regexp.MustCompile(`\b(stay|remain|keep|everywhere)\b`)
)

// logoutForm is the form that says yes to a logout, or one without anything to see, which a script would
// send. The last on the page counts: many a page has a button to log out in its head.
func (p *page) logoutForm(h Forms) *form {
	for _, f := range slices.Backward(p.forms) {
		for i := range f.buttons {
			text := f.buttons[i].text
			is := leaveWords.MatchString(text) && !denyWords.MatchString(text) && !stayWords.MatchString(text)
			if h.Logout != "" {
				is = strings.Contains(text, strings.ToLower(h.Logout))
			}
			if is {
				f.press(&f.buttons[i])
				return f
			}
		}
	}
	for _, f := range p.forms {
		hidden := !slices.ContainsFunc(f.fields, func(l field) bool { return l.kind != "hidden" })
		if p.scripted && len(f.buttons) == 0 && hidden {
			return f
		}
	}
	return nil
}
