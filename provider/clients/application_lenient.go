package clients

import (
	"slices"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// lenient is a field with a value that protects people less. Only an administrator may choose this value, and only
// for an application for which an administrator is responsible. Anybody may choose the others.
type lenient struct {
	field  string
	said   *string
	was    string
	value  string
	values []string
	only   string // what somebody else learns who chooses the value
	never  string // why this application cannot have the value; may be empty
}

// lenients returns these fields of a registration. was is the application before the change.
func lenients(r *Registration, was storage.Application) []lenient {
	never := ""
	if r.ClientType == policy.Public {
		// RFC 9700 §2.1.1: public clients use PKCE.
		never = "A public application has no secret, so it needs PKCE."
	}
	return []lenient{
		// RFC 9700 §4.14.2: rotation finds out that a refresh token was copied.
		{
			"refresh_rotation",
			&r.RefreshRotation,
			was.RefreshRotation,
			policy.RotationOff,
			policy.Rotations(),
			"Only an administrator may switch the rotation off.",
			"",
		},
		{"claims_in_id_token", &r.ClaimsInIDToken, was.ClaimsInIDToken, policy.ClaimsOn, policy.ClaimsValues(),
			"Only an administrator may put the claims of the scopes into the ID token. The application can read them at the " +
				"UserInfo endpoint.", ""},
		{
			"pkce",
			&r.PKCE,
			was.PKCE,
			policy.PKCEIfSent,
			policy.PKCEValues(),
			"Only an administrator may let an application come without PKCE.",
			never,
		},
	}
}

// checkLenient checks these fields. The value that an application has may stay.
func checkLenient(
	found *oauth.Invalid,
	actor policy.Actor,
	r *Registration,
	was storage.Application,
	may policy.Allowance,
) {
	for _, of := range lenients(r, was) {
		switch {
		case *of.said == "" || *of.said != of.value && slices.Contains(of.values, *of.said):
		case *of.said != of.value:
			found.Add(
				of.field,
				"The value %q is not supported: use %s, or leave it out.",
				oauth.Clip(*of.said, 40),
				oauth.OneOf(of.values),
			)
		case of.never != "":
			found.Add(of.field, "%s", of.never)
		case of.was == of.value:
		case !actor.Administers():
			found.Add(of.field, "%s", of.only)
		case !may.AdministratorRights:
			found.Add(of.field, "No administrator is responsible for this application: take it over first.")
		}
	}
}

// dropLenient leaves these values out of a registration.
func dropLenient(r *Registration, was storage.Application) {
	for _, of := range lenients(r, was) {
		if *of.said == of.value {
			*of.said = ""
		}
	}
}
