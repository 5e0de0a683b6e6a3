package policy

import "mandate/storage"

// Whether the ID tokens of an application have the claims of the granted scopes. Empty: as its kind says.
const (
	ClaimsOn  = "on"
	ClaimsOff = "off"
)

// ClaimsValues lists the values.
func ClaimsValues() []string { return []string{ClaimsOn, ClaimsOff} }

// ClaimsInIDToken reports whether the ID tokens of an application have the claims of the granted scopes, as UserInfo
// returns them.
//
// OIDC Core §2 lets an ID token have other claims, and many programs read nothing else. But browsers carry it as
// id_token_hint, programs keep it in cookies, and kept or logged it is still readable. So an administrator decides.
func (c *Rules) ClaimsInIDToken(a storage.Application) bool {
	switch {
	case HasProfile(a) || !c.AllowanceOf(a).AdministratorRights:
		return false
	case a.ClaimsInIDToken != "":
		return a.ClaimsInIDToken == ClaimsOn
	}
	return a.ClientType == Confidential
}
