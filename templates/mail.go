package templates

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"reflect"
	"strings"
	texts "text/template"

	"mandate/templates/languages"
)

//go:embed mail/*.txt mail/*.html
var mailFiles embed.FS

// ResetMail is the message with the link that sets a new password.
type ResetMail struct {
	Username, Link string
	Minutes        int64 // for which the link works
}

// AddressMail is the message with the link that confirms an address.
type AddressMail struct {
	Username, Link string
	Hours          int64 // for which the link works
}

// PasswordChangedMail is the message after the password has changed.
type PasswordChangedMail struct {
	Username string
	At       int64
	Link     string // to the page for a forgotten password
}

// SignInMail is the message after a sign-in with a browser that is new for the person.
type SignInMail struct {
	Username string
	At       int64
	Browser  string // such as "Firefox on Linux"; empty: it is not known
	Address  string // of the network from which it came
	Link     string // to the account page
}

// FactorMail is the message after a way to sign in was added or removed.
type FactorMail struct {
	Username string
	At       int64
	Change   string // one of those that changeText knows
	Link     string // to the account page
}

// InvitationMail is the message with the link of somebody who was invited.
type InvitationMail struct {
	Inviter string // the name of a person; empty: the operator
	Link    string
	Until   int64 // when the link ends
}

// SignUpMail is the message with the link of somebody who asked for an account.
type SignUpMail struct {
	Link  string
	Hours int64 // for which the link works
}

// KnownMail is the message to somebody who asked for an account, and has one.
type KnownMail struct {
	Username string
	Link     string // to the login page
}

// changeText returns the subject of a FactorMail. It is empty if the change is unknown.
func changeText(l *languages.Language, change string) string {
	switch change {
	case "totp-added":
		return l.T("An authenticator app was added to your account")
	case "totp-removed":
		return l.T("The authenticator app of your account was removed")
	case "passkey-added":
		return l.T("A passkey was added to your account")
	case "passkey-removed":
		return l.T("A passkey of your account was removed")
	case "account-added":
		return l.T("An account of another server was added to your account")
	case "account-removed":
		return l.T("An account of another server was removed from your account")
	case "codes-made":
		return l.T("New recovery codes were made for your account")
	case "code-used":
		return l.T("A recovery code of your account was used")
	case "factors-reset":
		return l.T("Your second factor was removed by an administrator")
	}
	return ""
}

// ByAdministrator reports whether the change was not made by the person.
func (m FactorMail) ByAdministrator() bool { return m.Change == "factors-reset" }

// mails lists the messages, each with the name of its two files.
func mails() map[string]any {
	return map[string]any{"reset": ResetMail{}, "address": AddressMail{}, "password_changed": PasswordChangedMail{}, "sign_in": SignInMail{}, "factor": FactorMail{},
		"invitation": InvitationMail{}, "sign_up": SignUpMail{}, "known": KnownMail{}}
}

// Mails contains the parsed templates of all messages. A message loads nothing from a server, and
// its text and its HTML say the same.
type Mails struct {
	texts map[reflect.Type]map[*languages.Language]*texts.Template
	pages map[reflect.Type]map[*languages.Language]*template.Template

	brand *brand

	// Languages are those in which a message can be rendered.
	Languages *languages.Languages
}

// NewMails parses every template. It returns an error if the colour of the brand cannot be used.
func NewMails(b Brand) (*Mails, error) {
	known, err := languages.Load()
	if err != nil {
		return nil, err
	}
	checked, err := newBrand(b)
	if err != nil {
		return nil, err
	}
	m := &Mails{map[reflect.Type]map[*languages.Language]*texts.Template{}, map[reflect.Type]map[*languages.Language]*template.Template{}, checked, known}
	for name, of := range mails() {
		kind := reflect.TypeOf(of)
		m.texts[kind], m.pages[kind] = map[*languages.Language]*texts.Template{}, map[*languages.Language]*template.Template{}
		for _, l := range known.All() {
			m.texts[kind][l], err = texts.New(name).Funcs(m.funcs(l)).ParseFS(mailFiles, "mail/foot.txt", "mail/"+name+".txt")
			if err != nil {
				return nil, fmt.Errorf("parse %s.txt: %w", name, err)
			}
			m.pages[kind][l], err = template.New(name).Funcs(elements()).Funcs(m.funcs(l)).ParseFS(mailFiles, "mail/layout.html", "mail/"+name+".html")
			if err != nil {
				return nil, fmt.Errorf("parse %s.html: %w", name, err)
			}
		}
	}
	return m, nil
}

// funcs returns the functions of both forms of a message.
func (m *Mails) funcs(l *languages.Language) map[string]any {
	accent := "#1d5c4d"
	if m.brand.palette != nil {
		accent = m.brand.palette.light.accent.String()
	}
	funcs := words(l)
	maps.Copy(funcs, m.brand.funcs())
	maps.Copy(funcs, map[string]any{
		"accent": func() string { return accent },
		"away": func(address string) template.HTML {
			return template.HTML(`<a href="` + template.HTMLEscapeString(address) + `">` + template.HTMLEscapeString(address) + "</a>")
		},
		"button":   func(link, label string) button { return button{link, label} },
		"language": l.Tag,
		"moment":   l.Moment,
		"change": func(name string) (string, error) {
			text := changeText(l, name)
			if text == "" {
				return "", fmt.Errorf("the change %q has no text", name)
			}
			return text, nil
		},
	})
	return funcs
}

// Render writes one of the messages in a language: its subject, and its content as text and as HTML.
func (m *Mails) Render(in *languages.Language, message any) (subject, text, html string, err error) {
	of := reflect.TypeOf(message)
	written, page := m.texts[of][in], m.pages[of][in]
	if written == nil || page == nil {
		return "", "", "", fmt.Errorf("render: no message for %T", message)
	}
	var s, t, h bytes.Buffer
	err = written.ExecuteTemplate(&s, "subject", message)
	if err == nil {
		err = written.ExecuteTemplate(&t, "body", message)
	}
	if err == nil {
		err = written.ExecuteTemplate(&t, "foot", nil)
	}
	if err == nil {
		err = page.ExecuteTemplate(&h, "layout", struct {
			Subject string
			Message any
		}{s.String(), message})
	}
	if err != nil {
		return "", "", "", fmt.Errorf("render %T: %w", message, err)
	}
	return s.String(), strings.TrimLeft(t.String(), "\n"), h.String(), nil
}

// button is a link with the text on it.
type button struct{ Link, Label string }
