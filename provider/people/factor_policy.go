package people

import (
	"context"

	"mandate/provider/acr"
	"mandate/provider/oauth"
	"mandate/storage"
)

// The policies about second factors. An empty policy is SecondFactorOptional.
const (
	SecondFactorOptional       = "optional"
	SecondFactorAdministrators = "administrators"
	SecondFactorEverybody      = "everybody"
)

// Demands reports whether the policy demands a second factor of a person.
func (p *People) Demands(u storage.User) bool {
	return p.config.SecondFactor == SecondFactorEverybody || p.config.SecondFactor == SecondFactorAdministrators &&
		(u.Administrator || u.Auditor || u.Delegate)
}

// factorOverdue reports whether a person without a second factor must add one now. The grace period
// begins when the person signs in for the first time under the policy.
func (p *People) factorOverdue(ctx context.Context, u storage.User) (bool, error) {
	if !p.Demands(u) {
		return false, nil
	}
	due, now := u.FactorDueAt, oauth.Now()
	if due == 0 {
		var err error
		due, err = p.store.FactorDue(ctx, u.ID, now+oauth.Seconds(p.config.SecondFactorGrace))
		if err != nil {
			return false, oauth.Stored(err)
		}
	}
	return now >= due, nil
}

// StepMissing reports whether a session is weaker than a sign-in of its person would be now: the person has a second
// factor, or must have one by the policy.
func (p *People) StepMissing(ctx context.Context, s *storage.SignedIn) (bool, error) {
	if acr.Satisfies(s.Session.AMR, acr.MFA) {
		return false, nil
	}
	_, needed, err := p.secondFactor(ctx, s.User)
	return needed, err
}

// PasswordSuffices returns nil if a person may sign in by the password alone, and otherwise the error
// for the client of the password grant. The password was right: otherwise the error would say who
// has a second factor.
func (p *People) PasswordSuffices(ctx context.Context, u storage.User) error {
	_, needed, err := p.secondFactor(ctx, u)
	if err == nil && needed {
		err = oauth.Refuse("invalid_grant", "This person signs in with a second factor: use the authorization code grant.")
	}
	return err
}
