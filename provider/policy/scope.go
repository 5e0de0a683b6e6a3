package policy

import (
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
func (c *Rules) defaultScopesOf(allowed []string) []string {
	defaults := c.DefaultScopes
	if defaults == nil {
		defaults = c.ScopeNames()
	}
	var names []string
	for _, name := range defaults {
		if name != Introspection && name != "openid" && (name != OfflineAccess || !c.OpenID) && slices.Contains(allowed, name) {
			names = append(names, name)
		}
	}
	return names
}

// openScopes returns the scopes of applications for which nobody is responsible: the
// default scopes, and those with which OpenID Connect clients request an ID token and
// refresh tokens. A person must approve them each time.
func (c *Rules) openScopes(allowed []string) []string {
	defaults := c.defaultScopesOf(allowed)
	return slices.DeleteFunc(slices.Clone(allowed), func(name string) bool {
		return !slices.Contains(defaults, name) && !(c.OpenID && (name == "openid" || name == OfflineAccess))
	})
}

// ScopesWithoutLogin returns the scopes to grant to an application that acts without a login at
// this server. They are all scopes of the parameter, without offline_access if OpenID
// Connect is on, or the default scopes if the parameter is empty. If one scope is not
// allowed, or none is left, it returns an Error with the code invalid_scope.
func (c *Rules) ScopesWithoutLogin(a storage.Application, parameter string, of Audience) ([]string, error) {
	names, err := c.RequestedScopes(a, parameter, of)
	if err == nil {
		err = CheckShared(names, of)
	}
	if err != nil {
		return nil, err
	}
	names = c.WithoutOffline(names, false)
	if len(names) == 0 {
		return nil, oauth.Refuse("invalid_scope", "The scope offline_access requires the authorization code grant and the scope openid.")
	}
	return names, nil
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
			return oauth.Refuse("invalid_scope", "The scope %q is not a scope of each requested resource: request one token for each resource, with one parameter resource.", oauth.Clip(name, 80))
		}
	}
	return nil
}

// RequestedScopes returns the scopes that the parameter requests, or the default scopes if it is
// empty. If one of them is unknown or not allowed, or is no scope of the requested
// resources, it returns an Error with the code invalid_scope, which names that scope.
func (c *Rules) RequestedScopes(a storage.Application, parameter string, of Audience) ([]string, error) {
	asked, err := oauth.ParseScope(parameter)
	if err != nil {
		return nil, err
	}
	allowed := c.AllowedScopes(a)
	if len(asked) == 0 {
		names := slices.DeleteFunc(c.defaultScopesOf(allowed), func(name string) bool {
			return !of.SharesScope(name) || c.IsIdentityScope(name) && !of.HasServer()
		})
		if len(names) == 0 {
			// RFC 6749 §3.3: without a default scope the request fails.
			return nil, oauth.Refuse("invalid_scope", "The request has no default scope: name the scopes that the application needs with the parameter scope.")
		}
		return names, nil
	}
	for _, name := range asked {
		known := slices.Contains(c.ScopeNames(), name)
		if !known && name == "openid" {
			return nil, oauth.Refuse("invalid_scope", "OpenID Connect is disabled on this server: its operator can enable it with OIDC_ENABLED.")
		}
		if !known {
			return nil, oauth.Refuse("invalid_scope", "There is no scope %q on this server: its operator can add it to SCOPES.", oauth.Clip(name, 80))
		}
		if !slices.Contains(allowed, name) && name != Introspection && !slices.Contains(c.AllowanceOf(a).Scopes, name) {
			return nil, oauth.Refuse("invalid_scope", "The scope %q is only for applications for which an administrator is responsible.", oauth.Clip(name, 80))
		}
		if !slices.Contains(allowed, name) {
			return nil, oauth.Refuse("invalid_scope", "This application may not request the scope %q.", oauth.Clip(name, 80))
		}
		if !of.HasScope(name) {
			return nil, oauth.Refuse("invalid_scope", "The scope %q is no scope of the requested resource.", oauth.Clip(name, 80))
		}
	}
	return asked, nil
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
