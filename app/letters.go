package app

import (
	"cmp"
	"fmt"

	"mandate/handlers"
	"mandate/provider"
	"mandate/templates"
	"mandate/templates/languages"
)

// newLetters returns what writes the mail of the provider: the templates.
func newLetters(b templates.Brand) (provider.Letters, error) {
	mails, err := templates.NewMails(b)
	if err != nil {
		return nil, err
	}
	return func(preferred string, message any) (provider.Letter, error) {
		l := cmp.Or(mails.Languages.Listed(preferred), mails.Languages.English())
		page, err := mailPage(l, message)
		if err != nil {
			return provider.Letter{}, err
		}
		subject, text, html, err := mails.Render(l, page)
		return provider.Letter{Subject: subject, Text: text, HTML: html}, err
	}, nil
}

// mailPage returns the struct of the templates for a message of the provider.
func mailPage(l *languages.Language, message any) (any, error) {
	switch m := message.(type) {
	case provider.ResetMail:
		return templates.ResetMail(m), nil
	case provider.AddressMail:
		return templates.AddressMail(m), nil
	case provider.PasswordChangedMail:
		return templates.PasswordChangedMail(m), nil
	case provider.SignInMail:
		return templates.SignInMail{Username: m.Username, At: m.At, Browser: handlers.BrowserName(l, m.UserAgent), Address: m.Address, Link: m.Link}, nil
	case provider.FactorMail:
		return templates.FactorMail{Username: m.Username, At: m.At, Change: string(m.Change), Link: m.Link, Server: m.Server}, nil
	case provider.InvitationMail:
		return templates.InvitationMail(m), nil
	case provider.SignUpMail:
		return templates.SignUpMail(m), nil
	case provider.KnownMail:
		return templates.KnownMail(m), nil
	}
	return nil, fmt.Errorf("there is no template for %T", message)
}
