package main

import (
	"mandate/handlers"
	"mandate/provider"
	"mandate/templates"
)

// letters writes the mail of the provider with the templates.
type letters struct{ *templates.Mails }

func newLetters() (letters, error) {
	mails, err := templates.NewMails()
	return letters{mails}, err
}

// Reset writes the message with the link that sets a new password.
func (l letters) Reset(m provider.ResetMail) (provider.Letter, error) {
	return l.letter(templates.ResetMail(m))
}

// Address writes the message with the link that confirms an address.
func (l letters) Address(m provider.AddressMail) (provider.Letter, error) {
	return l.letter(templates.AddressMail(m))
}

// PasswordChanged writes the message after the password has changed.
func (l letters) PasswordChanged(m provider.PasswordChangedMail) (provider.Letter, error) {
	return l.letter(templates.PasswordChangedMail(m))
}

// SignIn writes the message after a sign-in with a new browser.
func (l letters) SignIn(m provider.SignInMail) (provider.Letter, error) {
	return l.letter(templates.SignInMail{Username: m.Username, At: m.At, Browser: handlers.BrowserName(m.UserAgent), Address: m.Address, Link: m.Link})
}

// Factor writes the message after the factors of a person have changed.
func (l letters) Factor(m provider.FactorMail) (provider.Letter, error) {
	return l.letter(templates.FactorMail{Username: m.Username, At: m.At, Change: string(m.Change), Link: m.Link})
}

func (l letters) letter(m any) (provider.Letter, error) {
	subject, text, html, err := l.Render(m)
	return provider.Letter{Subject: subject, Text: text, HTML: html}, err
}
