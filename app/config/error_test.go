package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// These are all kinds of mistakes, with the exact message: the key, the line, what
// to change.
func TestConfigErrors(t *testing.T) {
	const p = "OAUTH2_PROVIDER:\n  "
	const at, pat = "mandate.yaml:1: ", "mandate.yaml:2: OAUTH2_PROVIDER."
	const issuers, ispat = p + "REGISTRATION_WITH_TOKEN: true\n  SOFTWARE_STATEMENT_ISSUERS: ",
		"mandate.yaml:3: OAUTH2_PROVIDER.SOFTWARE_STATEMENT_ISSUERS"
	const rs = p + "RESOURCE_SERVER_INTROSPECTION_URL: https://a/o/introspect/\n  RESOURCE_SERVER_AUTH_TOKEN: mat_1\n"
	const server = "SIGN_IN_SERVERS: [{ISSUER: https://a, CLIENT_ID: b, CLIENT_SECRET: c, "
	const self = "UPSTREAM: is the address that LISTEN binds, so that this server would forward each request to itself; " +
		"use another port"
	for _, test := range []struct{ text, want string }{
		// Not YAML.
		{"LISTEN: :1\n\tSAMPLE_API: true\n", "mandate.yaml:2: is indented with a tab; indent with spaces"},
		{"LISTEN: :1\nSAMPLE_API: [true\nLOG_LEVEL: info\n", "mandate.yaml:2: is not YAML: did not find expected ',' or ']'"},
		{"LISTEN: :1\nSAMPLE_API true\nLOG_LEVEL: info\n", "mandate.yaml:2: is not YAML: could not find expected ':'"},
		{"LISTEN: :1\n\n LOG_LEVEL: info\n", "mandate.yaml:3: is not YAML: mapping values are not allowed in this context"},
		{"LISTEN: \":1\nLOG_LEVEL: info\n", at + "is not YAML: found unexpected end of stream"},
		{"LISTEN: a\x00b\n", at + "is not YAML: control characters are not allowed"},
		{"LISTEN: a\n# \xff\n", "mandate.yaml:2: is not YAML: invalid leading UTF-8 octet"},
		{"SAMPLE_API: true\n---\nSAMPLE_API: false\n", "mandate.yaml:2: has a second YAML document, which starts here; " +
			"keep one"},
		{"SECRET_KEY: *abc\n", at + "has a value that starts with *; put the value in quotes"},
		{"just text\n", at + "must be keys with values (KEY: value), not text"},
		{"- LISTEN\n", at + "must be keys with values (KEY: value), not a list"},
		{"[LISTEN]: 1\n", at + "has a key that is not a plain name"},
		{"SECRET_KEY: &abc def\n", at + "SECRET_KEY: must be text, not a YAML anchor; put a value that starts with & in " +
			"quotes"},
		{"LISTEN: &a \":1\"\nBASE_URL: *a\n", at + "LISTEN: must be text, not a YAML anchor; put a value that starts with " +
			"& in quotes\n" +
			"mandate.yaml:2: BASE_URL: must be text, not a YAML alias; write the value out"},
		{"LISTEN: !env PORT\n", at + "LISTEN: must be text, not a value with a YAML tag; put it in quotes"},
		{"<<: {LISTEN: a}\n", at + "(a key): is not a setting; docs/configuration.md lists all settings"},

		// Servers with which people sign in.
		{"SIGN_IN_SERVERS: [{}]\n", at + "SIGN_IN_SERVERS[0]: needs a NAME of at most 40 lower-case letters, digits and -, " +
			"such as company: it is a part of the redirect URI\n" +
			at + "SIGN_IN_SERVERS[0]: must be an absolute URL (https://host/path): it is the issuer in the metadata of the " +
			"server (OIDC Discovery §3)\n" +
			at + "SIGN_IN_SERVERS[0]: needs CLIENT_ID: the client id of Mandate at that server, in printable ASCII\n" +
			at + "SIGN_IN_SERVERS[0]: needs CLIENT_SECRET or CLIENT_SECRET_FILE: the client secret of Mandate at that server, " +
			"in printable ASCII"},
		{server + "NAME: Company/.., LABEL: \"a\\nb\"}]\n", at + "SIGN_IN_SERVERS[0].NAME: needs a NAME of at most 40 " +
			"lower-case letters, digits and -, such as company: it is a part of the redirect URI\n" +
			at + "SIGN_IN_SERVERS[0].LABEL: needs a LABEL of at most 60 characters on one line: people read it on a button"},
		{server + "NAME: a, SCOPES: [profile]}]\n", at + "SIGN_IN_SERVERS[0].SCOPES: needs the scope openid, without which " +
			"there is no ID token (OIDC Core §3.1.2.1)"},
		{server + "NAME: a, SCOPES: [openid], TRUSTED_FOR_EMAIL: true}]\n",
			at + "SIGN_IN_SERVERS[0].SCOPES: needs the scope email: TRUSTED_FOR_EMAIL and NEW_PEOPLE are about the address"},
		{server + "NAME: a, NEW_PEOPLE: everybody}]\n", at + "SIGN_IN_SERVERS[0].NEW_PEOPLE: must be one of off, invited, " +
			"domains"},
		{server + "NAME: a, NEW_PEOPLE: domains}]\n", at + "SIGN_IN_SERVERS[0].NEW_PEOPLE: needs ALLOWED_DOMAINS, such as " +
			"[example.com]"},
		{server + "NAME: a, ALLOWED_DOMAINS: [example.com]}]\n", at + "SIGN_IN_SERVERS[0].ALLOWED_DOMAINS: has no effect " +
			"without NEW_PEOPLE: domains or ASSUME_EMAIL_VERIFIED; set one of them, or remove this"},
		{server + "NAME: a, NEW_PEOPLE: domains, ALLOWED_DOMAINS: [example.com, '@example.com', EXAMPLE.com, com]}]\n",
			at + "SIGN_IN_SERVERS[0].ALLOWED_DOMAINS[1]: is not the domain of an email address; write what follows the @ in " +
				"lower-case ASCII (example.com)\n" +
				at + "SIGN_IN_SERVERS[0].ALLOWED_DOMAINS[2]: is not the domain of an email address; write what follows the @ in " +
				"lower-case ASCII (example.com)\n" +
				at + "SIGN_IN_SERVERS[0].ALLOWED_DOMAINS[3]: is not the domain of an email address; write what follows the @ in " +
				"lower-case ASCII (example.com)"},
		{server + "NAME: a, GROUPS: {x: ''}}]\n", at + "SIGN_IN_SERVERS[0].GROUPS: needs GROUPS_CLAIM: the claim of that " +
			"server whose values are mapped\n" +
			at + "SIGN_IN_SERVERS[0].GROUPS[0]: names no group; write the group that exists here"},
		{server + "NAME: a, GROUPS_CLAIM: groups}]\n", at + "SIGN_IN_SERVERS[0].GROUPS_CLAIM: has no effect without " +
			"GROUPS: map the values of the claim to groups here, or remove this"},
		{server + "NAME: a, GROUPS_CLAIM: groups, GROUPS: [x]}]\n",
			at + "SIGN_IN_SERVERS[0].GROUPS: must be a mapping from a value there to one here ({there: here}), not a list"},
		{server + "NAME: a, ACR: {a: urn:mandate:acr:mfa, b: mfa}}]\n",
			at + "SIGN_IN_SERVERS[0].ACR[1]: must lead from an acr of that server to one of urn:mandate:acr:password, " +
				"urn:mandate:acr:mfa, phr, urn:mandate:acr:passkey"},
		{server + "NAME: a}, {NAME: a, ISSUER: https://a, CLIENT_ID: b, CLIENT_SECRET: c, ISSUERS: x}]\n",
			at + "SIGN_IN_SERVERS[1].ISSUERS: is not part of a server; did you mean ISSUER?"},
		{server + "NAME: a}, {NAME: a, ISSUER: https://a, CLIENT_ID: b, CLIENT_SECRET: c}]\n",
			at + "SIGN_IN_SERVERS[1].NAME: has the NAME of an earlier item; choose another one\n" +
				at + "SIGN_IN_SERVERS[1].ISSUER: has the ISSUER of an earlier item; keep one"},
		{"SIGN_IN_SERVERS: [{NAME: a, CLIENT_ID: b, CLIENT_SECRET: c, ISSUER: 'http://login.example'}]\n",
			at + "SIGN_IN_SERVERS[0].ISSUER: is plain http: everybody on the network path could sign in as anybody; use " +
				"https, or set ALLOW_INSECURE_HTTP: true in a test network"},
		{"SIGN_IN_SERVERS: [{NAME: a, CLIENT_ID: b, CLIENT_SECRET: c, ISSUER: 'https://login.example?x=y'}]\n",
			at + "SIGN_IN_SERVERS[0].ISSUER: contains a query; remove everything from the ? on (OIDC Discovery §3)"},
		{"SIGN_IN_SERVERS: [{NAME: a, CLIENT_ID: b, CLIENT_SECRET: c, ISSUER: 'http://127.0.0.1:8000/o'}]\n",
			at + "SIGN_IN_SERVERS[0].ISSUER: is the issuer of this server; name another server"},

		{server + "NAME: a, SCOPES: [openid], NEW_PEOPLE: invited}]\n",
			at + "SIGN_IN_SERVERS[0].SCOPES: needs the scope email: TRUSTED_FOR_EMAIL and NEW_PEOPLE are about the address"},
		{server + "NAME: a, NEW_PEOPLE: invited, ASSUME_EMAIL_VERIFIED: true}]\n",
			at + "SIGN_IN_SERVERS[0].ASSUME_EMAIL_VERIFIED: needs ALLOWED_DOMAINS, such as [example.com]: only addresses in " +
				"these domains count as verified"},
		{server + "NAME: a, ASSUME_EMAIL_VERIFIED: true, ALLOWED_DOMAINS: [example.com]}]\n",
			at + "SIGN_IN_SERVERS[0].ASSUME_EMAIL_VERIFIED: has no effect without TRUSTED_FOR_EMAIL or NEW_PEOPLE; set one of " +
				"them, or remove this"},
		{server + "NAME: a, NEW_PEOPLE: invited, ALLOWED_DOMAINS: [example.com]}]\n",
			at + "SIGN_IN_SERVERS[0].ALLOWED_DOMAINS: has no effect without NEW_PEOPLE: domains or ASSUME_EMAIL_VERIFIED; set " +
				"one of them, or remove this"},

		// Attributes of people.
		{"ATTRIBUTES: [{NAME: Quota}]\n", at + "ATTRIBUTES[0].NAME: needs a NAME of at most 40 lower-case letters, digits " +
			"and _, which begins with a letter, such as quota"},
		{"ATTRIBUTES: [{TYPE: list}]\n", at + "ATTRIBUTES[0]: needs a NAME of at most 40 lower-case letters, digits and _, " +
			"which begins with a letter, such as quota"},
		{"ATTRIBUTES: [{NAME: a}, {NAME: a}]\n", at + "ATTRIBUTES[1].NAME: has the NAME of an earlier item; choose another " +
			"one"},
		{"ATTRIBUTES: [{NAME: a, TYPE: text}]\n", at + "ATTRIBUTES[0].TYPE: must be one of string, number, boolean, list"},
		{"ATTRIBUTES: [{NAME: a, MAX: 5}]\n", at + "ATTRIBUTES[0]: has MIN or MAX, which are for TYPE: number; remove them"},
		{"ATTRIBUTES: [{NAME: a, TYPE: number, MIN: 5, MAX: 4}]\n", at + "ATTRIBUTES[0].MIN: is above MAX, so that no " +
			"number is allowed"},
		{"ATTRIBUTES: [{NAME: a, TYPE: number, MAX: 9007199254740992}]\n", at + "ATTRIBUTES[0].MAX: must be a number from " +
			"-9007199254740991 to 9007199254740991"},
		{"ATTRIBUTES: [{NAME: a, TYPE: boolean, VALUES: [x]}]\n", at + "ATTRIBUTES[0].VALUES: is for TYPE: string and " +
			"TYPE: list; remove it"},
		{"ATTRIBUTES: [{NAME: a, VALUES: [x, '']}]\n", at + "ATTRIBUTES[0].VALUES[1]: must have 1 to 200 characters on one " +
			"line"},
		{"ATTRIBUTES: [{NAME: a, TYPE: list, VALUES: ['x;y']}]\n", at + "ATTRIBUTES[0].VALUES[0]: has a semicolon or " +
			"spaces at an end; the values of a list are separated by semicolons"},
		{"ATTRIBUTES: [{NAME: a, VALUES: [x, x]}]\n", at + "ATTRIBUTES[0].VALUES[1]: is there twice; remove one"},
		{"ATTRIBUTES: [" + strings.Repeat("{NAME: a},", 51) + "]\n", at +
			"ATTRIBUTES: has more than 50 attributes; remove some"},

		// Sign-up.
		{"SIGN_UP: open\n", at + "SIGN_UP: is open, so it needs SMTP_URL and MAIL_FROM: people show that an address is " +
			"theirs by a link that is sent to it"},
		{"SIGN_UP: everybody\n", at + "SIGN_UP: must be one of off, invited, open"},
		{"SIGN_UP: false\n", at + "SIGN_UP: must be one of off, invited, open"},
		{"INVITATION_EXPIRE_SECONDS: 7d\n", at + "INVITATION_EXPIRE_SECONDS: must be a whole number of seconds (604800), " +
			"not text"},
		{"EVENT_RETENTION_DAYS: 7d\n", at + "EVENT_RETENTION_DAYS: must be a whole number of days (365), not text"},
		{"SIGN_UP_ALLOWED_DOMAINS: [example.com]\n", at + "SIGN_UP_ALLOWED_DOMAINS: has no effect without SIGN_UP: open; " +
			"set that too, or remove this"},
		{"SMTP_URL: smtp://a\nMAIL_FROM: a@example.org\nSIGN_UP: open\nSIGN_UP_ALLOWED_DOMAINS: [example.com, " +
			"'@example.com']\n", "mandate.yaml:4: SIGN_UP_ALLOWED_DOMAINS[1]: is not the domain of an email address; write " +
			"what follows the @ in lower-case ASCII (example.com)"},
		{"EDITABLE_BY_PEOPLE: [name, sub]\n", at + "EDITABLE_BY_PEOPLE[1]: must be one of " +
			"name, locale, zoneinfo, email"},
		{"EDITABLE_BY_PEOPLE: [email]\n", at + "EDITABLE_BY_PEOPLE: has email, so it needs SMTP_URL and MAIL_FROM: a new " +
			"address is confirmed by a link that is sent to it"},
		{"INVITATION_EXPIRE_SECONDS: 59\n", at + "INVITATION_EXPIRE_SECONDS: must be a number from 60 to 31536000"},

		// The brand.
		{"BRAND_NAME: \"Example\\nServer\"\n", at + "BRAND_NAME: must have at most 60 characters that can be seen, on one " +
			"line"},
		{"BRAND_NAME: \"\\u202eExample\"\n", at + "BRAND_NAME: must have at most 60 characters that can be seen, on one " +
			"line"},
		{"BRAND_NAME: " + strings.Repeat("n", 61) + "\n", at + "BRAND_NAME: must have at most 60 characters that can be " +
			"seen, on one line"},
		{"BRAND_COLOR: teal\n", at + "BRAND_COLOR: must be a colour: # and six hexadecimal digits (#0d5752). In YAML, " +
			"write it in quotes"},
		{"BRAND_COLOR: '#abc'\n", at + "BRAND_COLOR: must be a colour: # and six hexadecimal digits (#0d5752). In YAML, " +
			"write it in quotes"},
		{"HELP_URL: help@example.org\n", at + "HELP_URL: must be https://host/path or mailto:name@host"},
		{"BRAND_COLOR: #0d5752\n", at + "BRAND_COLOR: has no value; YAML reads what follows # as a comment: put a value " +
			"that begins with # in quotes"},
		{"HELP_URL: mailto:nobody\n", at + "HELP_URL: must be https://host/path or mailto:name@host"},
		{"TERMS_URL: javascript:alert(1)\n", at + "TERMS_URL: must be an absolute URL (https://host/path)"},
		{"TERMS_URL: mailto:help@example.org\n", at + "TERMS_URL: must be an absolute URL (https://host/path)"},
		{"PRIVACY_URL: http://example.org/\n", at + "PRIVACY_URL: must begin with https://"},

		// Keys.
		{"SMTP_URL: smtp://a\n", at + "SMTP_URL: needs MAIL_FROM, the sender of the mail (noreply@example.org); set both, " +
			"or remove this"},
		{"MAIL_FROM: a@example.org\n", at + "MAIL_FROM: needs SMTP_URL, the mail server; set both, or remove this"},
		{"SMTP_URL: smtp://u:hunter2@a/x\nMAIL_FROM: a\n", at + "SMTP_URL: has something after the port; remove it, or " +
			"write special characters of the password as %XX\n" +
			"mandate.yaml:2: MAIL_FROM: must be an address: name@example.org, or Name <name@example.org>"},
		{"LISTENN: :1\n", at + "LISTENN: is not a setting; did you mean LISTEN?"},
		{"base-url: x\n", at + "base-url: is not a setting; did you mean BASE_URL?"},
		{"SOMETHING_ELSE_ALTOGETHER: x\n", at + "SOMETHING_ELSE_ALTOGETHER: is not a setting; docs/configuration.md lists " +
			"all settings"},
		{testKey + ": x\n", at + "(a key): is not a setting; docs/configuration.md lists all settings"},
		{p + "ACCESS_TOKEN_EXPIRES_SECONDS: 1\n", pat + "ACCESS_TOKEN_EXPIRES_SECONDS: is not a setting; did you mean " +
			"ACCESS_TOKEN_EXPIRE_SECONDS?"},
		{"SCOPES: {a: A}\n", at + "SCOPES: belongs inside OAUTH2_PROVIDER"},
		{"RESOURCE_SERVER_AUTH_TOKEN_FILE: x\n", at + "RESOURCE_SERVER_AUTH_TOKEN_FILE: belongs inside OAUTH2_PROVIDER"},
		{p + "LISTEN: :1\n", pat + "LISTEN: belongs at the top level, not inside OAUTH2_PROVIDER"},
		{p + "OIDC_ENABLED: false\n  SCOPES: {openid: Sign in}\n", "mandate.yaml:3: OAUTH2_PROVIDER.SCOPES: contains the " +
			"scope openid, which needs OIDC_ENABLED: true; set that, or remove the scope"},
		{p + "OIDC_RSA_PRIVATE_KEY: x\n", pat + "OIDC_RSA_PRIVATE_KEY: is not a private key in PEM: it begins with " +
			"-----BEGIN PRIVATE KEY-----"},
		{p + "OIDC_RSA_PRIVATE_KEYS_INACTIVE: [x]\n", pat + "OIDC_RSA_PRIVATE_KEYS_INACTIVE[0]: is not a private key in " +
			"PEM: it begins with -----BEGIN PRIVATE KEY-----"},
		{p + "OIDC_ISS_ENDPOINT: https://a\n", pat + "OIDC_ISS_ENDPOINT: cannot be set: the issuer is BASE_URL followed by " +
			"/o; set BASE_URL, and remove it"},
		{p + "OIDC_BACKCHANNEL_LOGOUT_ENABLED: true\n", pat + "OIDC_BACKCHANNEL_LOGOUT_ENABLED: is not needed: every " +
			"application that registers a back-channel logout URI is notified; remove it"},
		{p + "COMPLIANT_BCP_RFC9700_PKCE_METHOD: true\n", pat + "COMPLIANT_BCP_RFC9700_PKCE_METHOD: is not needed: RFC " +
			"9700 is the default, and each exception is a setting of its own; remove it"},
		{"LOG_LEVEL: info\nLOG_LEVEL: info\n", "mandate.yaml:2: LOG_LEVEL: is set twice, first at mandate.yaml:1; keep one"},
		{p + "PKCE_REQUIRED: true\nOAUTH2_PROVIDER: {}\n", "mandate.yaml:3: OAUTH2_PROVIDER: is set twice, first at " +
			"mandate.yaml:1; keep one"},
		{"OAUTH2_PROVIDER:\n", at + "OAUTH2_PROVIDER: has no value; set one or remove the key"},
		{"OAUTH2_PROVIDER: [a]\n", at + "OAUTH2_PROVIDER: must be keys with values (KEY: value), not a list"},
		{p + "RESOURCES: [{URI: https://a, NAME: A, SCOPE: [read]}]\n",
			pat + "RESOURCES[0].SCOPE: is not part of a resource; did you mean SCOPES?"},
		{p + "RESOURCES:\n  - {URI: https://a, NAME: A}\n  - {URI: 'https://A:443/', NAME: B}\n  - URI: a\n",
			"mandate.yaml:4: OAUTH2_PROVIDER.RESOURCES[1].URI: The configuration already has a resource with this URI, in " +
				"RESOURCES.\n" +
				"mandate.yaml:5: OAUTH2_PROVIDER.RESOURCES[2]: This field is required: people see it on the consent page.\n" +
				"mandate.yaml:5: OAUTH2_PROVIDER.RESOURCES[2].URI: The URI must be absolute: begin with https://."},
		{issuers + "[{ISSUER: https://a, JWKS_URL: https://a/k}]\n",
			ispat + "[0].JWKS_URL: is not part of an issuer; did you mean JWKS_URI?"},
		{issuers + "\n  - {ISSUER: https://a, JWKS_URI: 'http://a/k'}\n  - {ISSUER: https://a, JWKS_URI: https://a/k}\n  - " +
			"{JWKS_URI: https://a/k}\n  - ISSUER: https://b\n",
			"mandate.yaml:4: OAUTH2_PROVIDER.SOFTWARE_STATEMENT_ISSUERS[0].JWKS_URI: must be an https URL without credentials " +
				"and fragment: whoever can change the keys in transit can sign any statement\n" +
				"mandate.yaml:5: OAUTH2_PROVIDER.SOFTWARE_STATEMENT_ISSUERS[1]: has the ISSUER of an earlier item; keep one\n" +
				"mandate.yaml:6: OAUTH2_PROVIDER.SOFTWARE_STATEMENT_ISSUERS[2]: needs ISSUER: the value of iss in its " +
				"statements, without spaces\n" +
				"mandate.yaml:7: OAUTH2_PROVIDER.SOFTWARE_STATEMENT_ISSUERS[3]: needs the public keys of the issuer: set JWKS, " +
				"or their https URL as JWKS_URI"},
		{issuers + `[{ISSUER: a, JWKS: "{}"}]` + "\n", ispat + "[0].JWKS: must be a JWK Set: an object whose member keys " +
			"is an array of keys"},
		{issuers + `[{ISSUER: a, JWKS: '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}'}]` + "\n",
			ispat + "[0].JWKS: has a symmetric key: it must have public keys only"},
		{issuers + `[{ISSUER: a, JWKS: '{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}'}]` + "\n",
			ispat + "[0].JWKS: has no key that can verify a signature: it needs an RSA key of at least 2048 bits, an EC key " +
				"on P-256, or an Ed25519 key"},
		{issuers + `[{ISSUER: a, JWKS: "x", JWKS_URI: https://a/k}]` + "\n",
			ispat + "[0].JWKS: has a second source of keys in JWKS_URI; keep one"},
		{p + "SOFTWARE_STATEMENT_ISSUERS: [{ISSUER: a, JWKS_URI: https://a/k}]\n",
			pat + "SOFTWARE_STATEMENT_ISSUERS: has no effect while no application can register itself; set OPEN_CLIENTS: " +
				"[registration] or REGISTRATION_WITH_TOKEN too, or remove this"},
		{p + "OPEN_CLIENTS: [registration]\n  OPEN_SOFTWARE_STATEMENT_REQUIRED: true\n",
			"mandate.yaml:3: OAUTH2_PROVIDER.OPEN_SOFTWARE_STATEMENT_REQUIRED: needs OPEN_CLIENTS: [registration] and " +
				"SOFTWARE_STATEMENT_ISSUERS; set both, or remove this"},
		{"RULES: [{PATH: /, METHOD: [GET]}]\nUPSTREAM: http://a\n" + rs,
			at + "RULES[0].METHOD: is not part of a rule; did you mean METHODS?"},
		{"RULES: [{PATH: /, PATH: /a}]\nUPSTREAM: http://a\n" + rs,
			at + "RULES[0].PATH: is set twice, first at mandate.yaml:1; keep one"},

		// Types and bounds.
		{"SAMPLE_API: yes\n", at + "SAMPLE_API: must be true or false, not text"},
		{"SAMPLE_API: 1\n", at + "SAMPLE_API: must be true or false, not a number"},
		{"SAMPLE_API: \"true\"\n", at + "SAMPLE_API: must be true or false, not text"},
		{"SAMPLE_API: # later\n", at + "SAMPLE_API: has no value; set one or remove the key"},
		{"SAMPLE_API:\n", at + "SAMPLE_API: has no value; set one or remove the key"},
		{"READ_SCOPE: 2020-01-01\n" + p + "READ_SCOPE: 2020-01-01\n",
			at + "READ_SCOPE: belongs inside OAUTH2_PROVIDER\nmandate.yaml:3: OAUTH2_PROVIDER.READ_SCOPE: must be text, not a " +
				"date; put it in quotes"},
		{"LISTEN: 8000\n", at + "LISTEN: must be host:port (127.0.0.1:8000, [::1]:8000, or :8000 for every address), " +
			"unix:/run/mandate.sock, or systemd"},
		{"OPS_LISTEN: 9000\n", at + "OPS_LISTEN: must be host:port (127.0.0.1:9000, or :9000 for every address)"},
		{"LISTEN: [a]\n", at + "LISTEN: must be text, not a list"},
		{"LISTEN: {a: b}\n", at + "LISTEN: must be text, not a mapping"},
		{"LOG_LEVEL: warning\n", at + "LOG_LEVEL: must be one of debug, info, warn, error"},
		{"SHUTDOWN_SECONDS: 15s\n", at + "SHUTDOWN_SECONDS: must be a whole number of seconds (15), not text"},
		{"SHUTDOWN_SECONDS: \"15\"\n", at + "SHUTDOWN_SECONDS: must be a number, not text; remove the quotes"},
		{"SHUTDOWN_SECONDS: 1.5\n", at + "SHUTDOWN_SECONDS: must be a whole number in plain decimal digits"},
		{"SHUTDOWN_SECONDS: 0x10\n", at + "SHUTDOWN_SECONDS: must be a whole number in plain decimal digits"},
		{"SHUTDOWN_SECONDS: 010\n", at + "SHUTDOWN_SECONDS: must be a whole number in plain decimal digits"},
		{"SHUTDOWN_SECONDS: -1\n", at + "SHUTDOWN_SECONDS: must be a number from 0 to 600"},
		{"SHUTDOWN_SECONDS: 99999999999999999999\n", at + "SHUTDOWN_SECONDS: must be a number from 0 to 600"},
		{"SHUTDOWN_SECONDS: true\n", at + "SHUTDOWN_SECONDS: must be a whole number of seconds (15), not true or false"},
		{"SHUTDOWN_SECONDS: &a 5\n", at + "SHUTDOWN_SECONDS: must be a whole number of seconds (15), not a YAML anchor; " +
			"put a value that starts with & in quotes"},
		{p + "AUTHORIZATION_CODE_EXPIRE_SECONDS: 601\n", pat + "AUTHORIZATION_CODE_EXPIRE_SECONDS: must be a number from 1 " +
			"to 600"},
		{p + "REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 61\n", pat + "REFRESH_TOKEN_GRACE_PERIOD_SECONDS: must be a number from " +
			"0 to 60"},
		{"TRUSTED_PROXIES: 10.0.0.1\n", at + "TRUSTED_PROXIES: must be a list ([one, two]), not text"},
		{"TRUSTED_PROXIES:\n  - 10.0.0.1\n  - proxy\n  - 10.0.0.1/8\n  - 0.0.0.0/0\n  - 1\n  - ::ffff:10.0.0.0/104\n",
			"mandate.yaml:3: TRUSTED_PROXIES[1]: is neither an address (192.0.2.1) nor a network (192.0.2.0/24)\n" +
				"mandate.yaml:4: TRUSTED_PROXIES[2]: has address bits after its prefix length; write 10.0.0.0/8\n" +
				"mandate.yaml:5: TRUSTED_PROXIES[3]: covers every address, so that every client could choose the address that " +
				"the server sees; list the proxies\n" +
				"mandate.yaml:6: TRUSTED_PROXIES[4]: must be text, not a number; put it in quotes\n" +
				"mandate.yaml:7: TRUSTED_PROXIES[5]: is IPv4 written as IPv6; write it as IPv4"},

		// Addresses.
		{"BASE_URL: auth.example.com\n", at + "BASE_URL: must be an absolute URL (https://host/path)"},
		{"BASE_URL: ftp://a\n", at + "BASE_URL: must be an absolute URL (https://host/path)"},
		{"BASE_URL: \"https://a b\"\n", at + "BASE_URL: is not a URL"},
		{"BASE_URL: https://user:hunter2@a\n", at + "BASE_URL: contains a user or a password; remove it from the URL"},
		{"BASE_URL: \"https://a/#\"\n", at + "BASE_URL: contains a fragment; remove everything from the # on"},
		{"BASE_URL: https://a/?\n", at + "BASE_URL: contains a query; remove everything from the ? on (RFC 8414 §2)"},
		{"BASE_URL: https://Auth.example\n", at + "BASE_URL: has a host with capitals; write it in lower case"},
		{"LISTEN: unix:/run/m.sock\n", "BASE_URL: is required, because LISTEN is a socket: set it to the URL by which " +
			"browsers reach the reverse proxy"},
		{"LISTEN: systemd:http\n", "BASE_URL: is required, because LISTEN is a socket: set it to the URL by which browsers " +
			"reach the reverse proxy"},
		{"BASE_URL: https://a:443\n", at + "BASE_URL: names the default port of https; remove :443 (RFC 9110 §4.2.3)"},
		{"BASE_URL: http://localhost:080/x\n", at + "BASE_URL: names the default port of http; remove :080 (RFC 9110 " +
			"§4.2.3)"},
		{"LOGIN_URL: https://a:443/login\n", at + "LOGIN_URL: names the default port of https; remove :443 (RFC 9110 " +
			"§4.2.3), or give a path of this server (/login/)"},
		{p + "RESOURCE_SERVER_BASE_URLS: [https://a, https://a:443]\n",
			pat + "RESOURCE_SERVER_BASE_URLS[1]: names the default port of https; remove :443 (RFC 9110 §4.2.3)"},
		{p + "RESOURCE_SERVER_ALLOWED_ORIGINS: [https://a:443]\n",
			pat + "RESOURCE_SERVER_ALLOWED_ORIGINS[0]: is not an origin as a browser sends it; write scheme, host and port " +
				"alone, without a default port (https://app.example.com), or * for every origin"},
		{"BASE_URL: https://a:99999\n", at + "BASE_URL: has a port that does not exist: use one up to 65535"},
		{"BASE_URL: HTTPS://a\n", at + "BASE_URL: has an unusual spelling; write the scheme in lower case"},
		{"BASE_URL: https://a//b\n", at + "BASE_URL: has a path with //, dots or special characters; use letters, digits, " +
			"-, _ and single slashes"},
		{"BASE_URL: https://a/../b\n", at + "BASE_URL: has a path with //, dots or special characters; use letters, " +
			"digits, -, _ and single slashes"},
		{"BASE_URL: https://a/%41\n", at + "BASE_URL: has a path with //, dots or special characters; use letters, digits, " +
			"-, _ and single slashes"},
		{"BASE_URL: http://a\n", at + "BASE_URL: is plain http: everybody on the network path can read the secrets; use " +
			"https, or set ALLOW_INSECURE_HTTP: true in a test network"},
		{"LISTEN: localhost\n", at + "LISTEN: must be host:port (127.0.0.1:8000, [::1]:8000, or :8000 for every address), " +
			"unix:/run/mandate.sock, or systemd"},
		{"TLS_CERTIFICATE_FILE: a.pem\n", at + "TLS_CERTIFICATE_FILE: needs TLS_KEY_FILE, the private key of the " +
			"certificate; set both, or remove this"},
		{"TLS_KEY_FILE: a.pem\n", at + "TLS_KEY_FILE: needs TLS_CERTIFICATE_FILE, the certificate of the key; set both, or " +
			"remove this"},
		{"BASE_URL: http://127.0.0.1:8000\nTLS_CERTIFICATE_FILE: a.pem\nTLS_KEY_FILE: b.pem\n",
			at + "BASE_URL: is plain http, but LISTEN speaks TLS with TLS_CERTIFICATE_FILE; write https://, or remove " +
				"TLS_CERTIFICATE_FILE and TLS_KEY_FILE"},
		{"BASE_URL: http://a.example\nALLOW_INSECURE_HTTP: true\nTLS_CERTIFICATE_FILE: a.pem\nTLS_KEY_FILE: b.pem\n",
			at + "BASE_URL: is plain http, but LISTEN speaks TLS with TLS_CERTIFICATE_FILE; write https://, or remove " +
				"TLS_CERTIFICATE_FILE and TLS_KEY_FILE"},
		{"MTLS_LISTEN: localhost\n", at + "MTLS_LISTEN: must be host:port (127.0.0.1:8443, or :8443 for every address)"},
		{"MTLS_LISTEN: :8443\n", at + "MTLS_LISTEN: needs TLS: set TLS_CERTIFICATE_FILE and TLS_KEY_FILE"},
		{"MTLS_LISTEN: :8443\nLISTEN: :8443\n", at + "MTLS_LISTEN: is also the address of LISTEN; choose another port"},
		{"MTLS_CERTIFICATE_HEADER: Client-Cert\n", at + "MTLS_CERTIFICATE_HEADER: is read from TRUSTED_PROXIES only: list " +
			"the addresses of your reverse proxies there"},
		{"MTLS_CERTIFICATE_HEADER: Client-Cert\nTRUSTED_PROXIES: [10.0.0.1]\n",
			at + "MTLS_CERTIFICATE_HEADER: needs MTLS_BASE_URL, the URL at which the reverse proxy asks for certificates"},
		{"MTLS_CERTIFICATE_HEADER: \"Client Cert\"\n", at + "MTLS_CERTIFICATE_HEADER: is not the name of a header; write " +
			"Client-Cert, or the header that your reverse proxy sets"},
		{"MTLS_BASE_URL: https://a\n", at + "MTLS_BASE_URL: has no certificates: set MTLS_LISTEN, or " +
			"MTLS_CERTIFICATE_HEADER for a reverse proxy"},
		{"MTLS_CLIENT_AUTHORITIES_FILE: a.pem\n", at + "MTLS_CLIENT_AUTHORITIES_FILE: has no certificates to check: set " +
			"MTLS_LISTEN, or MTLS_CERTIFICATE_HEADER for a reverse proxy"},
		{"MTLS_BASE_URL: a\nMTLS_CERTIFICATE_HEADER: Client-Cert\nTRUSTED_PROXIES: [10.0.0.1]\n",
			at + "MTLS_BASE_URL: must be an absolute URL (https://host/path)"},
		{"MTLS_BASE_URL: http://a\nMTLS_CERTIFICATE_HEADER: Client-Cert\nTRUSTED_PROXIES: [10.0.0.1]\n",
			at + "MTLS_BASE_URL: must begin with https://: a client shows its certificate in TLS only"},
		{"MTLS_BASE_URL: https://a/b\nMTLS_CERTIFICATE_HEADER: Client-Cert\nTRUSTED_PROXIES: [10.0.0.1]\n",
			at + "MTLS_BASE_URL: must have the path of BASE_URL, and no query"},
		{"OPS_LISTEN: localhost\n", at + "OPS_LISTEN: must be host:port (127.0.0.1:9000, or :9000 for every address)"},
		{"LISTEN: :1\nOPS_LISTEN: :1\n", "mandate.yaml:2: OPS_LISTEN: is the same as LISTEN, which everybody can reach; " +
			"use another port"},
		{"OPS_PPROF: true\n", at + "OPS_PPROF: has no listener: set OPS_LISTEN; LISTEN never serves profiles"},
		{"LISTEN: :70000\n", at + "LISTEN: must be host:port (127.0.0.1:8000, [::1]:8000, or :8000 for every address), " +
			"unix:/run/mandate.sock, or systemd"},
		{"LOGIN_URL: login\n", at + "LOGIN_URL: must be an absolute URL (https://host/path), or give a path of this server " +
			"(/login/)"},
		{"LOGIN_URL: //evil\n", at + "LOGIN_URL: must be a path that starts with a single slash and has no fragment"},
		{"LOGIN_URL: /\\evil\n", at + "LOGIN_URL: must be a path that starts with a single slash and has no fragment"},
		{"LOGIN_URL: http://login.example/\n", at + "LOGIN_URL: is plain http: everybody on the network path can read the " +
			"secrets; use https, or set ALLOW_INSECURE_HTTP: true in a test network"},

		// Database and key.
		{"DATABASE_URL: mysql://a/b\n",
			at + "DATABASE_URL: must be sqlite:///file.db or postgres://user:password@host/database"},
		{"DATABASE_URL: mandate.db\n",
			at + "DATABASE_URL: must be sqlite:///file.db or postgres://user:password@host/database"},
		{"DATABASE_URL: sqlite://mandate.db\n", at + "DATABASE_URL: contains no file name; write sqlite:///file.db, or " +
			"sqlite:////srv/file.db for an absolute path"},
		{"DATABASE_URL: sqlite:///a.db?mode=ro\n", at + "DATABASE_URL: takes no parameters and no file name with ?, # or %"},
		{"DATABASE_URL: 'sqlite:///:memory:'\n", at + "DATABASE_URL: must be a file: a database in memory loses every " +
			"session and token at a restart"},
		{"SECRET_KEY: " + testKey + "\nDATABASE_URL: postgres://u:hun/ter2@a/b\n",
			"mandate.yaml:2: DATABASE_URL: is not a URL; write special characters of the password as %XX"},
		{"SECRET_KEY: " + testKey + "\nDATABASE_URL: \"postgres://u:hunter2#@a/b\"\n",
			"mandate.yaml:2: DATABASE_URL: is not a URL; write special characters of the password as %XX"},
		{"SECRET_KEY: " + testKey + "\nDATABASE_URL: postgres://u:hunter2@a\n",
			"mandate.yaml:2: DATABASE_URL: contains no database name; write postgres://user:password@host/database"},
		{"DATABASE_LISTEN_URL: postgres://u:hunter2@a/b\n", at + "DATABASE_LISTEN_URL: is for PostgreSQL only; remove it"},
		{"DATABASE_URL: postgres://a/b\nSECRET_KEY: " + testKey + "\nDATABASE_LISTEN_URL: a/b\n",
			"mandate.yaml:3: DATABASE_LISTEN_URL: must be postgres://user:password@host/database"},
		{"DATABASE_URL: postgres://a/b\nSECRET_KEY: " + testKey + "\nDATABASE_LISTEN_URL: postgres://u:hunter2@a\n",
			"mandate.yaml:3: DATABASE_LISTEN_URL: contains no database name; write postgres://user:password@host/database"},
		{"DATABASE_URL: postgres://u:hunter2@a/b\n", "SECRET_KEY: is required with PostgreSQL, the same on every node; set " +
			"SECRET_KEY or SECRET_KEY_FILE to what `openssl rand -base64 32` prints"},
		{"SECRET_KEY: hunter2\n", at + "SECRET_KEY: must be 32 random bytes in base64, as `openssl rand -base64 32` prints " +
			"them"},
		{"SECRET_KEY: " + testKey + "\nSECRET_KEY_FILE: key\n", "mandate.yaml:2: SECRET_KEY_FILE: open key: no such file " +
			"or directory"},
		{"SECRET_KEY: " + testKey + "\nSECRET_KEY_FILE: /dev/null\n",
			"mandate.yaml:2: SECRET_KEY: SECRET_KEY and SECRET_KEY_FILE are both set; keep one"},
		{"SECRET_KEY_FILE: 1\n", at + "SECRET_KEY: needs the path of a file in SECRET_KEY_FILE, not a number"},
		{"SECRET_KEY_FILE: \"\"\n", at + "SECRET_KEY_FILE: names no file; set a path or remove it"},
		{"SECRET_KEY_FILE: /dev/zero\n", at + "SECRET_KEY_FILE: /dev/zero is larger than 1048576 bytes"},
		{"SECRET_KEY: \"********\"\n", at + "SECRET_KEY: contains ********, which replaces a secret in the output of " +
			"config print; set the secret itself"},
		{"DATABASE_URL: postgres://u:********@a/b\n", at + "DATABASE_URL: contains ********, which replaces a secret in " +
			"the output of config print; set the secret itself"},

		// Contradictions.
		{"SESSION_IDLE_SECONDS: 7200\nSESSION_COOKIE_AGE: 3600\n",
			at + "SESSION_IDLE_SECONDS: is longer than SESSION_COOKIE_AGE (3600); lower it or raise the other one"},
		{p + "REFRESH_TOKEN_EXPIRE_SECONDS: 63072000\n",
			pat + "REFRESH_TOKEN_EXPIRE_SECONDS: is longer than REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS (31536000); lower it or " +
				"raise the other one"},
		{p + "REFRESH_TOKEN_REUSE_PROTECTION: false\n", pat + "REFRESH_TOKEN_REUSE_PROTECTION: cannot be false: a used " +
			"refresh token that is presented again indicates a theft, and its token family is revoked (RFC 9700 §4.14.2); " +
			"remove it, and see REFRESH_TOKEN_GRACE_PERIOD_SECONDS for clients that lose responses"},
		{"PASSWORD_HASH_MEMORY_KIB: 7168\n", at + "PASSWORD_HASH_MEMORY_KIB: PASSWORD_HASH_MEMORY_KIB times " +
			"PASSWORD_HASH_ITERATIONS is below 35840, which is too weak; raise one of them"},
		{"PASSWORD_HASH_ITERATIONS: 1\n", at + "PASSWORD_HASH_ITERATIONS: PASSWORD_HASH_MEMORY_KIB times " +
			"PASSWORD_HASH_ITERATIONS is below 35840, which is too weak; raise one of them"},
		{"RULES: [{PATH: /}]\n", at + "RULES: has no effect without UPSTREAM; set that too, or remove the rules"},
		{"PASS_AUTHORIZATION: true\n", at + "PASS_AUTHORIZATION: has no effect without UPSTREAM; set that too, or remove " +
			"this"},
		{"RESERVED_HEADERS: [X-A]\n", at + "RESERVED_HEADERS: has no effect without UPSTREAM; set that too, or remove this"},
		{"UPSTREAM: http://api\nRESERVED_HEADERS: [X-A, X-B-*, X_C]\nRULES: [{PATH: /}]\n" + rs,
			"mandate.yaml:2: RESERVED_HEADERS[2]: is not the name of a header; write letters, digits and hyphens, and * at " +
				"the end for all names that begin so"},
		{"UPSTREAM: http://api\n", at + "UPSTREAM: needs RULES: for example `- {PATH: /, SCOPES: [read]}`\n" + at +
			"UPSTREAM: needs OAUTH2_PROVIDER.RESOURCE_SERVER_INTROSPECTION_URL to check tokens, or RESOURCE_SERVER_JWKS_URL; " +
			"set one"},
		{"UPSTREAM: http://127.0.0.1:8000\nRULES: [{PATH: /}]\n" + rs, at + self},
		{"UPSTREAM: http://localhost:9000\nLISTEN: 127.0.0.1:9000\nRULES: [{PATH: /}]\n" + rs, at + self},
		{"UPSTREAM: 'http://[::1]:9000'\nLISTEN: :9000\nRULES: [{PATH: /}]\n" + rs, at + self},
		{"UPSTREAM: http://127.0.0.2:9000\nLISTEN: 0.0.0.0:9000\nRULES: [{PATH: /}]\n" + rs, at + self},
		{"UPSTREAM: http://api?\n", at + "UPSTREAM: contains a query; remove everything from the ? on"},
		{"UPSTREAM: http://api\nPASS_AUTHORIZATION: true\nRULES: [{PATH: /}]\n" + rs,
			at + "UPSTREAM: is plain http: everybody on the network path can read the secrets; use https, or set " +
				"ALLOW_INSECURE_HTTP: true in a test network"},
		{"UPSTREAM: http://api\nRULES:\n  - {METHODS: [GET]}\n  - {PATH: /a//b}\n  - {PATH: /c, METHODS: [GET, get]}\n  - " +
			"{PATH: /c, METHODS: [GET], SCOPES: ['a b']}\n  - {PATH: /d, ACR_VALUES: ['a b']}\n" + rs,
			"mandate.yaml:3: RULES[0]: needs as PATH a plain path that starts with a slash (/users/)\n" +
				"mandate.yaml:4: RULES[1].PATH: needs as PATH a plain path that starts with a slash (/users/)\n" +
				"mandate.yaml:5: RULES[2].METHODS[1]: is not an HTTP method in upper case\n" +
				"mandate.yaml:6: RULES[3]: has the path and method of an earlier rule; put the scopes into one rule\n" +
				"mandate.yaml:6: RULES[3].SCOPES[0]: is not a scope name; use printable ASCII without spaces, \" and \\ (RFC " +
				"6749 §3.3)\n" +
				"mandate.yaml:7: RULES[4].ACR_VALUES[0]: is not an acr; use printable ASCII without spaces, \" and \\"},
		{"UPSTREAM: http://api\nRULES: [{PATH: /, MAX_AGE: -1}]\n" + rs,
			"mandate.yaml:2: RULES[0].MAX_AGE: must be a number from 0 to 31536000"},

		// Scopes.
		{p + "SCOPES: [read]\n", pat + "SCOPES: must be a mapping from scope to description ({read: Read scope}), not a " +
			"list"},
		{p + "SCOPES: {}\n", pat + "SCOPES: contains no scope; set at least one"},
		{p + "SCOPES: {'a b': A}\n", pat + "SCOPES[0]: is not a scope name; use printable ASCII without spaces, \" and " +
			"\\ (RFC 6749 §3.3)"},
		{p + "SCOPES: {a: A, a: B}\n", pat + "SCOPES[1]: repeats a scope; keep one"},
		{p + "SCOPES: {a: \"\"}\n", pat + "SCOPES[0]: has no description; set one, since people read it before they approve"},
		{p + "SCOPES: {a: \"A\\nB\"}\n", pat + "SCOPES[0]: has control characters in its description; write one line of " +
			"text"},
		{p + "SCOPES: {a: {de: A}}\n", pat + "SCOPES[0]: has no English description (en), which is for people who read " +
			"another language"},
		{p + "SCOPES: {a: {en: A, en: B}}\n", pat + "SCOPES[0][1]: repeats a language; keep one"},
		{p + "SCOPES: {a: {en: A, de-CH: B}}\n", pat + "SCOPES[0][1]: is not a language tag of lower-case letters, such " +
			"as de"},
		{p + "SCOPES: {a: {en: A, de: \" \"}}\n", pat + "SCOPES[0][1]: must be one line of text that describes the scope"},
		{p + "SCOPES: {a: [A]}\n", pat + "SCOPES[0]: must be text, not a list"},
		{p + "SCOPES: {a: 1}\n", pat + "SCOPES[0]: must be text, not a number; put it in quotes"},
		{p + "DEFAULT_SCOPES: [files]\n", pat + "DEFAULT_SCOPES[0]: is not in SCOPES; add it there or remove it here"},
		{p + "OIDC_ENABLED: false\n  DEFAULT_SCOPES: [profile]\n", "mandate.yaml:3: OAUTH2_PROVIDER.DEFAULT_SCOPES[0]: is " +
			"not in SCOPES; add it there or remove it here"},
		{p + "OIDC_ENABLED: false\n  SCOPES_BY_ADMINISTRATOR: [groups]\n",
			"mandate.yaml:3: OAUTH2_PROVIDER.SCOPES_BY_ADMINISTRATOR[0]: is not in SCOPES; add it there or remove it here"},
		{p + "RESOURCES: [{URI: https://mail.example, NAME: Mail, SCOPES: [read, email]}]\n",
			"mandate.yaml:2: OAUTH2_PROVIDER.RESOURCES[0].SCOPES: The scope \"email\" belongs to OpenID Connect, and every " +
				"resource has it: remove it, or use another name for the scope of this API. With OIDC_ENABLED: false, it is a " +
				"scope like any other."},
		{p + "DEFAULT_SCOPES: [read, read]\n", pat + "DEFAULT_SCOPES[1]: repeats a scope; keep one"},
		{p + "DEFAULT_SCOPES: [read, __all__]\n", pat + "DEFAULT_SCOPES[1]: __all__ means all scopes; remove it or the " +
			"others"},
		{p + "DEFAULT_SCOPES: [introspection]\n", pat + "DEFAULT_SCOPES[0]: introspection is never a default scope; an " +
			"application that may have it requests it by name"},
		{p + "READ_SCOPE: a b\n", pat + "READ_SCOPE: is not a scope name; use printable ASCII without spaces, \" and " +
			"\\ (RFC 6749 §3.3)"},
		{"SAMPLE_API: true\n" + p + "READ_SCOPE: r\n", "mandate.yaml:3: OAUTH2_PROVIDER.READ_SCOPE: SAMPLE_API needs the " +
			"scope of READ_SCOPE, which is not in SCOPES; add it there or set another one"},
		{p + "ALLOWED_REDIRECT_URI_SCHEMES:\n    - https\n    - javascript\n",
			"mandate.yaml:4: OAUTH2_PROVIDER.ALLOWED_REDIRECT_URI_SCHEMES[1]: must be https, http or a private-use scheme " +
				"with a dot such as com.example.app, in lower case (RFC 8252 §7.1)"},
		{p + "OPEN_CLIENTS: [documents, everybody]\n", pat + "OPEN_CLIENTS[1]: must be documents or registration"},
		{p + "OPEN_HOSTS: [claude.ai, 'https://claude.ai']\n", pat + "OPEN_HOSTS[1]: must be a host such as claude.ai or " +
			"*.example.com, in lower case and without a port"},
		{p + "OPEN_HOSTS: ['*']\n", pat + "OPEN_HOSTS[0]: must be a host such as claude.ai or *.example.com, in lower case " +
			"and without a port"},
		{p + "OPEN_REDIRECT_URI_SCHEMES: [cursor, javascript]\n",
			pat + "OPEN_REDIRECT_URI_SCHEMES[1]: must be the private-use scheme of an application, without a dot and in lower " +
				"case, such as cursor"},

		// The resource server.
		{p + "RESOURCE_SERVER_INTROSPECTION_URL: https://a/o/introspect/\n",
			pat + "RESOURCE_SERVER_INTROSPECTION_URL: needs RESOURCE_SERVER_AUTH_TOKEN or " +
				"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS to authenticate with (RFC 7662 §2.1); set one"},
		{p + "RESOURCE_SERVER_INTROSPECTION_URL: http://a/\n  RESOURCE_SERVER_AUTH_TOKEN: mat_1\n",
			pat + "RESOURCE_SERVER_INTROSPECTION_URL: is plain http: everybody on the network path can read the secrets; use " +
				"https, or set ALLOW_INSECURE_HTTP: true in a test network"},
		{p + "JWT_ACCESS_TOKEN_EXPIRE_SECONDS: 36001\n", pat + "JWT_ACCESS_TOKEN_EXPIRE_SECONDS: is longer than " +
			"ACCESS_TOKEN_EXPIRE_SECONDS (36000); lower it or raise the other one"},
		{p + "RESOURCE_SERVER_JWT_TYP: JWT\n",
			pat + "RESOURCE_SERVER_JWT_TYP: has no effect without RESOURCE_SERVER_JWKS_URL; set that too, or remove this"},
		{p + "RESOURCE_SERVER_JWKS_URL: https://a/keys\n  RESOURCE_SERVER_ISSUER: https://a\n",
			pat + "RESOURCE_SERVER_JWKS_URL: needs RESOURCE_SERVER_ISSUER and RESOURCE_SERVER_AUDIENCE, with which tokens are " +
				"compared (RFC 9068 §4); set both"},
		{p + "RESOURCE_SERVER_JWKS_URL: http://a/keys\n  RESOURCE_SERVER_ISSUER: https://a\n  RESOURCE_SERVER_AUDIENCE: " +
			"https://b\n", pat + "RESOURCE_SERVER_JWKS_URL: is plain http: everybody on the network path can read the " +
			"secrets; use https, or set ALLOW_INSECURE_HTTP: true in a test network"},
		{p + "RESOURCE_SERVER_JWKS_URL: keys\n", pat + "RESOURCE_SERVER_JWKS_URL: must be an absolute URL " +
			"(https://host/path)"},
		{p + "RESOURCE_SERVER_ISSUER: https://a\n",
			pat + "RESOURCE_SERVER_ISSUER: has no effect without RESOURCE_SERVER_AUDIENCE; set that too, or remove this"},
		{p + "RESOURCE_SERVER_ISSUER: auth\n  RESOURCE_SERVER_AUDIENCE: https://b\n",
			pat + "RESOURCE_SERVER_ISSUER: must be an absolute URL (https://host/path): it is the issuer in the metadata of " +
				"the authorization server (RFC 8414 §2)"},
		{p + "RESOURCE_SERVER_NAME: Orders\n", pat + "RESOURCE_SERVER_NAME: has no effect without RESOURCE_SERVER_ISSUER " +
			"and RESOURCE_SERVER_AUDIENCE, with which the API publishes metadata; set both, or remove this"},
		{"SAMPLE_API: true\n" + p + "RESOURCE_SERVER_DOCUMENTATION: docs\n",
			"mandate.yaml:3: OAUTH2_PROVIDER.RESOURCE_SERVER_DOCUMENTATION: must be an absolute URL (https://host/path)"},
		{p + "RESOURCE_SERVER_BASE_URLS: [https://a, b]\n", pat + "RESOURCE_SERVER_BASE_URLS[1]: must be an absolute URL " +
			"(https://host/path)"},
		{p + "RESOURCE_SERVER_BASE_URLS: [\"https://a?b\"]\n", pat + "RESOURCE_SERVER_BASE_URLS[0]: contains a query; " +
			"remove everything from the ? on"},
		{p + "RESOURCE_SERVER_BASE_URLS: [http://a]\n", pat + "RESOURCE_SERVER_BASE_URLS[0]: is plain http: everybody on " +
			"the network path can read the access tokens; use https, or set ALLOW_INSECURE_HTTP: true in a test network"},
		{p + "RESOURCE_SERVER_REQUIRED_BINDING: mtls\n", pat + "RESOURCE_SERVER_REQUIRED_BINDING: must be one of none, " +
			"dpop, certificate, any"},
		{p + "RESOURCE_SERVER_REQUIRED_BINDING: certificate\n",
			pat + "RESOURCE_SERVER_REQUIRED_BINDING: needs MTLS_LISTEN, or MTLS_CERTIFICATE_HEADER for a reverse proxy: " +
				"otherwise nobody asks clients for a certificate"},
		{p + "RESOURCE_SERVER_REQUIRED_BINDING: dpop\n  RESOURCE_SERVER_INTROSPECTION_URL: https://a\n  " +
			"RESOURCE_SERVER_AUTH_TOKEN: t\nUPSTREAM: http://b\nRULES: [{PATH: /}]\n",
			pat + "RESOURCE_SERVER_REQUIRED_BINDING: needs the URL of the API, for which a client makes its proofs: set " +
				"RESOURCE_SERVER_BASE_URLS"},
		{p + "RESOURCE_SERVER_REQUIRED_BINDING: any\n  RESOURCE_SERVER_INTROSPECTION_URL: https://a\n  " +
			"RESOURCE_SERVER_AUTH_TOKEN: t\nUPSTREAM: http://b\nRULES: [{PATH: /}]\n",
			pat + "RESOURCE_SERVER_REQUIRED_BINDING: needs RESOURCE_SERVER_BASE_URLS for keys, or MTLS_LISTEN or " +
				"MTLS_CERTIFICATE_HEADER for certificates; set one"},
		{p + "RESOURCE_SERVER_DPOP_NONCE_KEY: hunter2\n", pat + "RESOURCE_SERVER_DPOP_NONCE_KEY: must be 32 random bytes " +
			"in base64, as `openssl rand -base64 32` prints them"},
		{p + "RESOURCE_SERVER_DPOP_NONCE_KEY: " + testKey + "\n",
			pat + "RESOURCE_SERVER_DPOP_NONCE_KEY: has no effect without RESOURCE_SERVER_DPOP_NONCE: true; set that too, or " +
				"remove this"},
		{p + "RESOURCE_SERVER_DPOP_NONCE_KEY: " + testKey + "\n  RESOURCE_SERVER_DPOP_NONCE: true\nSECRET_KEY: " + testKey +
			"\n", pat + "RESOURCE_SERVER_DPOP_NONCE_KEY: is also SECRET_KEY; make a key of its own"},
		{p + "RESOURCE_SERVER_ALLOWED_ORIGINS: [\"*\", https://a/]\n",
			pat + "RESOURCE_SERVER_ALLOWED_ORIGINS[1]: is not an origin as a browser sends it; write scheme, host and port " +
				"alone, without a default port (https://app.example.com), or * for every origin"},
		{p + "RESOURCE_SERVER_AUTH_TOKEN: mat_1\n", pat + "RESOURCE_SERVER_AUTH_TOKEN: has no effect without " +
			"RESOURCE_SERVER_INTROSPECTION_URL; set that too, or remove this"},
		{rs + "  RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [a, b]\n",
			"mandate.yaml:3: OAUTH2_PROVIDER.RESOURCE_SERVER_AUTH_TOKEN: RESOURCE_SERVER_AUTH_TOKEN and " +
				"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS are both set; keep one"},
		{p + "RESOURCE_SERVER_AUTH_TOKEN: Bearer hunter2\n", pat + "RESOURCE_SERVER_AUTH_TOKEN: is not a bearer token; set " +
			"the access token alone, without the word Bearer (RFC 6750 §2.1)"},
		{p + "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [hunter2]\n",
			pat + "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: must be a list of two: the client id and the client secret"},
		{p + "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [a, 12345]\n",
			pat + "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS[1]: must be text, not a number; put it in quotes"},
	} {
		_, err := load(t, test.text)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n got: %v\nwant: %s", test.text, err, test.want)
		}
	}
}

func TestConfigEnvironmentErrors(t *testing.T) {
	for _, test := range []struct{ env, want string }{
		{"MANDATE_LISTENN=:1", "MANDATE_LISTENN: is not a setting; did you mean MANDATE_LISTEN?"},
		{"MANDATE_CONFIGG=a", "MANDATE_CONFIGG: is not a setting; did you mean MANDATE_CONFIG?"},
		{"MANDATE_A\nB=a", "\"MANDATE_A\\nB\": is not a setting; docs/configuration.md lists all settings"},
		{"MANDATE_=a", "MANDATE_: is not a setting; docs/configuration.md lists all settings"},
		{"MANDATE_OAUTH2_PROVIDER_SCOPES={}", "MANDATE_OAUTH2_PROVIDER_SCOPES: is not a setting; did you mean " +
			"MANDATE_SCOPES?"},
		{"MANDATE_OAUTH2_PROVIDER={}", "MANDATE_OAUTH2_PROVIDER: is a block; set its keys one by one (for example " +
			"MANDATE_SCOPES)"},
		{"MANDATE_PORT=8000", "MANDATE_PORT: is not a setting; docs/configuration.md lists all settings"},
		{"MANDATE_LISTEN_FILE=a", "MANDATE_LISTEN_FILE: is not a setting: only secrets can be read from a file, and LISTEN " +
			"is not a secret"},
		{"MANDATE_SHUTDOWN_SECONDS=", "MANDATE_SHUTDOWN_SECONDS: is empty; set a value or remove it"},
		{"MANDATE_SHUTDOWN_SECONDS=abc", "MANDATE_SHUTDOWN_SECONDS: must be a whole number of seconds (15), not text"},
		{"MANDATE_SAMPLE_API=1", "MANDATE_SAMPLE_API: must be true or false, not a number"},
		{"MANDATE_SCOPES={a", "MANDATE_SCOPES: is not YAML: did not find expected ',' or '}'"},
		{"MANDATE_SCOPES=read write", "MANDATE_SCOPES: must be a mapping from scope to description ({read: Read scope}), " +
			"not text"},
		{"MANDATE_DEFAULT_SCOPES=read files", "MANDATE_DEFAULT_SCOPES: OAUTH2_PROVIDER.DEFAULT_SCOPES[1]: is not in " +
			"SCOPES; add it there or remove it here"},
		{"MANDATE_LISTEN=\xff", "MANDATE_LISTEN: is not UTF-8 text"},
		{"MANDATE_SECRET_KEY_FILE=missing", "MANDATE_SECRET_KEY_FILE: open missing: no such file or directory"},
		{"MANDATE_SECRET_KEY_FILE=", "MANDATE_SECRET_KEY_FILE: names no file; set a path or remove it"},
		{"MANDATE_SECRET_KEY=hunter2", "MANDATE_SECRET_KEY: must be 32 random bytes in base64, as `openssl rand -base64 " +
			"32` prints them"},
	} {
		_, err := load(t, "", test.env)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n got: %v\nwant: %s", test.env, err, test.want)
		}
	}
	_, err := load(t, "", "MANDATE_SECRET_KEY="+testKey, "MANDATE_SECRET_KEY_FILE=/dev/null")
	const want = "MANDATE_SECRET_KEY_FILE: SECRET_KEY and SECRET_KEY_FILE are both set; keep one"
	if err == nil || err.Error() != want {
		t.Errorf("both: %v", err)
	}
}

// One start shows every mistake, in the order of the file and then of the
// environment.
func TestConfigAllErrors(t *testing.T) {
	_, err := load(t, "LISTENN: a\nLOG_LEVEL: loud\nSESSION_IDLE_SECONDS: 99\nSESSION_COOKIE_AGE: 98\nBASE_URL: "+
		"x\nSHUTDOWN_SECONDS: x\nDATABASE_URL: postgres://a/b",
		"MANDATE_Z=1", "MANDATE_READ_SCOPE=a b")
	var problems *Error
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range problems.problems {
		keys = append(keys, p.key)
	}
	const want = "LISTENN LOG_LEVEL SESSION_IDLE_SECONDS BASE_URL SHUTDOWN_SECONDS Z OAUTH2_PROVIDER.READ_SCOPE SECRET_KEY"
	if strings.Join(keys, " ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(keys, " "), want)
	}
}

// Variables have no line, so their messages have the order of the checks.
func TestConfigErrorsHaveOneOrder(t *testing.T) {
	for range 20 {
		_, err := load(t, "", "MANDATE_HELP_URL=x", "MANDATE_TERMS_URL=x", "MANDATE_PRIVACY_URL=x")
		if got := fmt.Sprint(err); strings.Index(got, "HELP_URL") > strings.Index(got, "TERMS_URL") ||
			strings.Index(got, "TERMS_URL") > strings.Index(got, "PRIVACY_URL") {
			t.Fatal(got)
		}
	}
}

// A value at the wrong place may be a secret: no message contains it.
func TestConfigErrorsHideSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, f := range allFields(&Config{}) {
		indent := ""
		if strings.HasPrefix(f.name, providerBlock) {
			indent = "OAUTH2_PROVIDER:\n  "
		}
		for _, value := range []string{"hunter2", "'hunter2\\'", "[hunter2]", "[hunter2, hunter2, hunter2]",
			"{hunter2: hunter2}", "*hunter2", "&hunter2 hunter2", "!hunter2 hunter2", "\"hunter2\\q\"", "\"hunter2", "[hunter2",
			"postgres://a:hunter2@[/b", "https://hunter2:hunter2@a", "postgres://a:hunter2@a:b/c"} {
			for _, source := range []struct{ text, env string }{{text: indent + f.key + ": " + value + "\n"},
				{env: "MANDATE_" + f.key + "=" + value}} {
				_, err := load(t, source.text, source.env)
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s %s: %v", f.key, value, err)
				}
			}
		}
	}
}

// Nested aliases of 10^9 values, and mappings of the greatest depth that the file
// size allows.
func TestConfigBombs(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i < 'k'; i++ {
		before := string(i - 1)
		bomb += string(i) + ": &" + string(i) + " [" + strings.Repeat("*"+before+", ", 9) + "*" + before + "]\n"
	}
	_, err := load(t, bomb+"LISTEN: *j\n")
	if err == nil || !strings.Contains(err.Error(), "LISTEN: must be text, not a YAML alias") {
		t.Errorf("bomb: %v", err)
	}
	for _, deep := range []string{strings.Repeat("[", maxConfigBytes-100), strings.Repeat("{a: ", 200000),
		strings.Repeat("- ", 500000), "LISTEN: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000)} {
		_, err := load(t, deep)
		if err == nil {
			t.Error("depth passes")
		}
	}
}
