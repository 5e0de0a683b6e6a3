package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Level is how strongly a document asks for something. A MUST NOT is a MUST, a SHOULD NOT and a
// RECOMMENDED are a SHOULD. A MAY is a choice: the row says what Mandate chose, and that another server
// chose otherwise is no fault of it.
type Level string

const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Rule is one thing that a document asks of an authorization server. It is checked, or not observable from
// outside, or not applicable: exactly one of Check, Elsewhere and Inapplicable is set.
type Rule struct {
	ID    string // document, clause and name: RFC6749/4.1.3/code-bound-to-client
	Level Level
	Text  string // what is required, in one sentence of ours
	Needs []Need // without which the check is skipped
	Check func(*T)

	// Elsewhere is the test of Mandate that holds what is not observable from outside: file:Test.
	Elsewhere string
	// Inapplicable says why the rule asks nothing of Mandate.
	Inapplicable string
	// Waived says why Mandate does not do what the rule, a SHOULD, asks for.
	Waived string
	// Alone is for a check that disturbs others, or is disturbed by them, while it runs. One that revokes a token
	// does: some servers end all that the client has of the person with it.
	Alone bool
}

// unchecked is the status of a rule without a check, and what there is to say of it.
func (r Rule) unchecked() (Status, string) {
	switch {
	case r.Inapplicable != "":
		return Inapplicable, r.Inapplicable
	case r.Elsewhere != "":
		return Unobservable, "Mandate's own test is " + r.Elsewhere
	}
	return "", ""
}

// Document is the part of the ID before the first slash.
func (r Rule) Document() string { return r.part(0) }

// Clause is the number of the section.
func (r Rule) Clause() string { return r.part(1) }

// Name tells the rules of one clause apart.
func (r Rule) Name() string { return r.part(2) }

func (r Rule) part(n int) string {
	parts := strings.SplitN(r.ID, "/", 3)
	if n >= len(parts) {
		return ""
	}
	return parts[n]
}

// under says whether the rule is the one named, or in the document or clause named: RFC6749/4.1 names
// 4.1 and all below it.
func (r Rule) under(name string) bool {
	if r.ID == name || strings.HasPrefix(r.ID, name+"/") {
		return true
	}
	document, clause, found := strings.Cut(name, "/")
	return found && document == r.Document() && strings.HasPrefix(r.Clause(), clause+".")
}

// Document is a specification with its rules, in its own order.
type Document struct {
	ID    string // RFC6749
	Cited string // as comments cite it: RFC 6749
	Title string
	Rules []Rule
}

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

// in says whether a rule belongs to a profile.
func (r Rule) in(profile []string) bool {
	out := func(name string) bool { return strings.HasPrefix(name, "-") && r.under(name[1:]) }
	return slices.ContainsFunc(profile, r.under) && !slices.ContainsFunc(profile, out)
}

// Select picks rules by profile and by the beginnings of their ids; empty is all.
func Select(profile string, only []string) ([]Rule, error) {
	rules := Rules()
	if profile != "" {
		names, known := Profiles()[profile]
		if !known {
			return nil, fmt.Errorf("--profile: there is no profile %q, only %s", profile, strings.Join(slices.Sorted(maps.Keys(Profiles())), ", "))
		}
		rules = slices.DeleteFunc(rules, func(r Rule) bool { return !r.in(names) })
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

// Need is something that a check cannot do without. A need is a client by its role, an endpoint by its name
// in the metadata, or one of those below.
type Need string

const (
	NeedUser   Need = "user"   // somebody who can sign in
	NeedAPI    Need = "api"    // a resource that takes access tokens
	NeedOpenID Need = "openid" // the server is an OpenID Provider

	// The clients: Roles says what they are.
	NeedCode       Need = "code"
	NeedSecond     Need = "second"
	NeedPublic     Need = "public"
	NeedMachine    Need = "machine"
	NeedPassword   Need = "password"
	NeedIntrospect Need = "introspection"
	NeedLoopback   Need = "loopback"
	NeedScheme     Need = "scheme"
	NeedSeveral    Need = "several"
	NeedHS256      Need = "hs256"
	NeedPairwise   Need = "pairwise"
	NeedLogout     Need = "logout"
	NeedSigned     Need = "signed"
	NeedJWT        Need = "jwt"
	NeedElsewhere  Need = "elsewhere"

	NeedBackchannel Need = "backchannel"

	// The endpoints.
	NeedAuthorization Need = "authorization_endpoint"
	NeedToken         Need = "token_endpoint"
	NeedIntrospection Need = "introspection_endpoint"
	NeedRevocation    Need = "revocation_endpoint"
	NeedUserInfo      Need = "userinfo_endpoint"
	NeedKeys          Need = "jwks_uri"
	NeedEndSession    Need = "end_session_endpoint"
	NeedRegistration  Need = "registration_endpoint"
)

func (n Need) role() bool {
	_, known := roleOf(n)
	return known
}

func (n Need) endpoint() bool { return strings.Contains(string(n), "_") }
