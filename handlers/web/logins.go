package web

import (
	"mandate/provider/acr"
	"mandate/templates"
)

// RequiredLogin returns the name of a login that an application can require, or "".
func RequiredLogin(value string) string {
	switch value {
	case acr.MFA:
		return "Two factors"
	case acr.PhishingResistant:
		return "A login that resists phishing"
	case acr.Passkey:
		return "A passkey"
	}
	return ""
}

// RequirableLogins are the logins that an application can require.
func RequirableLogins() []templates.Option {
	logins := []templates.Option{{Label: "Any", Help: "The password suffices."}}
	for _, value := range acr.Values() {
		if value != acr.Password {
			logins = append(logins, templates.Option{
				Value: value,
				Label: RequiredLogin(value),
				Help:  "A person who has signed in without it is led through the missing step. acr: " + value,
			})
		}
	}
	return logins
}
