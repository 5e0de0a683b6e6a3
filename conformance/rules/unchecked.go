package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// Advertised is a feature that the metadata of a server announces, and that no rule checks.
type Advertised struct {
	Name     string // what the feature is
	Member   string // the member of the metadata, with its value if it is one of a list
	Document string // what defines the feature, or ""
}

// feature is a row of the table of features without rules.
type feature struct {
	name, document, member string
	value                  string // of a list; "" stands for any value that is not false
}

// The documents that define several features.
const (
	mutualTLS = "RFC 8705"
	jar       = "OIDC Core §6, RFC 9101"
	encrypted = "OIDC Core §10.2, RFC 7516"
)

// features are the features without rules, in the order in which a report names them. The same feature can have
// several rows: the first one that applies counts.
var features = []feature{
	{"request objects by reference", jar, "request_uri_parameter_supported", ""},
	{"rich authorization requests", "RFC 9396", "authorization_details_types_supported", ""},
	{"registration of people by prompt", "OIDC Initiating User Registration", "prompt_values_supported", "create"},
	{"signed authorization responses in a fragment", "JARM", "response_modes_supported", "fragment.jwt"},
	{"backchannel authentication", "OIDC CIBA", "backchannel_authentication_endpoint", ""},
	{"backchannel authentication", "OIDC CIBA", "grant_types_supported", "urn:openid:params:grant-type:ciba"},
	{"token exchange", "RFC 8693", "grant_types_supported", "urn:ietf:params:oauth:grant-type:token-exchange"},
	{"JWTs as authorization grants", "RFC 7523", "grant_types_supported", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
	{"SAML assertions as authorization grants", "RFC 7522", "grant_types_supported",
		"urn:ietf:params:oauth:grant-type:saml2-bearer"},
	{"client authentication by a certificate", mutualTLS, "token_endpoint_auth_methods_supported",
		"self_signed_tls_client_auth"},
	{"metadata of resource servers", "RFC 9728", "protected_resources", ""},
	{"encrypted ID tokens", encrypted, "id_token_encryption_alg_values_supported", ""},
	{"encrypted UserInfo responses", encrypted, "userinfo_encryption_alg_values_supported", ""},
	{"encrypted request objects", encrypted, "request_object_encryption_alg_values_supported", ""},
	{"encrypted authorization responses", "JARM", "authorization_encryption_alg_values_supported", ""},
	{"encrypted introspection responses", "RFC 9701", "introspection_encryption_alg_values_supported", ""},
	{"aggregated and distributed claims", "OIDC Core §5.6.2", "claim_types_supported", "aggregated"},
	{"aggregated and distributed claims", "OIDC Core §5.6.2", "claim_types_supported", "distributed"},
	{"session management", "OIDC Session Management", "check_session_iframe", ""},
	{"front-channel logout", "OIDC Front-Channel", "frontchannel_logout_supported", ""},
}

// checkedGrants are the grants that have rules, and the implicit grant, which the response types announce.
var checkedGrants = []string{need.GrantCode, "refresh_token", need.GrantMachine, need.GrantPassword, need.GrantDevice,
	"implicit"}

// Unchecked returns what metadata announces and no rule checks.
func Unchecked(m check.Metadata) []Advertised {
	all := flows(m)
	add := func(a Advertised) {
		if !slices.ContainsFunc(all, func(other Advertised) bool { return other.Name == a.Name }) {
			all = append(all, a)
		}
	}
	for _, f := range features {
		switch {
		case f.value != "" && m.Lists(f.member, f.value):
			add(Advertised{f.name, f.member + ": " + f.value, f.document})
		case f.value == "" && announces(m[f.member]):
			add(Advertised{f.name, f.member, f.document})
		}
	}
	grants, _ := m.List("grant_types_supported")
	for _, grant := range grants {
		known := func(f feature) bool { return f.member == "grant_types_supported" && f.value == grant }
		if grant != "" && !slices.Contains(checkedGrants, grant) && !slices.ContainsFunc(features, known) {
			add(Advertised{"the grant " + grant, "grant_types_supported: " + grant, ""})
		}
	}
	return all
}

// flows returns the flows whose authorization endpoint returns tokens.
func flows(m check.Metadata) []Advertised {
	implicit := Advertised{Name: "the implicit flow", Document: "RFC 6749 §4.2, OIDC Core §3.2"}
	hybrid := Advertised{Name: "the hybrid flow", Document: "OIDC Core §3.3"}
	types, _ := m.List("response_types_supported")
	for _, kind := range types {
		words := strings.Fields(kind)
		of := &implicit
		if slices.Contains(words, "code") {
			of = &hybrid
		}
		tokens := slices.Contains(words, "token") || slices.Contains(words, "id_token")
		if tokens && of.Member == "" {
			of.Member = "response_types_supported: " + kind
		}
	}
	var all []Advertised
	for _, flow := range []Advertised{implicit, hybrid} {
		if flow.Member != "" {
			all = append(all, flow)
		}
	}
	return all
}

// announces reports whether the value of a member says that something is supported.
func announces(value any) bool {
	switch value := value.(type) {
	case bool:
		return value
	case string:
		return value != ""
	case []any:
		return len(value) > 0
	}
	return false
}
