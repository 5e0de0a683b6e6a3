package rules

import (
	"maps"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"mandate/conformance/need"
)

// allScopes are the scopes with claims (OIDC Core §5.4).
var allScopes = []string{"profile", "email", "address", "phone"}

// knownClaims returns the claims about the person that the scopes of the server return.
func knownClaims(t *T) map[string]any {
	m := provider(t)
	scopes := claimScopes(m)
	if _, published := m.List("scopes_supported"); !published {
		scopes = allScopes
	}
	return t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), scopes...)).Access)
}

// skipWithoutValue skips the check because UserInfo returns none of the claims. A person of a server that offers none
// of them has no value to be given.
func skipWithoutValue(t *T, names ...string) {
	m, all := provider(t), strings.Join(names, " or ")
	_, listsClaims := m.List("claims_supported")
	_, listsScopes := m.List("scopes_supported")
	offered := !listsClaims || !listsScopes ||
		slices.ContainsFunc(names, func(name string) bool { return m.Lists("claims_supported", name) })
	for _, scope := range claimScopes(m) {
		offered = offered ||
			slices.ContainsFunc(names, func(name string) bool { return slices.Contains(claimsOfScope(scope), name) })
	}
	if !offered {
		t.Skipf("the rule applies to a server that offers the claim %s: its metadata lists neither the claim nor a scope "+
			"for it", all)
	}
	t.Skipf("UserInfo returns no %s for the person of the target: give this person a value", all)
}

// aClaim checks the form of optional claims. If the target's person has no value for any of them, the
// check is skipped. A claim that is null or empty has no value: it should be left out (OIDC Core §5.3.2), which is a
// rule of its own.
func aClaim(names []string, wrong func(value any) string) func(*T) {
	return func(t *T) {
		claims, seen := knownClaims(t), false
		for _, name := range names {
			value := claims[name]
			if value == nil || value == "" {
				continue
			}
			seen = true
			if problem := wrong(value); problem != "" {
				t.Errorf("%s is %s, which is %s", name, Quoted(value), problem)
			}
		}
		if !seen {
			skipWithoutValue(t, names...)
		}
	}
}

// notText describes a value that should be a string.
func notText(value any) string {
	if _, is := value.(string); !is {
		return "no string"
	}
	return ""
}

func notTrueOrFalse(value any) string {
	if _, is := value.(bool); !is {
		return "neither true nor false"
	}
	return ""
}

// notMatching describes a string that should match a form.
func notMatching(form *regexp.Regexp, called string) func(any) string {
	return func(value any) string {
		text, _ := value.(string)
		if !form.MatchString(text) {
			return "no " + called
		}
		return ""
	}
}

var (
	dateForm     = regexp.MustCompile(`^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])|[0-9]{4})$`)
	zoneForm     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)
	languageForm = regexp.MustCompile(`^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$`)
	// A number of E.164 is + and up to 15 digits. People write blanks, brackets and dashes between them. The
	// extension is that of RFC 3966 §3.
	phoneForm = regexp.MustCompile(`^\+[0-9][0-9 ().-]{1,25}(;ext=[0-9().-]+)?$`)
)

// oidcStandardClaims has the checks of the rules about standard claims (OIDC Core §5.1).
var oidcStandardClaims = checks{
	"OIDCCore/5.1/texts": aClaim([]string{"sub", "name", "given_name", "family_name", "middle_name", "nickname",
		"preferred_username",
		"profile", "picture", "website", "email", "gender", "birthdate", "zoneinfo", "locale", "phone_number"}, notText),
	"OIDCCore/5.1/email-verified":        aClaim([]string{"email_verified"}, notTrueOrFalse),
	"OIDCCore/5.1/phone-number-verified": aClaim([]string{"phone_number_verified"}, notTrueOrFalse),
	"OIDCCore/5.1/address": aClaim([]string{"address"}, func(value any) string {
		if _, is := value.(map[string]any); !is {
			return "no object"
		}
		return ""
	}),
	"OIDCCore/5.1/updated-at": aClaim([]string{"updated_at"}, func(value any) string {
		at, is := value.(float64)
		if !is || at < 0 || at > float64(time.Now().Add(24*time.Hour).Unix()) {
			return "no past time in seconds"
		}
		return ""
	}),
	"OIDCCore/5.1/email": aClaim([]string{"email"}, func(value any) string {
		text, _ := value.(string)
		address, err := mail.ParseAddress(text)
		if err != nil || address.Name != "" || strings.ContainsAny(text, "<>") {
			return "no address"
		}
		return ""
	}),
	"OIDCCore/5.1/birthdate":    aClaim([]string{"birthdate"}, notMatching(dateForm, "date")),
	"OIDCCore/5.1/zoneinfo":     aClaim([]string{"zoneinfo"}, notMatching(zoneForm, "name of a time zone")),
	"OIDCCore/5.1/locale":       aClaim([]string{"locale"}, notMatching(languageForm, "language tag")),
	"OIDCCore/5.1/phone-number": aClaim([]string{"phone_number"}, notMatching(phoneForm, "number of E.164")),
	"OIDCCore/5.1/verified-phone-number": func(t *T) {
		claims := knownClaims(t)
		if claims["phone_number_verified"] != true {
			t.Skipf("UserInfo has no phone_number_verified: true for the person of the target: give this person a verified " +
				"number")
		}
		if number, _ := claims["phone_number"].(string); !phoneForm.MatchString(number) {
			t.Failf("phone_number_verified is true, and phone_number is %s, which is no number of E.164",
				Quoted(claims["phone_number"]))
		}
	},
	"OIDCCore/5.1/urls": aClaim([]string{"profile", "picture", "website"}, func(value any) string {
		text, _ := value.(string)
		u, err := url.Parse(text)
		if err != nil || !u.IsAbs() {
			return "no URL"
		}
		return ""
	}),
	"OIDCCore/5.1.1/members": func(t *T) {
		address, is := knownClaims(t)["address"].(map[string]any)
		if !is {
			t.Skipf("UserInfo returns no address for the person of the target: give this person one")
		}
		for _, name := range []string{"formatted", "street_address", "locality", "region", "postal_code", "country"} {
			// OIDC Core §13.3: null is another mistake, that of a member without a value.
			if value := address[name]; value != nil && notText(value) != "" {
				t.Errorf("%s of address is %s, which is no string", name, Quoted(value))
			}
		}
	},
	"OIDCCore/5.1.2/claim-names": func(t *T) {
		for _, name := range slices.Sorted(maps.Keys(knownClaims(t))) {
			name, _, _ = strings.Cut(name, "#")
			if !slices.Contains(registeredClaims, name) && !strings.ContainsAny(name, ":/.") {
				t.Errorf("%s is neither a registered nor a collision-resistant name", name)
			}
		}
	},
	"OIDCCore/5.2/claims-locales": func(t *T) {
		wantTaken(t, t.OpenID(t.Client(need.Code)).Set("claims_locales", "tlh qaa-Latn-x-conformance"), "claims_locales")
	},
	"OIDCCore/5.2/without-tags": func(t *T) {
		r := t.OpenID(t.Client(need.Code), "profile").Set("claims_locales", "en")
		for _, name := range slices.Sorted(maps.Keys(t.UserClaims(t.GrantFor(r).Access))) {
			if strings.HasSuffix(strings.ToLower(name), "#en") {
				t.Errorf("claims_locales was en, and UserInfo returns %s", name)
			}
		}
	},
}

// registeredClaims are those in the registry "JSON Web Token Claims" that are about people and logins.
var registeredClaims = []string{"sub", "name", "given_name", "family_name", "middle_name", "nickname",
	"preferred_username", "profile", "picture",
	"website", "email", "email_verified", "gender", "birthdate", "zoneinfo", "locale", "phone_number",
	"phone_number_verified", "address", "updated_at",
	"iss", "aud", "exp", "nbf", "iat", "jti", "azp", "nonce", "auth_time", "at_hash", "c_hash", "acr", "amr", "sub_jwk",
	"sid", "scope", "client_id",
	"roles", "groups", "entitlements", "_claim_names", "_claim_sources", "sub_id", "events", "cnf", "verified_claims",
	"place_of_birth", "nationalities",
	"birth_family_name", "birth_given_name", "birth_middle_name", "salutation", "title", "msisdn", "also_known_as"}
