package handlers

import (
	"net/url"
	"strings"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// profileIn reads the claims about the user from the form. Without OpenID Connect
// the form has no such part, and the stored values stay.
func (s *server) profileIn(form url.Values) *people.Profile {
	if !s.config.OpenID {
		return nil
	}
	profile := &people.Profile{
		Address:             &people.Address{},
		EmailVerified:       form.Has("email_verified"),
		PhoneNumberVerified: form.Has("phone_number_verified"),
	}
	for name, value := range texts(profile) {
		*value = strings.TrimSpace(strings.ReplaceAll(form.Get(name), "\r\n", "\n"))
	}
	return profile
}

// profileForm returns the form values that correspond to a stored profile.
func profileForm(u storage.User, form url.Values) error {
	profile, err := people.ProfileOf(u)
	if err != nil {
		return err
	}
	if profile.Address == nil {
		profile.Address = &people.Address{}
	}
	for name, value := range texts(&profile) {
		form.Set(name, *value)
	}
	for name, on := range map[string]bool{
		"email_verified":        profile.EmailVerified,
		"phone_number_verified": profile.PhoneNumberVerified,
	} {
		if on {
			form.Set(name, "on")
		}
	}
	return nil
}

// texts maps the name of each text field in the form to the field of the profile.
func texts(p *people.Profile) map[string]*string {
	return map[string]*string{
		"middle_name":    &p.MiddleName,
		"nickname":       &p.Nickname,
		"gender":         &p.Gender,
		"birthdate":      &p.Birthdate,
		"zoneinfo":       &p.ZoneInfo,
		"locale":         &p.Locale,
		"phone_number":   &p.PhoneNumber,
		"profile":        &p.Profile,
		"picture":        &p.Picture,
		"website":        &p.Website,
		"address":        &p.Address.Formatted,
		"street_address": &p.Address.StreetAddress,
		"locality":       &p.Address.Locality,
		"region":         &p.Address.Region,
		"postal_code":    &p.Address.PostalCode,
		"country":        &p.Address.Country,
	}
}

// claimsForm returns the claims part of the form with the values that were sent and
// the errors in them.
func (s *server) claimsForm(form url.Values, invalid *oauth.Invalid) *templates.ClaimsForm {
	if !s.config.OpenID {
		return nil
	}
	field := func(name string) templates.Field {
		return templates.Field{Value: form.Get(name), Error: invalid.At(name)}
	}
	return &templates.ClaimsForm{
		EmailVerified:      form.Has("email_verified"),
		EmailVerifiedError: invalid.At("email_verified"),
		PhoneVerified:      form.Has("phone_number_verified"),
		PhoneVerifiedError: invalid.At("phone_number_verified"),
		MiddleName:         field("middle_name"),
		Nickname:           field("nickname"),
		Gender:             field("gender"),
		Birthdate:          field("birthdate"),
		ZoneInfo:           field("zoneinfo"),
		Locale:             field("locale"),
		PhoneNumber:        field("phone_number"),
		Profile:            field("profile"),
		Picture:            field("picture"),
		Website:            field("website"),
		Address:            field("address"),
		StreetAddress:      field("street_address"),
		Locality:           field("locality"),
		Region:             field("region"),
		PostalCode:         field("postal_code"),
		Country:            field("country"),
	}
}

// claimFacts returns the claims for the account page of the person.
func (s *server) claimFacts(l *languages.Language, u storage.User) ([]templates.Fact, error) {
	if !s.config.OpenID {
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
