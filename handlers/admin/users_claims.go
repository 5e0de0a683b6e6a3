package admin

import (
	"net/url"
	"strings"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// profileIn reads the claims about the user from the form. Without OpenID Connect
// the form has no such part, and the stored values stay.
func (s *accounts) profileIn(form url.Values) *people.Profile {
	if !s.Config.OpenID {
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
func (s *accounts) claimsForm(form url.Values, invalid *oauth.Invalid) *templates.ClaimsForm {
	if !s.Config.OpenID {
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
