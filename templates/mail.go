package templates

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"reflect"
	"strings"
	texts "text/template"
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
	Username, At string
	Link         string // to the page for a forgotten password
}

// SignInMail is the message after a sign-in with a browser that is new for the person.
type SignInMail struct {
	Username, At string
	Browser      string // such as "Firefox on Linux"; empty: it is not known
	Address      string // of the network from which it came
	Link         string // to the account page
}

// FactorMail is the message after a way to sign in was added or removed.
type FactorMail struct {
	Username, At string
	Change       string // one of the keys of changes
	Link         string // to the account page
}

// InvitationMail is the message with the link of somebody who was invited.
type InvitationMail struct {
	Inviter string // a user name; empty: the operator
	Link    string
	Until   string // when the link ends
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

// changes are the subjects of FactorMail.
func changes() map[string]string {
	return map[string]string{
		"totp-added":      "An authenticator app was added to your account",
		"totp-removed":    "The authenticator app of your account was removed",
		"passkey-added":   "A passkey was added to your account",
		"passkey-removed": "A passkey of your account was removed",
		"account-added":   "An account of another server was added to your account",
		"account-removed": "An account of another server was removed from your account",
		"codes-made":      "New recovery codes were made for your account",
		"code-used":       "A recovery code of your account was used",
		"factors-reset":   "Your second factor was removed by an administrator",
	}
}

// What says what has changed.
func (m FactorMail) What() (string, error) {
	text, known := changes()[m.Change]
	if !known {
		return "", fmt.Errorf("the change %q has no text", m.Change)
	}
	return text, nil
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
	texts map[reflect.Type]*texts.Template
	pages map[reflect.Type]*template.Template
}

// NewMails parses every template.
func NewMails() (*Mails, error) {
	m := &Mails{map[reflect.Type]*texts.Template{}, map[reflect.Type]*template.Template{}}
	for name, of := range mails() {
		text, err := texts.New(name).ParseFS(mailFiles, "mail/"+name+".txt")
		if err != nil {
			return nil, fmt.Errorf("parse %s.txt: %w", name, err)
		}
		page, err := template.New(name).Funcs(template.FuncMap{"button": func(link, label string) button { return button{link, label} }}).ParseFS(mailFiles, "mail/layout.html", "mail/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("parse %s.html: %w", name, err)
		}
		m.texts[reflect.TypeOf(of)], m.pages[reflect.TypeOf(of)] = text, page
	}
	return m, nil
}

// Render writes one of the messages: its subject, and its content as text and as HTML.
func (m *Mails) Render(message any) (subject, text, html string, err error) {
	of := reflect.TypeOf(message)
	written, page := m.texts[of], m.pages[of]
	if written == nil || page == nil {
		return "", "", "", fmt.Errorf("render: no message for %T", message)
	}
	var s, t, h bytes.Buffer
	err = written.ExecuteTemplate(&s, "subject", message)
	if err == nil {
		err = written.ExecuteTemplate(&t, "body", message)
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
