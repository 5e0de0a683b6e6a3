// Package rules holds the rules of all documents: one file for a document or for a part of one. A new document is a
// new file and a line in Documents.
package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// Documents returns all documents with their rules.
func Documents() []check.Document {
	return []check.Document{
		{ID: "RFC6749", Cited: "RFC 6749", Title: "The OAuth 2.0 Authorization Framework", Rules: rfc6749()},
		{ID: "RFC6750", Cited: "RFC 6750", Title: "Bearer Token Usage", Rules: rfc6750()},
		{ID: "RFC7009", Cited: "RFC 7009", Title: "Token Revocation", Rules: rfc7009()},
		{ID: "RFC7521", Cited: "RFC 7521", Title: "Assertion Framework for Client Authentication and Authorization Grants: client authentication", Rules: rfc7521()},
		{ID: "RFC7523", Cited: "RFC 7523", Title: "JWT Profile for Client Authentication and Authorization Grants: client authentication", Rules: rfc7523()},
		{ID: "RFC7591", Cited: "RFC 7591", Title: "OAuth 2.0 Dynamic Client Registration", Rules: rfc7591()},
		{ID: "RFC7592", Cited: "RFC 7592", Title: "OAuth 2.0 Dynamic Client Registration Management", Rules: rfc7592()},
		{ID: "RFC7636", Cited: "RFC 7636", Title: "Proof Key for Code Exchange", Rules: rfc7636()},
		{ID: "RFC7662", Cited: "RFC 7662", Title: "Token Introspection", Rules: rfc7662()},
		{ID: "RFC8252", Cited: "RFC 8252", Title: "OAuth 2.0 for Native Apps", Rules: rfc8252()},
		{ID: "RFC9700", Cited: "RFC 9700", Title: "Best Current Practice for OAuth 2.0 Security", Rules: rfc9700()},
		{ID: "CIMD", Cited: "CIMD-02", Title: "Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document-02)", Rules: cimd()},
		{ID: "MCP", Cited: "MCP", Title: "Model Context Protocol, Authorization (2026-07-28)", Rules: mcp()},
		{ID: "OAuth21", Cited: "OAuth 2.1", Title: "The OAuth 2.1 Authorization Framework (draft -16): what it adds", Rules: oauth21()},
		{ID: "OIDCCore", Cited: "OIDC Core", Title: "OpenID Connect Core 1.0", Rules: oidcCore()},
		{ID: "RFC8414", Cited: "RFC 8414", Title: "Authorization Server Metadata", Rules: rfc8414()},
		{ID: "RFC8628", Cited: "RFC 8628", Title: "Device Authorization Grant", Rules: rfc8628()},
		{ID: "RFC8705", Cited: "RFC 8705", Title: "Mutual-TLS Client Authentication and Certificate-Bound Access Tokens", Rules: rfc8705()},
		{ID: "RFC8707", Cited: "RFC 8707", Title: "Resource Indicators", Rules: rfc8707()},
		{ID: "RFC9068", Cited: "RFC 9068", Title: "JWT Profile for Access Tokens", Rules: rfc9068()},
		{ID: "RFC9101", Cited: "RFC 9101", Title: "JWT-Secured Authorization Request", Rules: rfc9101()},
		{ID: "RFC9126", Cited: "RFC 9126", Title: "Pushed Authorization Requests", Rules: rfc9126()},
		{ID: "RFC9207", Cited: "RFC 9207", Title: "Authorization Server Issuer Identification", Rules: rfc9207()},
		{ID: "RFC9449", Cited: "RFC 9449", Title: "Demonstrating Proof of Possession (DPoP)", Rules: rfc9449()},
		{ID: "RFC9470", Cited: "RFC 9470", Title: "OAuth 2.0 Step Up Authentication Challenge Protocol", Rules: rfc9470()},
		{ID: "RFC9701", Cited: "RFC 9701", Title: "JWT Response for OAuth Token Introspection", Rules: rfc9701()},
		{ID: "RFC9728", Cited: "RFC 9728", Title: "Protected Resource Metadata", Rules: rfc9728()},
		{ID: "RFC10017", Cited: "RFC 10017", Title: "OAuth 2.0 for Browser-Based Applications", Rules: rfc10017()},
		{ID: "RFC10070", Cited: "RFC 10070", Title: "Updates to JWT Client Authentication", Rules: rfc10070()},
		{ID: "FAPI2", Cited: "FAPI 2.0 Security Profile", Title: "final", Rules: fapi2()},
		{ID: "FAPI2MS", Cited: "FAPI 2.0 Message Signing", Title: "final", Rules: fapi2ms()},
		{ID: "OIDCDiscovery", Cited: "OIDC Discovery", Title: "OpenID Connect Discovery 1.0", Rules: oidcDiscovery()},
		{ID: "OIDCRegistration", Cited: "OIDC Registration", Title: "OpenID Connect Dynamic Client Registration 1.0", Rules: oidcRegistration()},
		{ID: "OIDCFormPost", Cited: "OIDC Form Post", Title: "OAuth 2.0 Form Post Response Mode", Rules: oidcFormPost()},
		{ID: "JARM", Cited: "JARM", Title: "JWT Secured Authorization Response Mode", Rules: jarm()},
		{ID: "OIDCRPLogout", Cited: "OIDC RP-Logout", Title: "OpenID Connect RP-Initiated Logout 1.0", Rules: oidcRPLogout()},
		{ID: "OIDCBackChannel", Cited: "OIDC Back-Channel", Title: "OpenID Connect Back-Channel Logout 1.0", Rules: oidcBackChannel()},
	}
}

// facts returns what several rules, of one document or of several ones, are decided by, with the IDs of the rules.
func facts() map[string]string {
	return map[string]string{
		"max_age has no effect":                               "OIDCCore/3.1.2.1/max-age OIDCCore/3.1.2.1/max-age-zero OIDCCore/3.1.2.1/max-age-silent",
		"id_token_hint is not verified":                       "OIDCCore/3.1.2.2/hint-altered OIDCCore/3.1.2.2/hint-unsigned OIDCCore/3.1.2.2/hint-signed-by-another OIDCCore/3.1.2.2/hint-key-confusion",
		"responses with tokens may be stored":                 "RFC6749/5.1/no-store OIDCCore/3.1.3.3/not-stored",
		"the pages can be framed":                             "RFC9700/4.16/a48-no-clickjacking OIDCCore/3.1.2.3/clickjacking",
		"a wrong response_type is not answered to the client": "RFC6749/3.1.1/response-type-missing RFC6749/3.1.1/response-type-unknown RFC6749/4.1.2.1/invalid-request OIDCCore/3.1.2.2/error-answered",
		"the method plain is accepted":                        "RFC7636/4.4.1/unlisted-method RFC7636/7.2/plain-not-accepted",
		"a resource sends no Bearer challenge":                "RFC6750/3/challenge OIDCCore/5.3.3/no-token",
	}
}

// withFact gives a rule the fact by which it and others are decided.
func withFact(r Rule) Rule {
	for fact, ids := range facts() {
		if slices.Contains(strings.Fields(ids), r.ID) {
			r.Fact = fact
		}
	}
	return r
}

// All returns the rules of all documents.
func All() []Rule {
	var all []Rule
	for _, d := range Documents() {
		for _, r := range d.Rules {
			all = append(all, withFact(r))
		}
	}
	withSentences(all)
	for i, r := range all { // the rule whose check another one has
		if r.Fact == "" && slices.ContainsFunc(all, func(other Rule) bool { return other.Fact == r.Text }) {
			all[i].Fact = r.Text
		}
	}
	return all
}

// Profiles are named selections of rules. An entry is an ID or the beginning of one; a minus before it excludes
// rules.
func Profiles() map[string][]string {
	// OAuth 2.1 leaves out of RFC 6749 and RFC 6750: the implicit and the password grant, tokens in a query,
	// redirect_uri in the token request, and Pragma.
	oauth21 := []string{"RFC6749", "-RFC6749/4.2", "-RFC6749/4.3", "-RFC6749/10.7", "-RFC6749/4.1.3/redirect-uri-present", "-RFC6749/4.1.3/only-redirect-uri-present", "-RFC6749/4.1.3/redirect-uri-identical",
		"-RFC6749/10.6", "-RFC6749/5.1/no-cache", "RFC6750", "-RFC6750/2.3/private", "RFC7636", "RFC8252", "RFC9700", "OAuth21"}
	// FAPI 2.0 Security Profile §5.4.1 forbids RS256, which RFC 8414 §2 recommends.
	fapi := []string{"FAPI2", "RFC8414", "-RFC8414/2/token-auth-algorithms-rs256"}
	return map[string][]string{
		"oauth21":    oauth21,
		"rfc9700":    {"RFC9700"},
		"browser":    append(slices.Clone(oauth21), "RFC10017"),
		"mcp":        append(slices.Clone(oauth21), "CIMD", "MCP", "RFC9728", "RFC10017"),
		"oidc-basic": {"OIDCCore", "OIDCDiscovery"},
		"logout":     {"OIDCRPLogout", "OIDCBackChannel"},
		"fapi2":      fapi,
		"fapi2-ms":   append(slices.Clone(fapi), "FAPI2MS"),
	}
}

// Select returns the rules of a profile whose IDs begin with one of the names in only. Without names it returns all
// rules of the profile. Without a profile and names it leaves out the documents that concern some servers only: a
// profile or a name selects them.
func Select(profile string, only []string) ([]Rule, error) {
	rules := All()
	if profile == "" && len(only) == 0 {
		return slices.DeleteFunc(rules, func(r Rule) bool {
			return slices.Contains([]string{"MCP", "OAuth21", "RFC10017", "FAPI2", "FAPI2MS"}, r.Document())
		}), nil
	}
	if profile != "" {
		names, known := Profiles()[cmp.Or(map[string]string{need.ProfileMessages: "fapi2-ms"}[profile], profile)] // as Mandate names it
		if !known {
			return nil, fmt.Errorf("--profile: there is no profile %q, only %s", profile, strings.Join(slices.Sorted(maps.Keys(Profiles())), ", "))
		}
		rules = slices.DeleteFunc(rules, func(r Rule) bool { return !in(r, names) })
	}
	if len(only) == 0 {
		return rules, nil
	}
	only = slices.Clone(only)
	for i, name := range only {
		only[i] = inItsCase(name)
	}
	for _, name := range only {
		if !slices.ContainsFunc(rules, func(r Rule) bool { return r.Under(strings.TrimSuffix(name, "/")) }) {
			return nil, noRule(name, profile)
		}
	}
	rules = slices.DeleteFunc(rules, func(r Rule) bool {
		return !slices.ContainsFunc(only, func(name string) bool { return r.Under(strings.TrimSuffix(name, "/")) })
	})
	return rules, nil
}

// inItsCase writes the document of a name as its ID is written: rfc7009/2 is RFC7009/2.
func inItsCase(name string) string {
	document, rest, found := strings.Cut(name, "/")
	for _, d := range Documents() {
		if strings.EqualFold(d.ID, document) {
			document = d.ID
		}
	}
	if found {
		return document + "/" + rest
	}
	return document
}

// noRule returns an error that helps to find a rule.
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

// in reports whether a rule belongs to a profile.
func in(r Rule, profile []string) bool {
	out := func(name string) bool { return strings.HasPrefix(name, "-") && r.Under(name[1:]) }
	return slices.ContainsFunc(profile, r.Under) && !slices.ContainsFunc(profile, out)
}
