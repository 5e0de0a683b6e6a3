// Package person is what both the pages of a person and those of administrators show of an account.
package person

import (
	"net/http"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/origin"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// What the page of a person shows: so many events, and beside them what strangers have tried, from so many sites.
const (
	mostActivity = 15
	mostStrange  = 5
)

// Activity lists the newest events that concern a person, in words for everybody.
func (s *Shown) Activity(r *http.Request, l *languages.Language, userID string) (templates.Activity, error) {
	var list templates.Activity
	found, err := s.Provider.Events.OfPerson(r.Context(), userID, mostActivity, mostStrange)
	for _, e := range found {
		text, alarming := happened(l, e)
		row := templates.ActivityRow{Text: text, At: l.Moment(e.At), Alarming: alarming, Times: int(e.Times)}
		switch e.ObjectKind {
		case "application", "passkey", "account", "group", "resource":
			row.Object = e.ObjectName
		}
		switch {
		case e.ActorKind == origin.Operator:
			row.By = l.T("By the operator of this server.")
		case e.ActorKind == origin.Person && e.ActorID != userID:
			row.By = l.T("By an administrator.") // whose browser and address are nobody's business
		case e.ActorKind == origin.Person, e.ActorKind == origin.Nobody:
			row.Address = e.Address
			if e.UserAgent != "" {
				row.Browser = web.DeviceName(l, e.UserAgent)
			}
		}
		list.Rows = append(list.Rows, row)
	}
	return list, err
}

// happened says what happened, and reports whether the person should look at it.
func happened(l *languages.Language, e storage.Event) (string, bool) {
	switch e.Kind {
	case "sign-in":
		return l.T("Signed in."), false
	case "sign-in.failed":
		return refused(l, e.Detail), true
	case "factor.failed":
		switch {
		case e.ActorKind == origin.Nobody && e.ObjectKind == "account":
			return l.T("A sign-in with another server was right, and a wrong second factor was refused."), true
		case e.ActorKind == origin.Nobody: // at a sign-in, and not in a session
			return l.T("The password was right, and a wrong second factor was refused."), true
		}
		return l.T("A wrong second factor was refused."), true
	case "sign-out":
		return l.T("Signed out."), false
	case "session.ended":
		return l.T("One browser was signed out."), false
	case "sessions.ended":
		return l.T("All browsers were signed out."), false
	case "password.changed":
		return l.T("The password was changed."), false
	case "password.reset":
		return l.T("A new password was set."), false
	case "password.failed":
		return l.T("Somebody wanted to change the password, and did not know it."), true
	case "password.link":
		return l.T("A link for a new password was made."), false
	case "factor.added":
		return addedFactor(l, e.ObjectKind), false
	case "factor.renamed":
		return l.T("A passkey got another name."), false
	case "factor.removed":
		return removedFactor(l, e.ObjectKind), false
	case "factors.reset":
		return l.T("The authenticator app, the passkeys and the recovery codes were removed."), false
	case "recovery-codes.made":
		return l.T("New recovery codes were made."), false
	case "recovery-code.used":
		return l.T("A recovery code was used."), false
	}
	return happenedToAccount(l, e.Kind), e.Kind == "token.reused"
}

func refused(l *languages.Language, why string) string {
	why, _, _ = strings.Cut(why, " ") // the rest is for administrators
	switch why {
	case "disabled":
		return l.T("A sign-in was refused, because the account was disabled.")
	case "limit":
		return l.T("A sign-in was refused after too many attempts.")
	case "passkey":
		return l.T("A passkey was refused.")
	case "server":
		return l.T("A sign-in with another server was refused.")
	}
	return l.T("A wrong password was refused.")
}

func addedFactor(l *languages.Language, kind string) string {
	switch kind {
	case "passkey":
		return l.T("A passkey was added.")
	case "account":
		return l.T("An account of another server was added.")
	}
	return l.T("An authenticator app was added.")
}

func removedFactor(l *languages.Language, kind string) string {
	switch kind {
	case "passkey":
		return l.T("A passkey was removed.")
	case "account":
		return l.T("An account of another server was removed.")
	}
	return l.T("The authenticator app was removed.")
}

// happenedToAccount says what happened to an account and to the access of applications.
func happenedToAccount(l *languages.Language, kind string) string {
	switch kind {
	case "person.added":
		return l.T("The account was created.")
	case "person.changed":
		return l.T("The account was changed.")
	case "person.promoted":
		return l.T("The account got the rights of an administrator.")
	case "person.demoted":
		return l.T("The account lost the rights of an administrator.")
	case "person.disabled":
		return l.T("The account was disabled.")
	case "person.enabled":
		return l.T("The account was enabled.")
	case "address.link":
		return l.T("A link to confirm the email address was sent.")
	case "address.verified":
		return l.T("The email address was confirmed.")
	case "consent.given":
		return l.T("An application was allowed access.")
	case "consent.denied":
		return l.T("An application asked for access, and did not get it.")
	case "consent.revoked", "token.revoked":
		return l.T("The access of an application was revoked.")
	case "device.approved":
		return l.T("A device was allowed access.")
	case "device.denied":
		return l.T("A device asked for access, and did not get it.")
	case "token.reused":
		return l.T("The access of an application was ended, because it may have been stolen.")
	case "token.repeated":
		return l.T("An application has renewed its access twice at the same time. This is usual.")
	case "application.added":
		return l.T("An application was registered.")
	case "application.changed":
		return l.T("An application was changed.")
	case "application.assigned":
		return l.T("Somebody else became responsible for an application.")
	case "application.revoked":
		return l.T("Everything that an application held was revoked.")
	case "application.deleted":
		return l.T("An application was deleted.")
	case "secret.rotated":
		return l.T("An application got a new client secret.")
	}
	return happenedToServer(l, kind)
}

// happenedToServer says what the person has done as an administrator.
func happenedToServer(l *languages.Language, kind string) string {
	switch kind {
	case "group.added":
		return l.T("A group was added.")
	case "group.renamed":
		return l.T("A group got another name.")
	case "group.deleted":
		return l.T("A group was deleted.")
	case "resource.added":
		return l.T("A resource was added.")
	case "resource.changed":
		return l.T("A resource was changed.")
	case "resource.deleted":
		return l.T("A resource was deleted.")
	case "registration-token.added":
		return l.T("An initial access token was made.")
	case "registration-token.deleted":
		return l.T("An initial access token was deleted.")
	case "events.exported":
		return l.T("The event log was exported.")
	}
	return l.T("An action as an administrator.")
}
