package person

import (
	"net/http"

	"mandate/handlers/web"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// SignInMethods describes how a person signs in.
func (s *Shown) SignInMethods(
	r *http.Request,
	l *languages.Language,
	u storage.User,
) (templates.SignInMethods, error) {
	f, err := s.Provider.People.Factors(r.Context(), u.ID)
	methods := templates.SignInMethods{
		AddTOTPURL:    s.Path(web.TotpPath),
		RemoveTOTPURL: s.Path(web.TotpPath + "remove/"),
		CodesURL:      s.Path(web.CodesPath),
		Codes:         f.RecoveryCodes,
		Passkeys:      f.Passkeys,
		NoPassword:    u.Password == "",
	}
	if f.TOTPSince > 0 {
		methods.TOTPSince = l.Day(f.TOTPSince)
	} else if f.Passkeys == 0 && s.Provider.People.Demands(u) {
		methods.Demanded = true
		if u.FactorDueAt > 0 {
			methods.Due = l.Day(u.FactorDueAt)
		}
	}
	return methods, err
}

func (s *Shown) IdentityRow(l *languages.Language, one people.OwnIdentity) templates.IdentityRow {
	row := templates.IdentityRow{Label: one.Server.Label, Added: l.Day(one.CreatedAt),
		RemoveURL: s.Path(web.IdentitiesPath + one.ID + "/remove/")}
	if row.Label == "" {
		row.Label, row.Gone = one.Issuer, true
	}
	if one.LastUsedAt > 0 {
		row.LastUsed = l.Moment(one.LastUsedAt)
	}
	return row
}

func (s *Shown) PasskeyRow(r *http.Request, k storage.Passkey) templates.PasskeyRow {
	l := s.Language(r)
	row := templates.PasskeyRow{
		Name:           k.Name,
		Added:          l.Day(k.CreatedAt),
		BackupEligible: k.BackupEligible,
		BackedUp:       k.BackedUp,
		URL:            s.PasskeyPath(k.ID),
		RemoveURL:      s.PasskeyPath(k.ID) + "remove/",
	}
	if k.LastUsedAt > 0 {
		row.LastUsed = l.Moment(k.LastUsedAt)
	}
	return row
}
