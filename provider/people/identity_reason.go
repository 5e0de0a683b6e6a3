package people

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/oauth"
	"mandate/provider/upstream"
	"mandate/storage"
)

// condition is a condition that a person of another server does not meet. The person learns nothing of it, because it
// may say something about others. The log and the event log name it for whoever runs this server.
type condition string

// The conditions, by the words with which events name them.
const (
	noAddress       condition = "no-address"
	unusableAddress condition = "unusable-address"
	notVerified     condition = "not-verified"
	verifiedMissing condition = "verified-missing"
	otherDomain     condition = "other-domain"
	newPeopleOff    condition = "new-people-off"
	noInvitation    condition = "no-invitation"
)

// Error says what is wrong, and what changes it.
func (c condition) Error() string {
	switch c {
	case noAddress:
		return "that server sends no address: it needs to send the claim email for the scope email"
	case unusableAddress:
		return "the address that it sends cannot be one here"
	case notVerified:
		return "that server says that it has not verified the address: email_verified or xms_edov is not true"
	case verifiedMissing:
		return "that server does not say whether it has verified the address: let it send email_verified, or set " +
			"ASSUME_EMAIL_VERIFIED if nobody there can choose an address freely"
	case otherDomain:
		return "the domain of the address is none of the ALLOWED_DOMAINS"
	case newPeopleOff:
		return "NEW_PEOPLE is off, and nobody here has this address and has confirmed it, or TRUSTED_FOR_EMAIL is not set"
	case noInvitation:
		return "there is no invitation for the address"
	}
	return string(c)
}

// addressOf returns what is wrong with the address of a person of another server, or "" if it counts as verified there.
func (s *server) addressOf(p upstream.Person) condition {
	at := strings.LastIndex(p.Email, "@")
	_, wrong := readAddress(p.Email)
	switch {
	case p.Email == "":
		return noAddress
	case wrong != "":
		return unusableAddress
	case p.EmailVerified:
		return ""
	case !p.EmailUnsaid:
		return notVerified // also with AssumeVerified
	case !s.AssumeVerified:
		return verifiedMissing
	case !slices.Contains(s.AllowedDomains, strings.ToLower(p.Email[at+1:])):
		return otherDomain
	}
	return ""
}

// explained adds to the refusal of a person whom nobody here knows which condition has failed.
func (i *Identities) explained(ctx context.Context, s *server, p upstream.Person, refusal error) error {
	e, ok := errors.AsType[*oauth.Error](refusal)
	if !ok || e.LogText != unknownHere {
		return refusal
	}
	failed := s.addressOf(p)
	switch {
	case failed != "":
	case s.NewPeople == NewPeopleDomains:
		failed = otherDomain
	case s.NewPeople == NewPeopleInvited:
		failed = noInvitation
		invited, err := i.people.store.IsInvited(ctx, p.Email, oauth.Now())
		if err != nil {
			return oauth.Unavailable(err)
		}
		if invited {
			failed = unusableAddress
		}
	default:
		failed = newPeopleOff
	}
	return e.Because(failed)
}

// conditionOf returns the condition that a refusal names, or "".
func conditionOf(refusal error) string {
	failed, _ := errors.AsType[condition](refusal)
	if errors.Is(refusal, storage.ErrAddressTaken) {
		return "address-taken"
	}
	return string(failed)
}
