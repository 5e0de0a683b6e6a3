package person

import (
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// ClaimFacts returns the claims for the account page of the person.
func (s *Shown) ClaimFacts(l *languages.Language, u storage.User) ([]templates.Fact, error) {
	if !s.Config.OpenID {
		return nil, nil
	}
	p, err := people.ProfileOf(u)
	if err != nil {
		return nil, err
	}
	if p.Address == nil {
		p.Address = &people.Address{}
	}
	var facts []templates.Fact
	for _, f := range []templates.Fact{{
		Name:  l.T("Middle name"),
		Value: p.MiddleName,
	}, {Name: l.T("Nickname"), Value: p.Nickname}, {Name: l.T("Gender"), Value: p.Gender},
		{
			Name:  l.T("Date of birth"),
			Value: p.Birthdate,
		}, {Name: l.T("Phone number"), Value: p.PhoneNumber}, {Name: l.T("Time zone"), Value: p.ZoneInfo},
		{
			Name:  l.T("Language"),
			Value: p.Locale,
		}, {
			Name:  l.T("Profile page"),
			Value: p.Profile,
		}, {Name: l.T("Picture"), Value: p.Picture}, {Name: l.T("Website"), Value: p.Website},
		{
			Name:  l.T("Address"),
			Value: p.Address.Formatted,
		}, {Name: l.T("Street"), Value: p.Address.StreetAddress}, {Name: l.T("Town"), Value: p.Address.Locality},
		{
			Name:  l.T("Region"),
			Value: p.Address.Region,
		}, {Name: l.T("Postal code"), Value: p.Address.PostalCode}, {Name: l.T("Country"), Value: p.Address.Country}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	return facts, nil
}
