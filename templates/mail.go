package templates

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"reflect"
	"strings"
	"sync"
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

// NewAddressMail is the message to the address that a person wants to have.
type NewAddressMail struct {
	Username string
	Taken    bool   // another account has the address, and the link leads to the login page
	Link     string // to the page that confirms the address
	Hours    int64  // for which the link works
}

// FormerAddressMail is the message to the address that a person has had.
type FormerAddressMail struct {
	Username string
	At       int64
	Link     string // gives the address back, or leads to the account page
	Days     int64  // for which the link gives it back; 0: it does not
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

// FactorMail is the message after a way to sign in was added or removed, or the name or the address of the account was
// changed.
type FactorMail struct {
	Username string
	At       int64
	Change   string // one of those that changeText knows
	Link     string // to the account page
	Server   string // of factor-refused: where somebody signed in; empty: they typed the password
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
	case "factor-refused":
		return l.T("A wrong second factor was entered for your account")
	case "factors-reset":
		return l.T("Your second factor was removed by an administrator")
	case "address-changed":
		return l.T("The email address of your account was changed")
	case "username-changed":
		return l.T("Your username was changed")
	}
	return ""
}

// ByAdministrator reports whether the change was not made by the person.
func (m FactorMail) ByAdministrator() bool { return m.Change == "factors-reset" }

// NewAddress reports whether the message goes to an address that the account had before.
func (m FactorMail) NewAddress() bool { return m.Change == "address-changed" }

// NewUsername reports whether Username is a new one.
func (m FactorMail) NewUsername() bool { return m.Change == "username-changed" }

// Refused reports whether nothing has changed: somebody did the first step, and not the second.
func (m FactorMail) Refused() bool { return m.Change == "factor-refused" }

// mails lists the messages, each with the name of its two files.
func mails() map[string]any {
	return map[string]any{"reset": ResetMail{}, "address": AddressMail{}, "password_changed": PasswordChangedMail{},
		"new_address": NewAddressMail{}, "former_address": FormerAddressMail{},
		"sign_in": SignInMail{}, "factor": FactorMail{},
		"invitation": InvitationMail{}, "sign_up": SignUpMail{}, "known": KnownMail{}}
}

// Mails renders the messages. A message loads nothing from a server, and its text and its HTML say the same.
type Mails struct {
	letters map[reflect.Type]map[*languages.Language]func() (letter, error) // parses one at its first use
	brand   *brand

	// Languages are those in which a message can be rendered.
	Languages *languages.Languages
}

// letter is a message in one language.
type letter struct {
	text *texts.Template
	page *template.Template
}

// NewMails prepares the messages. It returns an error if the colour of the brand cannot be used.
func NewMails(b Brand) (*Mails, error) {
	known, err := languages.Load()
	if err != nil {
		return nil, err
	}
	checked, err := newBrand(b)
	if err != nil {
		return nil, err
	}
	m := &Mails{map[reflect.Type]map[*languages.Language]func() (letter, error){}, checked, known}
	for name, of := range mails() {
		in := map[*languages.Language]func() (letter, error){}
		for _, l := range known.All() {
			in[l] = sync.OnceValues(func() (letter, error) { return m.parse(name, l) })
		}
		m.letters[reflect.TypeOf(of)] = in
	}
	return m, nil
}

func (m *Mails) parse(name string, l *languages.Language) (letter, error) {
	text, err := texts.New(name).Funcs(m.funcs(l)).ParseFS(mailFiles, "mail/foot.txt", "mail/"+name+".txt")
	if err != nil {
		return letter{}, err
	}
	page, err := template.New(name).Funcs(elements()).Funcs(m.funcs(l)).ParseFS(mailFiles, "mail/layout.html",
		"mail/"+name+".html")
	return letter{text, page}, err
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
			return template.HTML(`<a href="` + template.HTMLEscapeString(address) + `">` + template.HTMLEscapeString(address) +
				"</a>")
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
	parse := m.letters[reflect.TypeOf(message)][in]
	if parse == nil {
		return "", "", "", fmt.Errorf("render: no message for %T", message)
	}
	of, err := parse()
	if err != nil {
		return "", "", "", fmt.Errorf("parse %T: %w", message, err)
	}
	var s, t, h bytes.Buffer
	err = of.text.ExecuteTemplate(&s, "subject", message)
	if err == nil {
		err = of.text.ExecuteTemplate(&t, "body", message)
	}
	if err == nil {
		err = of.text.ExecuteTemplate(&t, "foot", nil)
	}
	if err == nil {
		err = of.page.ExecuteTemplate(&h, "layout", struct {
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
