// Package rules has the rules of all documents. The folder tables has them as text, one file for each document; its
// documents.txt explains them. The Go files have the functions that check the rules, by their IDs.
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

// allChecks are the checks of all rules.
var allChecks = []checks{
	cimdDiscovery, cimdDocument, cimdSecurity, fapi2Assertions, fapi2Code, fapi2Cryptography, fapi2Flow,
	fapi2General, fapi2Identifier, fapi2Network, fapi2Resource, fapi2msClients, fapi2msRequests,
	fapi2msResponses, jarm, mcp, oauth21, oidcClaimTypes, oidcClaims, oidcClientMetadata, oidcClients,
	oidcDiscoveryDocument, oidcDiscoveryEndpoints, oidcDiscoveryValues, oidcFormPost, oidcHints, oidcIDToken,
	whereAnnounced(oidcLogoutNotice), oidcLogoutRedirect, oidcLogoutRequest, whereAnnounced(oidcLogoutToken),
	oidcMandatory, oidcOffline, oidcOtherFlows, oidcPrivacy, oidcPrompt, oidcRefresh, oidcRegistrationEndpoint,
	oidcRequest, oidcRequestObjects, oidcResponse, oidcScopes, oidcSecurity, oidcSerialization, oidcSigning,
	oidcStandardClaims, oidcSubjects, oidcToken, oidcUserInfo, oidcUserInfoSigned, oidcValidation, rfc10017,
	rfc10070, rfc6749Answers, rfc6749Authorization, rfc6749Clients, rfc6749Code, rfc6749CodeErrors,
	rfc6749Errors, rfc6749Grants, rfc6749Redemption, rfc6749Refresh, rfc6749Security, rfc6749TokenEndpoint,
	rfc6750, rfc7009, rfc7521, rfc7523Claims, rfc7523Parameters, rfc7523Signature, rfc7591Endpoint,
	rfc7591Metadata, rfc7591Security, rfc7592, rfc7636, rfc7662Endpoint, rfc7662Security, rfc8252Redirects,
	rfc8252Security, rfc8414Document, rfc8414Values, rfc8628, rfc8705Clients, rfc8705Tokens, rfc8707,
	rfc9068Claims, rfc9068Header, rfc9068Requests, rfc9068Validation, rfc9101Object, rfc9101Request,
	rfc9126Authorization, rfc9126Endpoint, rfc9207, rfc9449API, rfc9449Code, rfc9449Nonce, rfc9449Proof,
	rfc9449Token, rfc9470, rfc9700Clients, rfc9700Grants, rfc9700Others, rfc9700Pages, rfc9700Redirects,
	rfc9700Refresh, rfc9700Tokens, rfc9701, rfc9728,
}

// Documents returns all documents with their rules.
func Documents() []check.Document {
	documents := slices.Clone(loaded())
	for i, d := range documents {
		documents[i].Rules = slices.Clone(d.Rules)
	}
	return documents
}

// All returns the rules of all documents.
func All() []Rule {
	var all []Rule
	for _, d := range loaded() {
		all = append(all, d.Rules...)
	}
	return all
}

// Profiles are named selections of rules. An entry is an ID or the beginning of one; a minus before it excludes
// rules.
func Profiles() map[string][]string {
	// OAuth 2.1 leaves out of RFC 6749 and RFC 6750: the implicit and the password grant, tokens in a query,
	// redirect_uri in the token request, and Pragma.
	oauth21 := []string{"RFC6749", "-RFC6749/4.2", "-RFC6749/4.3", "-RFC6749/10.7", "-RFC6749/4.1.3/redirect-uri-present",
		"-RFC6749/4.1.3/only-redirect-uri-present", "-RFC6749/4.1.3/redirect-uri-identical",
		"-RFC6749/10.6", "-RFC6749/5.1/no-cache", "RFC6750", "-RFC6750/2.3/private", "RFC7636", "RFC8252",
		"RFC9700", "OAuth21"}
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
		// as Mandate names it
		names, known := Profiles()[cmp.Or(map[string]string{need.ProfileMessages: "fapi2-ms"}[profile], profile)]
		if !known {
			return nil, fmt.Errorf("--profile: there is no profile %q, only %s", profile,
				strings.Join(slices.Sorted(maps.Keys(Profiles())), ", "))
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
		return fmt.Errorf("--only: the profile %s has no rule under %q: --list --profile %s shows its rules", profile,
			name, profile)
	}
	return fmt.Errorf("--only: no rule is under %q: --list --only %s shows those of the document", name, document)
}

// in reports whether a rule belongs to a profile.
func in(r Rule, profile []string) bool {
	out := func(name string) bool { return strings.HasPrefix(name, "-") && r.Under(name[1:]) }
	return slices.ContainsFunc(profile, r.Under) && !slices.ContainsFunc(profile, out)
}
