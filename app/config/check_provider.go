package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"mandate/provider"
	"mandate/provider/policy"
)

const providerBlock = "OAUTH2_PROVIDER."

// These names have a special meaning.
const (
	scopeIntrospection = "introspection" // lets an application introspect tokens; enabled for each application
	scopeOpenID        = "openid"        // OIDC Core §3.1.2.1: requests an ID token, so a request must name it
)

// RFC 6749 §3.3: scope-token is printable ASCII without space, quote and backslash.
var scopeToken = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]{1,255}$`)

const scopeTokenText = "is not a scope name; use printable ASCII without spaces, \" and \\ (RFC 6749 §3.3)"

func has(scopes []policy.Scope, name string) bool {
	return slices.ContainsFunc(scopes, func(s policy.Scope) bool { return s.Name == name })
}

func (l *loader) checkScopes() {
	const name = providerBlock + "SCOPES"
	if !l.ok(name) {
		return
	}
	if len(l.c.Provider.Scopes) == 0 {
		l.wrong("contains no scope; set at least one", name)
	}
	for i, scope := range l.c.Provider.Scopes {
		switch {
		case !scopeToken.MatchString(scope.Name), scope.Name == policy.AllScopes:
			l.element(name, i, scopeTokenText)
		case strings.TrimSpace(scope.Description) == "":
			l.element(name, i, "has no description; set one, since people read it before they approve")
		case strings.ContainsFunc(scope.Description, unicode.IsControl):
			l.element(name, i, "has control characters in its description; write one line of text")
		}
		for j, in := range scope.In {
			of := fmt.Sprintf("%s[%d]", name, i)
			switch {
			case !languageTag.MatchString(in.Language):
				l.element(of, j, "is not a language tag of lower-case letters, such as de")
			case strings.TrimSpace(in.Text) == "", strings.ContainsFunc(in.Text, unicode.IsControl):
				l.element(of, j, "must be one line of text that describes the scope")
			}
		}
	}
}

// languageTag matches the language tags that pages have: a language without a region.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}$`)

// hasScope reports whether the server has a scope, by SCOPES or without configuration.
func (p *Provider) hasScope(name string) bool {
	return has(p.Scopes, name) || p.OpenID && slices.Contains(policy.BuiltInScopes(), name)
}

// checkDefaultScopes refuses introspection, among others: as a default
// scope, every client could introspect all tokens.
func (l *loader) checkDefaultScopes() {
	const name, scopesName = providerBlock + "DEFAULT_SCOPES", providerBlock + "SCOPES"
	p := &l.c.Provider
	if !l.ok(name, scopesName) || slices.Equal(p.DefaultScopes, []string{policy.AllScopes}) {
		return
	}
	for i, scope := range p.DefaultScopes {
		switch {
		case scope == policy.AllScopes:
			l.element(name, i, policy.AllScopes+" means all scopes; remove it or the others")
		case scope == scopeIntrospection:
			l.element(name, i, "introspection is never a default scope; an application that may have it requests it by name")
		case !p.hasScope(scope):
			l.element(name, i, "is not in SCOPES; add it there or remove it here")
		case slices.Index(p.DefaultScopes, scope) < i:
			l.element(name, i, "repeats a scope; keep one")
		}
	}
}

func (l *loader) checkSampleScopes() {
	const read, write = providerBlock + "READ_SCOPE", providerBlock + "WRITE_SCOPE"
	l.checkSampleScope(read, l.c.Provider.ReadScope)
	l.checkSampleScope(write, l.c.Provider.WriteScope)
}

func (l *loader) checkSampleScope(name, scope string) {
	const api, scopes = "SAMPLE_API", providerBlock + "SCOPES"
	switch {
	case !l.ok(name):
	case !scopeToken.MatchString(scope):
		l.wrong(scopeTokenText, name)
	case l.ok(api, scopes) && l.c.SampleAPI && !l.c.Provider.hasScope(scope):
		text := "SAMPLE_API needs the scope of %s, which is not in SCOPES; add it there or set another one"
		l.wrong(fmt.Sprintf(text, strings.TrimPrefix(name, providerBlock)), name, api, scopes)
	}
}

// RFC 9700 §4.14.2: a refresh token that is presented again after its use indicates
// a theft.
func (l *loader) checkRefresh() {
	const name = providerBlock + "REFRESH_TOKEN_REUSE_PROTECTION"
	if l.ok(name) && !l.c.Provider.Grant.ReuseProtection {
		l.wrong(
			"cannot be false: a used refresh token that is presented again indicates a theft, and its token family is revoked "+
				"(RFC 9700 §4.14.2); remove it, and see REFRESH_TOKEN_GRACE_PERIOD_SECONDS for clients that lose responses",
			name,
		)
	}
	// Whoever has set the one meant all applications.
	const grace, open = providerBlock + "REFRESH_TOKEN_GRACE_PERIOD_SECONDS",
		providerBlock + "OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS"
	_, set := l.c.sources[grace]
	_, apart := l.c.sources[open]
	if set && !apart {
		l.c.Provider.OpenRefreshGrace = l.c.Provider.RefreshGrace
	}
}

// RFC 3986 §3.1, in lower case. RFC 8252 §7.1: a private-use scheme is a reversed
// domain name, so it contains a dot. This also excludes javascript and data.
var privateScheme = regexp.MustCompile(`^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+$`)

func (l *loader) checkRedirectSchemes() {
	const name = providerBlock + "ALLOWED_REDIRECT_URI_SCHEMES"
	if !l.ok(name) {
		return
	}
	for i, scheme := range l.c.Provider.Redirects.Schemes {
		if scheme != "https" && scheme != "http" && !privateScheme.MatchString(scheme) {
			l.element(
				name, i,
				"must be https, http or a private-use scheme with a dot such as com.example.app, in lower case (RFC 8252 §7.1)",
			)
		}
	}
}

// checkByAdministrator checks the grant types and scopes that require the
// responsibility of an administrator.
func (l *loader) checkByAdministrator() {
	const grants, scopes = providerBlock + "GRANTS_BY_ADMINISTRATOR", providerBlock + "SCOPES_BY_ADMINISTRATOR"
	known := policy.GrantNames()
	if l.ok(grants) {
		for i, grant := range l.c.Provider.GrantsByAdministrator {
			if !slices.Contains(known, grant) {
				l.element(grants, i, "is not a grant type; use "+strings.Join(known, ", "))
			}
		}
	}
	if !l.ok(scopes, providerBlock+"SCOPES") {
		return
	}
	for i, scope := range l.c.Provider.ScopesByAdministrator {
		if !l.c.Provider.hasScope(scope) {
			l.element(scopes, i, "is not in SCOPES; add it there or remove it here")
		}
	}
}

// checkResources checks each resource as the provider does when an administrator adds one.
func (l *loader) checkResources() {
	const name, scopes = providerBlock + "RESOURCES", providerBlock + "SCOPES"
	p := l.c.Provider
	if !l.ok(name, scopes, "BASE_URL") {
		return
	}
	rules := provider.Config{Issuer: l.c.BaseURL + "/o", Settings: p.Settings}
	for i, r := range p.Resources.Configured {
		for _, wrong := range rules.CheckResource(r, p.Resources.Configured[:i]) {
			item := fmt.Sprintf("%s[%d]", name, i)
			l.wrong(wrong.Message, item+"."+resourceKeys[wrong.Field], item)
		}
	}
}

// resourceKeys names the key of each field of a resource.
var resourceKeys = map[string]string{
	"uri":                   "URI",
	"name":                  "NAME",
	"scopes":                "SCOPES",
	"token_format":          "TOKEN_FORMAT",
	"access_token_lifetime": "ACCESS_TOKEN_EXPIRE_SECONDS",
	"algorithm":             "ALGORITHM",
	"jwt_typ":               "JWT_TYP",
	"introspectors":         "INTROSPECTORS",
}
