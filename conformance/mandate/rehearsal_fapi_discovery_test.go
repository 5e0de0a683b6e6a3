package mandate

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The metadata of the server, on SQLite.

// The module discovery-end-point-verification, for both documents and all variants.
func TestRehearsalFAPIDiscovery(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, newSQLite(t))
	for name, address := range map[string]string{"openid_connect": "/o/.well-known/openid-configuration",
		"plain_oauth": "/.well-known/oauth-authorization-server/o"} {
		t.Run(name, func(t *testing.T) {
			meta := r.get(t, address, nobody).JSON(t)
			checkEqual(t, "issuer", meta["issuer"], any(r.Issuer))
			for _, problem := range wrongInMetadata(meta) {
				t.Error(problem)
			}
			for member, want := range map[string]any{"authorization_response_iss_parameter_supported": true,
				"require_pushed_authorization_requests":      false,
				"tls_client_certificate_bound_access_tokens": true, "request_parameter_supported": true} {
				checkEqual(t, member, meta[member], want)
			}
			for member, want := range map[string]string{
				"code_challenge_methods_supported":      "S256",
				"response_types_supported":              "code",
				"grant_types_supported":                 "authorization_code client_credentials refresh_token",
				"response_modes_supported":              "jwt query.jwt",
				"token_endpoint_auth_methods_supported": "private_key_jwt tls_client_auth self_signed_tls_client_auth",
			} {
				for one := range strings.SplitSeq(want, " ") {
					if !slices.Contains(strings.Split(listOf(meta, member), " "), one) {
						t.Errorf("%s is %v, want %s too", member, meta[member], one)
					}
				}
			}
			// FAPI 2.0 Security Profile §5.4.1
			for _, member := range []string{"dpop_signing_alg_values_supported",
				"token_endpoint_auth_signing_alg_values_supported", "id_token_signing_alg_values_supported",
				"request_object_signing_alg_values_supported", "userinfo_signing_alg_values_supported",
				"authorization_signing_alg_values_supported", "introspection_signing_alg_values_supported"} {
				list := strings.Split(listOf(meta, member), " ")
				if !slices.Contains(list, "PS256") || !slices.Contains(list, "ES256") || slices.Contains(list, "none") {
					t.Errorf("%s is %v", member, list)
				}
			}
			aliases, _ := meta["mtls_endpoint_aliases"].(map[string]any)
			for _, endpoint := range []string{"token_endpoint", "pushed_authorization_request_endpoint",
				"introspection_endpoint", "userinfo_endpoint"} {
				for from, at := range map[any]string{meta[endpoint]: r.URL, aliases[endpoint]: r.mutual} {
					text, _ := from.(string)
					if !strings.HasPrefix(text, at+"/o/") {
						t.Errorf("%s is %v, want it at %s", endpoint, from, at)
					}
				}
			}
			r.checkKeys(t, textOf(meta, "jwks_uri"))
		})
	}
}

// checkKeys checks the keys of the server (FAPI 2.0 Security Profile §5.4.1, §5.4.2).
func (r *rehearsal) checkKeys(t *testing.T, address string) {
	if !strings.HasPrefix(address, "https://") {
		t.Errorf("jwks_uri is %q", address)
	}
	seen := map[string]bool{}
	for _, key := range listed(r.get(t, strings.TrimPrefix(address, r.URL), nobody).JSON(t)["keys"]) {
		one := key.(map[string]any)
		kid, _ := one["kid"].(string)
		if kid == "" || seen[kid] || one["d"] != nil || one["kty"] == "RSA" && len(textOf(one, "n")) < 342 {
			t.Errorf("the key %q", kid)
		}
		seen[kid] = true
	}
	if len(seen) == 0 {
		t.Error("there are no keys")
	}
}

// The types of the metadata (RFC 8414 §2, OIDC Discovery §3, and the documents that add members).
// A member that is in none of these is unknown.
var (
	metadataURLs = regexp.MustCompile(
		`^(issuer|jwks_uri|service_documentation|op_policy_uri|op_tos_uri|[a-z_]+_endpoint)$`)
	// metadataFlags is matched first: a flag may end as a list does.
	metadataFlags = regexp.MustCompile(
		`^(require_[a-z_]+|[a-z_]+_(parameter|session|logout|document)_supported|tls_client_certificate_bound_access_tokens)$`)
	metadataLists = regexp.MustCompile(`^[a-z_]+_supported$`)
)

// The syntax of the values of some lists.
var metadataValues = map[string]*regexp.Regexp{
	// RFC 6749 §3.3.
	"scopes_supported": regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]+$`),
	// BCP 47 (RFC 5646 §2.1): a language, and subtags of one to eight letters or digits.
	"ui_locales_supported":     regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`),
	"claims_locales_supported": regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`),
}

// wrongInMetadata lists the members of a metadata document that have a wrong type, or are unknown.
func wrongInMetadata(meta member) []string {
	var problems []string
	wrong := func(name, what string) {
		problems = append(problems, fmt.Sprintf("%s is %v: %s", name, meta[name], what))
	}
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		switch {
		case name == "mtls_endpoint_aliases":
			aliases, _ := meta[name].(map[string]any)
			if len(aliases) == 0 {
				wrong(name, "want an object")
			}
			for endpoint, address := range aliases {
				// RFC 8705 §5: each is another address of an endpoint of the server.
				if !isSecureURL(address) || !strings.HasSuffix(endpoint, "_endpoint") || meta[endpoint] == nil {
					wrong(name, "want the https URLs of endpoints that the server has")
				}
			}
		case metadataURLs.MatchString(name):
			if !isSecureURL(meta[name]) {
				wrong(name, "want an https URL")
			}
		case metadataFlags.MatchString(name):
			if _, flag := meta[name].(bool); !flag {
				wrong(name, "want true or false")
			}
		case metadataLists.MatchString(name):
			if what := wrongInList(meta[name], metadataValues[name]); what != "" {
				wrong(name, what)
			}
		default:
			wrong(name, "the member is unknown")
		}
	}
	return problems
}

// isSecureURL reports whether a value is a complete URL with the scheme https.
func isSecureURL(value any) bool {
	text, _ := value.(string)
	at, err := url.Parse(text)
	return err == nil && at.Scheme == "https" && at.Host != "" && at.User == nil && !strings.Contains(text, "#")
}

// wrongInList says what is wrong with a list of names, or returns "". syntax is that of each name,
// or nil.
func wrongInList(value any, syntax *regexp.Regexp) string {
	seen := map[string]bool{}
	for _, one := range listed(value) {
		text, _ := one.(string)
		if text == "" || seen[text] || syntax != nil && !syntax.MatchString(text) {
			return "want different strings that are not empty, in the syntax of this list"
		}
		seen[text] = true
	}
	if len(seen) == 0 {
		return "want an array that is not empty"
	}
	return ""
}

// Each wrong member is found, and each right one is not.
func TestRehearsalFAPIMetadataTypes(t *testing.T) {
	right := member{
		"issuer": "https://as.example/o", "token_endpoint": "https://as.example/o/token/",
		"jwks_uri": "https://as.example/keys", "require_pushed_authorization_requests": false,
		"request_parameter_supported": true, "backchannel_logout_session_supported": true,
		"scopes_supported": []any{"openid", "a:b/c"}, "ui_locales_supported": []any{"en", "zh-Hant-TW", "de-1996"},
		"mtls_endpoint_aliases": map[string]any{"token_endpoint": "https://mtls.as.example/o/token/"},
	}
	if problems := wrongInMetadata(right); problems != nil {
		t.Errorf("right, but: %v", problems)
	}
	for name, values := range map[string][]any{
		"issuer": {"http://as.example/o", "https:///o", "as.example",
			"https://as.example/#a", 7.0, nil},
		"token_endpoint":                        {"http://as.example/o/token/", ""},
		"jwks_uri":                              {"/keys"},
		"require_pushed_authorization_requests": {"false", nil},
		"request_parameter_supported":           {[]any{"true"}, 1.0},
		"backchannel_logout_session_supported":  {"yes"},
		"scopes_supported": {"openid", []any{}, []any{""}, []any{1.0}, []any{"a b"}, []any{`a"b`},
			[]any{"a", "a"}, nil},
		"ui_locales_supported":     {[]any{"en_GB"}, []any{"e"}, []any{"en-"}, []any{"en-verylongsubtag"}},
		"claims_locales_supported": {"en", []any{"german language"}},
		"mtls_endpoint_aliases": {map[string]any{},
			map[string]any{"token_endpoint": "http://mtls.as.example/"},
			map[string]any{"other_endpoint": "https://mtls.as.example/"}},
		"surprise": {"of another kind"},
	} {
		for _, value := range values {
			changed := maps.Clone(right)
			changed[name] = value
			if problems := wrongInMetadata(changed); len(problems) != 1 || !strings.HasPrefix(problems[0], name+" is ") {
				t.Errorf("%s %v: %v", name, value, problems)
			}
		}
	}
}
