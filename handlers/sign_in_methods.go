package handlers

import (
	"net/http"

	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// signInMethods describes how a person signs in.
func (s *server) signInMethods(
	r *http.Request,
	l *languages.Language,
	u storage.User,
) (templates.SignInMethods, error) {
	f, err := s.provider.People.Factors(r.Context(), u.ID)
	methods := templates.SignInMethods{
		AddTOTPURL:    s.path(totpPath),
		RemoveTOTPURL: s.path(totpPath + "remove/"),
		CodesURL:      s.path(codesPath),
		Codes:         f.RecoveryCodes,
		Passkeys:      f.Passkeys,
		NoPassword:    u.Password == "",
	}
	if f.TOTPSince > 0 {
		methods.TOTPSince = l.Day(f.TOTPSince)
	} else if f.Passkeys == 0 && s.provider.People.Demands(u) {
		methods.Demanded = true
		if u.FactorDueAt > 0 {
			methods.Due = l.Day(u.FactorDueAt)
		}
	}
	return methods, err
}

func (s *server) identityRow(l *languages.Language, one people.OwnIdentity) templates.IdentityRow {
	row := templates.IdentityRow{Label: one.Server.Label, Added: l.Day(one.CreatedAt), RemoveURL: s.path(identitiesPath + one.ID + "/remove/")}
	if row.Label == "" {
		row.Label, row.Gone = one.Issuer, true
	}
	if one.LastUsedAt > 0 {
		row.LastUsed = l.Moment(one.LastUsedAt)
	}
	return row
}

func (s *server) passkeyRow(r *http.Request, k storage.Passkey) templates.PasskeyRow {
	l := s.language(r)
	row := templates.PasskeyRow{
		Name:           k.Name,
		Added:          l.Day(k.CreatedAt),
		BackupEligible: k.BackupEligible,
		BackedUp:       k.BackedUp,
		URL:            s.path("/account/passkeys/" + k.ID + "/"),
		RemoveURL:      s.path("/account/passkeys/" + k.ID + "/remove/"),
	}
	if k.LastUsedAt > 0 {
		row.LastUsed = l.Moment(k.LastUsedAt)
	}
	return row
}
