package config

import (
	"regexp"
	"strings"
)

// unavailable lists the settings of django-oauth-toolkit that do not exist here:
// why, and what to do instead. A name that ends in * matches every name with that
// beginning. The first match counts.
var unavailable = []struct{ key, text string }{
	{
		"COMPLIANT_BCP_RFC9700_*",
		"is not needed: RFC 9700 is the default, and each exception is a setting of its own; remove it",
	},
	{"OIDC_SERVER_CLASS", pythonCode},
	{"OIDC_ISS_ENDPOINT", "cannot be set: the issuer is BASE_URL followed by /o; set BASE_URL, and remove it"},
	{"OIDC_USERINFO_ENDPOINT", "cannot be set: it is /o/userinfo/ below BASE_URL; remove it"},
	{"OIDC_RESPONSE_TYPES_SUPPORTED", served},
	{
		"OIDC_SUBJECT_TYPES_SUPPORTED",
		"cannot be set: both are supported, and each application chooses whether its subjects are pairwise; remove it",
	},
	{"OIDC_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED", served},
	{
		"OIDC_BACKCHANNEL_LOGOUT_*",
		"is not needed: every application that registers a back-channel logout URI is notified; remove it",
	},
	{"SCOPES_BACKEND_CLASS", "loads Python code; list the scopes in SCOPES"},
	{"OAUTH2_SERVER_CLASS", pythonCode},
	{"OAUTH2_VALIDATOR_CLASS", pythonCode},
	{"OAUTH2_BACKEND_CLASS", pythonCode},
	{"EXTRA_SERVER_KWARGS", pythonCode},
	{"ALWAYS_RELOAD_OAUTHLIB_CORE", pythonCode},
	{"OAUTH_PRE_TOKEN_VALIDATION", pythonCode},
	{"REDIRECT_URI_VALIDATOR", pythonCode},
	{"ALLOWED_ORIGIN_VALIDATOR", pythonCode},
	{"RESOURCE_SERVER_TOKEN_RESOURCE_VALIDATOR", pythonCode},
	{"ACCESS_TOKEN_GENERATOR", generated},
	{"REFRESH_TOKEN_GENERATOR", generated},
	{"CLIENT_ID_GENERATOR_CLASS", generated},
	{"CLIENT_SECRET_GENERATOR_CLASS", generated},
	{"CLIENT_SECRET_GENERATOR_LENGTH", generated},
	{
		"CLIENT_SECRET_HASHER",
		"cannot be set: a generated secret has 256 random bits and is stored as SHA-256, one that a person chose as " +
			"Argon2id; remove it",
	},
	{"APPLICATION_MODEL", djangoModel},
	{"ACCESS_TOKEN_MODEL", djangoModel},
	{"GRANT_MODEL", djangoModel},
	{"REFRESH_TOKEN_MODEL", djangoModel},
	{"ID_TOKEN_MODEL", djangoModel},
	{"DEVICE_GRANT_MODEL", djangoModel},
	{"PAR_REQUEST_MODEL", djangoModel},
	{"OAUTH2_PROVIDER_*", djangoModel},
	{"APPLICATION_ADMIN_CLASS", djangoModel},
	{"ACCESS_TOKEN_ADMIN_CLASS", djangoModel},
	{"GRANT_ADMIN_CLASS", djangoModel},
	{"REFRESH_TOKEN_ADMIN_CLASS", djangoModel},
	{"ID_TOKEN_ADMIN_CLASS", djangoModel},
	{"DEVICE_GRANT_ADMIN_CLASS", djangoModel},
	{"PAR_REQUEST_ADMIN_CLASS", djangoModel},
	{"ALLOW_URI_WILDCARDS", "is not supported: redirect URIs are compared exactly (RFC 9700 §4.1.3); register each one"},
	{"ALLOWED_SCHEMES", "is not supported: no endpoint has a list of allowed origins; remove it"},
	{"CLEAR_EXPIRED_TOKENS_BATCH_INTERVAL", "is named CLEANUP_INTERVAL_SECONDS here, at the top level"},
	{
		"AUTHENTICATION_SERVER_EXP_TIME_ZONE",
		"is not needed: exp is in seconds since 1970 in UTC (RFC 7662 §2.2); remove it",
	},
	{
		"RESOURCE_SERVER_INTROSPECTION_JWT_*",
		"is not supported; use RESOURCE_SERVER_INTROSPECTION_CREDENTIALS or RESOURCE_SERVER_AUTH_TOKEN",
	},
	{"CLIENT_ASSERTION_*", "cannot be set: applications may authenticate with a signed JWT, " +
		"whose limits are fixed; remove it"},
	{"DCR_ENABLED",
		"is named REGISTRATION_WITH_TOKEN here; OPEN_CLIENTS lets programs register themselves without a token"},
	{"DCR_*", "is not needed: a registration needs an initial access token, which administrators make, " +
		"unless OPEN_CLIENTS says otherwise; remove it"},
	{"CIMD_ENABLED", "is named OPEN_CLIENTS here: write OPEN_CLIENTS: [documents]"},
	{"CIMD_*", "cannot be set: metadata documents are read with fixed limits; OPEN_CLIENTS enables them; remove it"},
	{"OAUTH_DEVICE_*", "cannot be set: the page for devices is BASE_URL/device, " +
		"and user codes always have the same form (RFC 8628 §6.1); remove it"},
	{"PAR_ENABLED", "is not needed: applications may always push their authorization requests (RFC 9126); remove it"},
	{"PAR_REQUEST_URI_LIFETIME_SECONDS", "is named PUSHED_REQUEST_EXPIRE_SECONDS here"},
	{"PAR_*", "is not supported; the settings of pushed authorization requests begin with PUSHED_REQUEST here"},
	{"OAUTH2_PROTECTED_RESOURCE_*",
		"is not supported; the settings of the metadata of an API begin with RESOURCE_SERVER here"},
	{"OAUTH2_RESPONSE_TYPES_SUPPORTED", served},
	{"OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED", served},
	{"OAUTH2_GRANT_TYPES_SUPPORTED", served},
	{"REQUIRE_FORM_ENCODED_REQUEST_BODY", "cannot be set: requests are forms (RFC 6749 §3.2); remove it"},
}

const (
	served     = "cannot be set: the server advertises what it supports; remove it"
	pythonCode = "names Python code, which this server does not run; remove it"
	generated  = "cannot be set: the server generates identifiers, secrets and tokens, with 256 random bits if they " +
		"are secret; remove it"
	djangoModel = "belongs to Django's models; remove it"
)

// unavailableText is the sentence for a setting of django-oauth-toolkit that does
// not exist here, or empty.
func unavailableText(key string) string {
	for _, u := range unavailable {
		prefix, open := strings.CutSuffix(u.key, "*")
		if key == u.key || open && strings.HasPrefix(key, prefix) {
			return u.text
		}
	}
	return ""
}

// unknownKey says what to do about a key that is not among fields.
func unknownKey(key, name string, fields []field) string {
	here := keysOf(fields)
	if strings.HasPrefix(name, "RULES[") {
		return "is not part of a rule" + suggestion(key, here)
	}
	if strings.HasPrefix(name, "SIGN_IN_SERVERS[") {
		return "is not part of a server" + suggestion(key, here)
	}
	if strings.HasPrefix(name, providerBlock+"SOFTWARE_STATEMENT_ISSUERS[") {
		return "is not part of an issuer" + suggestion(key, here)
	}
	if strings.HasPrefix(name, providerBlock+"RESOURCES[") {
		return "is not part of a resource" + suggestion(key, here)
	}
	text := unavailableText(key)
	if text != "" {
		return text
	}
	for _, f := range allFields(&Config{}) {
		if f.key != key && !(f.secret() && f.key+fileSuffix == key) {
			continue
		}
		if f.name == f.key {
			return "belongs at the top level, not inside OAUTH2_PROVIDER"
		}
		return "belongs inside OAUTH2_PROVIDER"
	}
	return "is not a setting" + suggestion(key, append(here, keysOf(allFields(&Config{}))...))
}

// unknownVariable says what to do about an environment variable. key is its name
// without MANDATE_.
func unknownVariable(key string, fields map[string]field) string {
	inner, doubled := strings.CutPrefix(key, "OAUTH2_PROVIDER_")
	_, known := fields[inner]
	public, isFile := strings.CutSuffix(key, fileSuffix)
	text := unavailableText(key)
	switch {
	case isFile && fields[public].key != "":
		return "is not a setting: only secrets can be read from a file, and " + public + " is not a secret"
	case key == "OAUTH2_PROVIDER":
		return "is a block; set its keys one by one (for example MANDATE_SCOPES)"
	case doubled && known:
		return "is not a setting; did you mean " + envPrefix + inner + "?"
	case text != "":
		return text
	}
	names := []string{envPrefix + "CONFIG"}
	for _, f := range allFields(&Config{}) {
		names = append(names, envPrefix+f.key)
	}
	return "is not a setting" + suggestion(envPrefix+key, names)
}

func keysOf(fields []field) []string {
	var keys []string
	for _, f := range fields {
		keys = append(keys, f.key)
		if f.secret() {
			keys = append(keys, f.key+fileSuffix)
		}
	}
	return keys
}

// suggestion names the known key that is most similar to an unknown one, if one is
// similar.
func suggestion(key string, known []string) string {
	best := Nearest(strings.ToUpper(strings.ReplaceAll(key, "-", "_")), known)
	if best == "" {
		return "; docs/configuration.md lists all settings"
	}
	return "; did you mean " + best + "?"
}

// Nearest returns the known name that is most similar to an unknown one, or "" if none
// is similar.
func Nearest(name string, known []string) string {
	best, least := "", min(len(name)/2, max(2, len(name)/4))+1
	for _, k := range known {
		if len(name) > 2*len(k) { // this also limits the work for a very long name
			continue
		}
		d := distance(name, k)
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

var keyShape = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// shownName is the full name of an unknown key. A key that may be a misplaced
// secret value is not shown.
func shownName(name, key string) string {
	if keyShape.MatchString(key) {
		return name + key
	}
	return name + "(a key)"
}

// serviceLink matches, after MANDATE_, the variables that Kubernetes and old Docker
// links add to every container if there is a service named mandate or
// mandate-something.
var serviceLink = regexp.MustCompile(
	`^([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)$`)

var linkURL = regexp.MustCompile(`^(tcp|udp|sctp)://`)

// notSetting reports whether a variable that begins with MANDATE_ is no setting.
func notSetting(key, value string) bool {
	if key == "CONFIG" || strings.HasPrefix(key, "TEST_") || serviceLink.MatchString(key) {
		return true
	}
	return strings.HasSuffix("_"+key, "_PORT") && linkURL.MatchString(value)
}
