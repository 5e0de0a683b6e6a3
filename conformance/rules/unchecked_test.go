package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/conformance/check"
)

func TestUnchecked(t *testing.T) {
	list := func(values ...string) []any {
		var all []any
		for _, v := range values {
			all = append(all, v)
		}
		return all
	}
	const implicit, hybrid = "RFC 6749 §4.2, OIDC Core §3.2", "OIDC Core §3.3"
	for _, row := range []struct {
		name     string
		metadata check.Metadata
		want     []Advertised
	}{
		{"nothing", check.Metadata{}, nil},
		{"what has rules", check.Metadata{
			"response_types_supported": list("code", "none"), "response_modes_supported": list("query", "fragment", "form_post"),
			"grant_types_supported": list("authorization_code", "refresh_token", "client_credentials",
				"password", "implicit"),
			"token_endpoint_auth_methods_supported": list("client_secret_basic", "client_secret_post", "none"),
			"claim_types_supported":                 list("normal"), "backchannel_logout_supported": true,
			"claims_parameter_supported": true,
		}, nil},
		{"what the server denies",
			check.Metadata{"request_parameter_supported": false, "frontchannel_logout_supported": false,
				"dpop_signing_alg_values_supported": list(),
				"check_session_iframe":              "", "tls_client_certificate_bound_access_tokens": nil}, nil},
		{"flows", check.Metadata{"response_types_supported": list("code", "id_token", "id_token token",
			"token id_token code")}, []Advertised{
			{"the implicit flow", "response_types_supported: id_token", implicit},
			{"the hybrid flow", "response_types_supported: token id_token code", hybrid},
		}},
		{"one feature by several members", check.Metadata{"backchannel_authentication_endpoint": "https://a.example/ask",
			"grant_types_supported": list("urn:openid:params:grant-type:ciba")}, []Advertised{
			{"backchannel authentication", "backchannel_authentication_endpoint", "OIDC CIBA"},
		}},
		{"grants", check.Metadata{"grant_types_supported": list("urn:ietf:params:oauth:grant-type:token-exchange",
			"urn:example:grant", "urn:openid:params:grant-type:ciba")}, []Advertised{
			{"backchannel authentication", "grant_types_supported: urn:openid:params:grant-type:ciba", "OIDC CIBA"},
			{"token exchange", "grant_types_supported: urn:ietf:params:oauth:grant-type:token-exchange", "RFC 8693"},
			{"the grant urn:example:grant", "grant_types_supported: urn:example:grant", ""},
		}},
		{"endpoints, lists and booleans", check.Metadata{
			"pushed_authorization_request_endpoint": "https://a.example/par", "request_uri_parameter_supported": true,
			"dpop_signing_alg_values_supported":          list("ES256"),
			"token_endpoint_auth_methods_supported":      list("private_key_jwt", "client_secret_jwt", "tls_client_auth"),
			"tls_client_certificate_bound_access_tokens": true, "authorization_details_types_supported": list("payment"),
			"id_token_encryption_alg_values_supported": list("RSA-OAEP"), "check_session_iframe": "https://a.example/frame",
			"frontchannel_logout_supported": true, "response_modes_supported": list("query", "query.jwt", "jwt", "fragment.jwt"),
		}, []Advertised{
			{"request objects by reference", "request_uri_parameter_supported", jar},
			{"rich authorization requests", "authorization_details_types_supported", "RFC 9396"},
			{"signed authorization responses in a fragment", "response_modes_supported: fragment.jwt", "JARM"},
			{"encrypted ID tokens", "id_token_encryption_alg_values_supported", encrypted},
			{"session management", "check_session_iframe", "OIDC Session Management"},
			{"front-channel logout", "frontchannel_logout_supported", "OIDC Front-Channel"},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, Unchecked(row.metadata)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Each row of the table can be announced, and its document is named.
func TestUncheckedFeatures(t *testing.T) {
	for _, f := range features {
		m := check.Metadata{f.member: true}
		if f.value != "" {
			m[f.member] = []any{f.value}
		}
		got := Unchecked(m)
		if !slices.ContainsFunc(got, func(a Advertised) bool {
			return a.Name == f.name && strings.HasPrefix(a.Member, f.member) && a.Document != ""
		}) {
			t.Errorf("%s of the metadata gives %v, want %q", f.member, got, f.name)
		}
	}
}
