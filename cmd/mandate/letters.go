package main

import (
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

func (l letters) letter(m any) (provider.Letter, error) {
	subject, text, html, err := l.Render(m)
	return provider.Letter{Subject: subject, Text: text, HTML: html}, err
}
