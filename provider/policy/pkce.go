package policy

import "mandate/storage"

// Whether an application must send a code challenge with each authorization request. Empty: as the server is set.
const (
	PKCERequired = "required"
	PKCEIfSent   = "if-sent"
)

// PKCEValues lists the values.
func PKCEValues() []string { return []string{PKCERequired, PKCEIfSent} }

// Which applications the server requires to use PKCE. No value changes anything for those that always need it.
const (
	PKCEForAll        = "true"
	PKCEForPublic     = "public"
	PKCEForPublicOnly = "false"
)

// MayOmitPKCE reports whether an administrator can let an application come without a code challenge.
func (c *Rules) MayOmitPKCE(a storage.Application) bool {
	// RFC 9700 §2.1.1: public clients use PKCE. FAPI 2.0 Security Profile §5.3.2.2: so do all.
	return a.ClientType == Confidential && !HasProfile(a) && c.AllowanceOf(a).AdministratorRights
}

// NeedsPKCE reports whether an authorization request of an application needs a code challenge. nonce says that the
// request has the scope openid and a nonce.
func (c *Rules) NeedsPKCE(a storage.Application, nonce bool) bool {
	exempt := c.MayOmitPKCE(a)
	switch {
	case a.PKCE == PKCERequired:
		return true
	case exempt && a.PKCE == PKCEIfSent:
		return false
	case c.PKCE == PKCEForAll:
		return true
	// Nobody has decided about an application that registered itself and still describes itself.
	case exempt && !DescribesItself(a):
		return false
	// RFC 9700 §2.1.1: a confidential client may rely on the nonce of OpenID Connect.
	case a.ClientType == Confidential && !HasProfile(a) && StandingOf(a) != StandingOpen:
		return c.PKCE != PKCEForPublicOnly && !nonce
	}
	return true
}
