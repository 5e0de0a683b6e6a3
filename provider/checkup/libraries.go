package checkup

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// seen is what a library gets.
type seen struct {
	issuer   string // with which the application is configured
	document map[string]any
	keys     []map[string]any
	header   http.Header
}

// reading is one check that a library makes when it reads the metadata or the keys. It returns what the library
// refuses, or "".
type reading struct {
	library string
	source  string // the behaviour of the library, or the clause that it holds to
	wrong   func(seen) string
	remedy  string
}

const (
	goOIDC       = "go-oidc"
	openIDClient = "openid-client"
	spring       = "Spring Security"
	authlib      = "Authlib"
)

// proxyRemedy is for what this server never sends by itself.
const proxyRemedy = "The server does not send this by itself: look for a proxy that changes or caches the response."

// readings are the strict checks of four libraries. Programs of most languages use one of them, or one that does the
// same.
var readings = [...]reading{
	{
		goOIDC,
		"NewProvider: the issuer of the metadata is the configured one, as text (OIDC Discovery §4.3)",
		otherIssuer,
		"Give applications the issuer of this server, character by character, without a slash at its end.",
	},
	{goOIDC, "NewProvider: each known member has its type", wrongTypes, proxyRemedy},
	{goOIDC, "Verifier: one algorithm of ID tokens is known",
		noAlgorithm("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA"),
		"Rotate to a key of another kind: mandate keys rotate."},
	// It leaves out keys of a type that it does not know.
	{goOIDC, "RemoteKeySet: each key of a known type can be decoded (RFC 7518 §6)", damaged(true), proxyRemedy},

	{openIDClient, "processDiscoveryResponse: the Content-Type is application/json (RFC 8414 §3.2)", noJSON, proxyRemedy},
	{openIDClient, "processDiscoveryResponse: the issuer is the same URL", otherURL,
		"Give applications the issuer of this server, without a slash at its end."},
	{openIDClient, "each endpoint that is used is an absolute URL", relative, proxyRemedy},
	{openIDClient, "one key alone fits a token: each has another kid (RFC 7517 §4.5)", sameKID,
		"Retire one of the keys: mandate keys retire."},

	{
		spring,
		"ClientRegistrations: the issuer of the metadata is the configured one, as text",
		otherIssuer,
		"Give applications the issuer of this server, character by character, without a slash at its end.",
	},
	{
		spring,
		"OIDCProviderMetadata.parse: the members that OIDC Discovery §3 requires are there",
		missingMember,
		proxyRemedy,
	},
	{
		spring,
		"NimbusJwtDecoder: one key is of RSA or EC, for signatures",
		noUsualKey,
		"Rotate to RS256 or ES256: mandate keys rotate.",
	},

	{authlib, "JsonWebKey.import_key_set: the type of each key is known", unknownType,
		"Retire the key: mandate keys retire."},
	{authlib, "JsonWebKey.import_key_set: each key has its members", damaged(false), proxyRemedy},
	{authlib, "parse_id_token: each key has a kid, by which it is found", noKID,
		"Import the key again: mandate keys import gives it a kid."},
}

// readByLibraries returns one finding for each library: its first refusal, or that it reads everything.
func readByLibraries(s seen) []Finding {
	var found []Finding
	for _, library := range []string{goOIDC, openIDClient, spring, authlib} {
		one := Finding{Check: "libraries", Weight: Fine, About: library, Text: library + " reads the metadata and the keys."}
		for _, r := range readings {
			if r.library != library {
				continue
			}
			if wrong := r.wrong(s); wrong != "" {
				one = Finding{Check: "libraries", Weight: Wrong, About: library, Text: library + " refuses: " + wrong + " (" +
					r.source + ")", Remedy: r.remedy}
				break
			}
		}
		found = append(found, one)
	}
	return found
}

func otherIssuer(s seen) string {
	if got, _ := s.document["issuer"].(string); got != s.issuer {
		return fmt.Sprintf("the issuer is %s and not %q", clip(got), s.issuer)
	}
	return ""
}

// otherURL is otherIssuer for a library that compares as a browser does: a host in capitals is the same, a slash at
// the end is not.
func otherURL(s seen) string {
	got, _ := s.document["issuer"].(string)
	a, errA := url.Parse(got)
	b, errB := url.Parse(s.issuer)
	if errA != nil || errB != nil || a.Scheme != b.Scheme || !strings.EqualFold(a.Host, b.Host) ||
		a.EscapedPath() != b.EscapedPath() || a.RawQuery != b.RawQuery || a.Fragment != b.Fragment {
		return otherIssuer(s)
	}
	return ""
}

// texts and lists are the members that go-oidc decodes, and their types.
var (
	texts = []string{"issuer", "authorization_endpoint", "token_endpoint", "device_authorization_endpoint", "jwks_uri",
		"userinfo_endpoint"}
	lists = []string{"id_token_signing_alg_values_supported"}
)

func wrongTypes(s seen) string {
	for _, name := range texts {
		if value, sent := s.document[name]; sent && value != nil {
			if _, ok := value.(string); !ok {
				return name + " is no text"
			}
		}
	}
	for _, name := range lists {
		if value, sent := s.document[name]; sent && value != nil {
			if _, ok := listOf(value); !ok {
				return name + " is no list of texts"
			}
		}
	}
	return ""
}

func listOf(value any) ([]string, bool) {
	values, ok := value.([]any)
	var list []string
	for _, v := range values {
		text, isText := v.(string)
		ok = ok && isText
		list = append(list, text)
	}
	return list, ok
}

func noAlgorithm(known ...string) func(seen) string {
	return func(s seen) string {
		list, _ := listOf(s.document["id_token_signing_alg_values_supported"])
		if len(list) > 0 && !slices.ContainsFunc(list, func(a string) bool { return slices.Contains(known, a) }) {
			return "it knows none of the algorithms " + clip(strings.Join(list, " "))
		}
		return ""
	}
}

// missingMember names a member that OIDC Discovery §3 requires. The token endpoint is required without the implicit
// flow.
func missingMember(s seen) string {
	for _, name := range []string{"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"} {
		if value, _ := s.document[name].(string); value == "" {
			return name + " is missing"
		}
	}
	for _, name := range []string{"response_types_supported", "subject_types_supported",
		"id_token_signing_alg_values_supported"} {
		if list, ok := listOf(s.document[name]); !ok || len(list) == 0 {
			return name + " is missing, or empty"
		}
	}
	return ""
}

func noJSON(s seen) string {
	if isJSON(s.header) {
		return ""
	}
	return "the Content-Type is " + clip(s.header.Get("Content-Type"))
}

func relative(s seen) string {
	for _, name := range texts {
		value, _ := s.document[name].(string)
		if value == "" {
			continue
		}
		if u, err := url.Parse(value); err != nil || !u.IsAbs() || u.Host == "" {
			return name + " is no absolute URL"
		}
	}
	return ""
}

// members are those that a public key of a type must have (RFC 7518 §6, RFC 8037 §2).
var members = map[string][]string{"RSA": {"n", "e"}, "EC": {"crv", "x", "y"}, "OKP": {"crv", "x"}}

// binary are the members that are base64url without padding.
var binary = []string{"n", "e", "x", "y"}

func unknownType(s seen) string {
	for _, k := range s.keys {
		kind, _ := k["kty"].(string)
		if members[kind] == nil {
			return "the type of a key is unknown: " + clip(kind)
		}
	}
	return ""
}

// damaged names a key whose members are missing. A strict library also refuses another base64 than that of RFC 7515 §2.
func damaged(strict bool) func(seen) string {
	return func(s seen) string {
		for _, k := range s.keys {
			kind, _ := k["kty"].(string)
			for _, name := range members[kind] {
				value, _ := k[name].(string)
				_, err := base64.RawURLEncoding.DecodeString(value)
				if value == "" || strict && slices.Contains(binary, name) && err != nil {
					return "a key of the type " + kind + " has no usable " + name
				}
			}
		}
		return ""
	}
}

func sameKID(s seen) string {
	known := map[any]bool{}
	for _, k := range s.keys {
		if known[k["kid"]] {
			return "two keys have the same kid, or none"
		}
		known[k["kid"]] = true
	}
	return ""
}

func noKID(s seen) string {
	for _, k := range s.keys {
		if kid, _ := k["kid"].(string); kid == "" {
			return "a key has no kid"
		}
	}
	return ""
}

func noUsualKey(s seen) string {
	if slices.ContainsFunc(s.keys, func(k map[string]any) bool {
		return (k["kty"] == "RSA" || k["kty"] == "EC") && (k["use"] == nil || k["use"] == "sig")
	}) {
		return ""
	}
	return "no key of RSA or EC is for signatures"
}
