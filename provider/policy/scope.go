package policy

import (
	"cmp"
	"slices"
	"strings"

	"mandate/provider/oauth"
	"mandate/storage"
)

// AllowedScopes returns the scopes that an application may request now, in the
// operator's order.
func (c *Rules) AllowedScopes(a storage.Application) []string {
	may, listed := c.AllowanceOf(a), strings.Fields(a.Scopes)
	var allowed []string
	for _, s := range c.Scopes {
		switch {
		case s.Name == Introspection:
			if a.MayIntrospect && may.AdministratorRights {
				allowed = append(allowed, s.Name)
			}
		case slices.Contains(may.Scopes, s.Name) && (len(listed) == 0 || slices.Contains(listed, s.Name)):
			allowed = append(allowed, s.Name)
		}
	}
	return allowed
}

// defaultScopesOf returns the scopes for a request without the parameter scope: the
// server's default scopes, limited to the allowed ones.
func (c *Rules) defaultScopesOf(allowed []string) []string { return oauth.Narrow(c.defaults, allowed) }

// findDefaults returns the server's default scopes. Those about the person are among them only if the operator says
// so: an application that wants to know who somebody is requests it. openid and offline_access never are.
func (c *Rules) findDefaults() []string {
	defaults := c.DefaultScopes
	if defaults == nil {
		defaults = slices.DeleteFunc(slices.Clone(c.configured), c.IsIdentityScope)
	}
	return slices.DeleteFunc(slices.Clone(defaults), func(name string) bool {
		return name == Introspection || name == "openid" || name == OfflineAccess && c.OpenID
	})
}

// openScopes returns the scopes of applications for which nobody is responsible: those that
// the operator offers to everybody, and those with which OpenID Connect clients request an ID token and
// refresh tokens. A person must approve them each time.
func (c *Rules) openScopes(allowed []string) []string {
	offered := c.DefaultScopes
	if offered == nil {
		offered = c.configured
	}
	return slices.DeleteFunc(slices.Clone(allowed), func(name string) bool {
		switch name {
		case "openid":
			return !c.OpenID
		case OfflineAccess:
			return !c.OpenID && !slices.Contains(offered, name)
		}
		return !slices.Contains(offered, name)
	})
}

// ScopesWithoutLogin returns the scopes to grant to an application that acts without a login at
// this server, as RequestedScopes does. They are without offline_access if OpenID Connect is on.
func (c *Rules) ScopesWithoutLogin(a storage.Application, parameter string, of Audience) (Requested, error) {
	requested, err := c.RequestedScopes(a, parameter, of)
	if err == nil {
		err = CheckShared(requested.Names, of)
	}
	if err != nil {
		return Requested{}, err
	}
	requested.Names = c.WithoutOffline(requested.Names, false)
	if len(requested.Names) == 0 {
		return Requested{}, oauth.Refuse("invalid_scope", "The scope offline_access requires the authorization code grant "+
			"and the scope openid.")
	}
	return requested, nil
}

// Audience is what tokens are for.
type Audience interface {
	HasScope(name string) bool    // whether a part of it has this scope
	SharesScope(name string) bool // whether every part of it has this scope
	HasServer() bool              // whether the server itself is a part of it
}

// CheckShared checks that one token may have these scopes.
//
// RFC 9068 §3: a scope means something at one resource. In a token for several, another one could
// read it too, and a person approved it only for the first.
func CheckShared(names []string, of Audience) error {
	for _, name := range names {
		if !of.SharesScope(name) {
			return oauth.Refuse("invalid_scope", "The scope %q is not a scope of each requested resource: request one token "+
				"for each resource, with one parameter resource.", oauth.Clip(name, 80))
		}
	}
	return nil
}

// RequestedScopes returns the scopes that the parameter requests, or the default scopes if it is
// empty. It leaves out those that are unknown or not allowed. If none remains, or if it must not leave
// one out, it returns an Error with the code invalid_scope, which names the scope. So it does for a
// scope that is no scope of the requested resources.
//
// RFC 6749 §3.3: the server may ignore a part of the scope, and the token response then has another one.
// OIDC Core §3.1.2.1: scopes that are not understood should be ignored. Applications that work with many
// servers ask for more than each of them has.
func (c *Rules) RequestedScopes(a storage.Application, parameter string, of Audience) (Requested, error) {
	asked, err := oauth.ParseScope(parameter)
	if err != nil {
		return Requested{}, err
	}
	allowed := c.AllowedScopes(a)
	if len(asked) == 0 {
		names := slices.DeleteFunc(c.defaultScopesOf(allowed), func(name string) bool {
			return !of.SharesScope(name) || c.IsIdentityScope(name) && !of.HasServer()
		})
		if len(names) == 0 {
			// RFC 6749 §3.3: without a default scope the request fails.
			return Requested{}, oauth.Refuse("invalid_scope", "The request has no default scope: name the scopes that the "+
				"application needs with the parameter scope.")
		}
		return Requested{Names: names}, nil
	}
	var left LeftOut
	var first *oauth.Error
	kept := asked[:0]
	for _, name := range asked {
		why, refused := c.mayNotRequest(a, name, allowed)
		switch {
		case refused == nil && !of.HasScope(name):
			return Requested{}, oauth.Refuse("invalid_scope", "The scope %q is no scope of the requested resource.",
				oauth.Clip(name, 80))
		case refused == nil:
			kept = append(kept, name)
		case c.mustHave(a, name):
			return Requested{}, refused
		default:
			left, first = left.with(name, why, refused), cmp.Or(first, refused)
		}
	}
	if len(kept) == 0 {
		return Requested{}, first
	}
	return Requested{kept, left}, nil
}

// mayNotRequest returns why an application may not request a scope, in a word and as an Error. It returns no
// Error if it may. allowed are its scopes.
func (c *Rules) mayNotRequest(a storage.Application, name string, allowed []string) (string, *oauth.Error) {
	switch {
	case slices.Contains(allowed, name):
		return "", nil
	case slices.Contains(c.ScopeNames(), name) && name != Introspection && !slices.Contains(c.AllowanceOf(a).Scopes, name):
		return notAllowed, oauth.Refuse(
			"invalid_scope",
			"The scope %q is only for applications for which an administrator is responsible.",
			oauth.Own(name),
		)
	case slices.Contains(c.ScopeNames(), name):
		return notAllowed, oauth.Refuse(
			"invalid_scope",
			"This application may not request the scope %q.",
			oauth.Own(name),
		)
	case name == "openid":
		return isUnknown, oauth.Refuse("invalid_scope", "OpenID Connect is disabled on this server: its operator can "+
			"enable it with OIDC_ENABLED.")
	}
	return isUnknown, oauth.Refuse("invalid_scope", "There is no scope %q on this server: its operator can add it to "+
		"SCOPES.", oauth.Clip(name, 80))
}

// mustHave reports whether a request fails without this scope.
//
// OIDC Core §3.1.2.1: without openid it is another request: the client would wait for an ID token, and the access
// would no longer end with the login.
func (c *Rules) mustHave(a storage.Application, name string) bool {
	return c.StrictScopes || HasProfile(a) || name == "openid"
}

// WithoutOffline removes offline_access from names where it has no effect: without the scope
// openid, and where the person is not asked for consent (OIDC Core §11). asked says
// whether the person is asked. If OpenID Connect is off, the names stay as they are.
func (c *Rules) WithoutOffline(names []string, asked bool) []string {
	if c.OpenID && !(asked && slices.Contains(names, "openid")) {
		return slices.DeleteFunc(names, func(name string) bool { return name == OfflineAccess })
	}
	return names
}

// IsIdentityScope reports whether a scope is about the person and the grant, and not about
// an API: those that OIDC Core §5.4 and §11 define, if OpenID Connect is on.
func (c *Rules) IsIdentityScope(name string) bool {
	switch name {
	case "openid", "profile", "email", "address", "phone", OfflineAccess:
		return c.OpenID
	}
	return false
}

// OutlivesSession reports whether the access of a grant with these scopes goes on after the session ends. OIDC Core
// §11: the access of a login does not, unless the person approved offline_access.
func (c *Rules) OutlivesSession(scopes []string) bool {
	return !c.OpenID || !slices.Contains(scopes, "openid") || slices.Contains(scopes, OfflineAccess)
}
