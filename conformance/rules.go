package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Documents are all that is known here.
func Documents() []Document {
	return []Document{
		{"RFC6749", "RFC 6749", "The OAuth 2.0 Authorization Framework", rfc6749()},
		{"RFC6750", "RFC 6750", "Bearer Token Usage", rfc6750()},
		{"RFC7009", "RFC 7009", "Token Revocation", rfc7009()},
		{"RFC7636", "RFC 7636", "Proof Key for Code Exchange", rfc7636()},
		{"RFC7662", "RFC 7662", "Token Introspection", rfc7662()},
		{"RFC8252", "RFC 8252", "OAuth 2.0 for Native Apps", rfc8252()},
		{"RFC9700", "RFC 9700", "Best Current Practice for OAuth 2.0 Security", rfc9700()},
		{"MCP", "MCP", "Model Context Protocol, Authorization (2026-07-28)", mcp()},
		{"OIDCCore", "OIDC Core", "OpenID Connect Core 1.0", oidcCore()},
		{"RFC8414", "RFC 8414", "Authorization Server Metadata", rfc8414()},
		{"RFC8707", "RFC 8707", "Resource Indicators", rfc8707()},
		{"RFC9068", "RFC 9068", "JWT Profile for Access Tokens", rfc9068()},
		{"RFC9207", "RFC 9207", "Authorization Server Issuer Identification", rfc9207()},
		{"OIDCDiscovery", "OIDC Discovery", "OpenID Connect Discovery 1.0", oidcDiscovery()},
		{"OIDCRegistration", "OIDC Registration", "OpenID Connect Dynamic Client Registration 1.0", oidcRegistration()},
		{"OIDCFormPost", "OIDC Form Post", "OAuth 2.0 Form Post Response Mode", oidcFormPost()},
		{"OIDCRPLogout", "OIDC RP-Logout", "OpenID Connect RP-Initiated Logout 1.0", oidcRPLogout()},
		{"OIDCBackChannel", "OIDC Back-Channel", "OpenID Connect Back-Channel Logout 1.0", oidcBackChannel()},
	}
}

// Rules are those of all documents.
func Rules() []Rule {
	var all []Rule
	for _, d := range Documents() {
		all = append(all, d.Rules...)
	}
	return all
}

// Profiles name sets of rules, as ids or their beginnings. One with a minus before it is left out.
func Profiles() map[string][]string {
	// What is left of RFC 6749 and RFC 6750 in OAuth 2.1: no implicit and no password grant, no token in the
	// query, no redirect_uri in the token request, and no Pragma.
	oauth21 := []string{"RFC6749", "-RFC6749/4.2", "-RFC6749/4.3", "-RFC6749/10.7", "-RFC6749/4.1.3/redirect-uri-present", "-RFC6749/4.1.3/only-redirect-uri-present", "-RFC6749/4.1.3/redirect-uri-identical",
		"-RFC6749/10.6", "-RFC6749/5.1/no-cache", "RFC6750", "-RFC6750/2.3/private", "RFC7636", "RFC8252", "RFC9700"}
	return map[string][]string{
		"oauth21":    oauth21,
		"rfc9700":    {"RFC9700"},
		"mcp":        append(slices.Clone(oauth21), "MCP"),
		"oidc-basic": {"OIDCCore", "OIDCDiscovery"},
		"logout":     {"OIDCRPLogout", "OIDCBackChannel"},
	}
}

// Select picks rules by profile and by the beginnings of their ids; empty is all.
func Select(profile string, only []string) ([]Rule, error) {
	rules := Rules()
	if profile != "" {
		names, known := Profiles()[profile]
		if !known {
			return nil, fmt.Errorf("--profile: there is no profile %q, only %s", profile, strings.Join(slices.Sorted(maps.Keys(Profiles())), ", "))
		}
		rules = slices.DeleteFunc(rules, func(r Rule) bool { return !in(r, names) })
	}
	if len(only) == 0 {
		return rules, nil
	}
	for _, name := range only {
		if !slices.ContainsFunc(rules, func(r Rule) bool { return r.under(strings.TrimSuffix(name, "/")) }) {
			return nil, noRule(name, profile)
		}
	}
	rules = slices.DeleteFunc(rules, func(r Rule) bool {
		return !slices.ContainsFunc(only, func(name string) bool { return r.under(strings.TrimSuffix(name, "/")) })
	})
	return rules, nil
}

// noRule says where to look for a rule that is not there.
func noRule(name, profile string) error {
	document, _, _ := strings.Cut(name, "/")
	var known []string
	for _, d := range Documents() {
		known = append(known, d.ID)
	}
	switch {
	case !slices.Contains(known, document):
		return fmt.Errorf("--only: there is no document %q, only %s", document, strings.Join(known, ", "))
	case profile != "":
		return fmt.Errorf("--only: the profile %s has no rule under %q: --list --profile %s shows its rules", profile, name, profile)
	}
	return fmt.Errorf("--only: no rule is under %q: --list --only %s shows those of the document", name, document)
}

// in says whether a rule belongs to a profile.
func in(r Rule, profile []string) bool {
	out := func(name string) bool { return strings.HasPrefix(name, "-") && r.under(name[1:]) }
	return slices.ContainsFunc(profile, r.under) && !slices.ContainsFunc(profile, out)
}
