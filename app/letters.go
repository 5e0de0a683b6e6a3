package app

import (
	"cmp"
	"fmt"

	"mandate/handlers/web"
	"mandate/provider/mail"
	"mandate/provider/notices"
	"mandate/templates"
	"mandate/templates/languages"
)

// newLetters returns what writes the mail of the provider: the templates.
func newLetters(b templates.Brand) (notices.Letters, error) {
	mails, err := templates.NewMails(b)
	if err != nil {
		return nil, err
	}
	return func(preferred string, message any) (mail.Letter, error) {
		l := cmp.Or(mails.Languages.Listed(preferred), mails.Languages.English())
		page, err := mailPage(l, message)
		if err != nil {
			return mail.Letter{}, err
		}
		subject, text, html, err := mails.Render(l, page)
		return mail.Letter{Subject: subject, Text: text, HTML: html}, err
	}, nil
}

// mailPage returns the struct of the templates for a message of the provider.
func mailPage(l *languages.Language, message any) (any, error) {
	switch m := message.(type) {
	case notices.Reset:
		return templates.ResetMail(m), nil
	case notices.Address:
		return templates.AddressMail(m), nil
	case notices.NewAddress:
		return templates.NewAddressMail(m), nil
	case notices.FormerAddress:
		return templates.FormerAddressMail(m), nil
	case notices.PasswordChanged:
		return templates.PasswordChangedMail(m), nil
	case notices.SignIn:
		return templates.SignInMail{
			Username: m.Username,
			At:       m.At,
			Browser:  web.BrowserName(l, m.UserAgent),
			Address:  m.Address,
			Link:     m.Link,
		}, nil
	case notices.Factor:
		return templates.FactorMail{
			Username: m.Username,
			At:       m.At,
			Change:   string(m.Change),
			Link:     m.Link,
			Server:   m.Server,
		}, nil
	case notices.Invitation:
		return templates.InvitationMail(m), nil
	case notices.SignUp:
		return templates.SignUpMail(m), nil
	case notices.Known:
		return templates.KnownMail(m), nil
	}
	return nil, fmt.Errorf("there is no template for %T", message)
}
