package people

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"

	"mandate/provider/oauth"
	"mandate/storage"
)

// Profile holds the standard claims (OIDC Core §5.1) that have no database column of
// their own. Empty claims are omitted from every response.
type Profile struct {
	EmailVerified       bool     `json:"email_verified,omitempty"`
	MiddleName          string   `json:"middle_name,omitempty"`
	Nickname            string   `json:"nickname,omitempty"`
	Profile             string   `json:"profile,omitempty"`
	Picture             string   `json:"picture,omitempty"`
	Website             string   `json:"website,omitempty"`
	Gender              string   `json:"gender,omitempty"`
	Birthdate           string   `json:"birthdate,omitempty"`
	ZoneInfo            string   `json:"zoneinfo,omitempty"`
	Locale              string   `json:"locale,omitempty"`
	PhoneNumber         string   `json:"phone_number,omitempty"`
	PhoneNumberVerified bool     `json:"phone_number_verified,omitempty"`
	Address             *Address `json:"address,omitempty"`
}

// Address is the address claim (OIDC Core §5.1.1).
type Address struct {
	Formatted     string `json:"formatted,omitempty"`
	StreetAddress string `json:"street_address,omitempty"`
	Locality      string `json:"locality,omitempty"`
	Region        string `json:"region,omitempty"`
	PostalCode    string `json:"postal_code,omitempty"`
	Country       string `json:"country,omitempty"`
}

// ProfileOf returns the stored profile of a person.
func ProfileOf(u storage.User) (Profile, error) {
	var profile Profile
	if u.Profile == "" {
		return profile, nil
	}
	err := json.Unmarshal([]byte(u.Profile), &profile)
	if err != nil {
		return profile, fmt.Errorf("read the profile of %s: %w", u.ID, err)
	}
	return profile, nil
}

// store returns a checked profile as the database stores it.
func (profile Profile) store() (string, error) {
	if profile.Address != nil && *profile.Address == (Address{}) {
		profile.Address = nil
	}
	raw, err := json.Marshal(profile)
	return string(raw), err
}

var (
	// The form of a name in the time zone database. Whether the zone exists is not
	// checked: that depends on the edition of the database.
	zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)
	// OIDC Core §5.1: E.164, with an extension as in RFC 3966 §3.
	phoneNumber = regexp.MustCompile(`^\+[1-9][0-9]{1,14}(;ext=[0-9]{1,11})?$`)
)

// check compares a profile with the formats of OIDC Core §5.1, because relying parties
// depend on them.
func (profile Profile) check(found *oauth.Invalid, email string) {
	CheckText(found, "middle_name", profile.MiddleName)
	CheckText(found, "nickname", profile.Nickname)
	CheckText(found, "gender", profile.Gender)
	for field, address := range map[string]string{"profile": profile.Profile, "picture": profile.Picture,
		"website": profile.Website} {
		u, err := url.Parse(address)
		if address != "" && (err != nil || u.Scheme != "https" || u.Host == "" || len(address) > 2000) {
			found.Add(field, "Use an address that begins with https://.")
		} else if hiddenInAddress(address) {
			found.Add(field, noHidden)
		}
	}
	if profile.Birthdate != "" && !isBirthdate(profile.Birthdate) {
		found.Add("birthdate", "Write it as 1970-12-31, as 0000-12-31 without the year, or as 1970 alone.")
	}
	if profile.ZoneInfo != "" && (len(profile.ZoneInfo) > 64 || !zoneName.MatchString(profile.ZoneInfo)) {
		found.Add("zoneinfo", "Use a name of the time zone database, such as Europe/Zurich.")
	}
	_, err := language.Parse(profile.Locale)
	if profile.Locale != "" && (err != nil || strings.Contains(profile.Locale, "_")) {
		found.Add("locale", "Use a language tag, such as de-CH.")
	}
	if profile.PhoneNumber != "" && !phoneNumber.MatchString(profile.PhoneNumber) {
		found.Add("phone_number", "Write it with + and the country's code, without spaces: +41443334455.")
	}
	// OIDC Core §5.1: email_verified is about an email address, so there must be one.
	if profile.EmailVerified && email == "" {
		found.Add("email_verified", "There is no email address that could be confirmed.")
	}
	if profile.PhoneNumberVerified && profile.PhoneNumber == "" {
		found.Add("phone_number_verified", "There is no phone number that could be confirmed.")
	}
	if profile.Address != nil {
		profile.Address.check(found)
	}
}

func (a Address) check(found *oauth.Invalid) {
	CheckText(found, "street_address", a.StreetAddress)
	CheckText(found, "locality", a.Locality)
	CheckText(found, "region", a.Region)
	CheckText(found, "postal_code", a.PostalCode)
	CheckText(found, "country", a.Country)
	// OIDC Core §5.1.1: the claim formatted may have several lines.
	oneLine := strings.NewReplacer("\r", "", "\n", "").Replace(a.Formatted)
	if !utf8.ValidString(oneLine) || strings.ContainsFunc(oneLine, hidden) || utf8.RuneCountInString(oneLine) > 1000 {
		found.Add("address", "Use at most 1000 characters of text.")
	}
}

func isBirthdate(text string) bool {
	_, err := time.Parse("2006-01-02", text)
	if err != nil {
		_, err = time.Parse("2006", text)
	}
	return err == nil
}
