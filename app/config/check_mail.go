package config

import (
	"mandate/provider/mail"
)

// checkMail accepts both settings of mail, or neither.
func (l *loader) checkMail() {
	const server, from = "SMTP_URL", "MAIL_FROM"
	switch {
	case !l.ok(server, from):
		return
	case l.c.Mail.URL != "" && l.c.Mail.From == "":
		l.wrong("needs MAIL_FROM, the sender of the mail (noreply@example.org); set both, or remove this", server)
		return
	case l.c.Mail.URL == "" && l.c.Mail.From != "":
		l.wrong("needs SMTP_URL, the mail server; set both, or remove this", from)
		return
	case l.c.Mail.URL == "":
		return
	}
	if wrong := mail.CheckURL(l.c.Mail.URL); wrong != "" {
		l.wrong(wrong, server)
	}
	if wrong := mail.CheckFrom(l.c.Mail.From); wrong != "" {
		l.wrong(wrong, from)
	}
}
