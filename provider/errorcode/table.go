package errorcode

import "strings"

// Code is an error code.
type Code struct {
	Name   string
	Source string // the clauses that define it
	Cause  string
	Cure   string
	Field  string // of the form of an application that may need a change; may be empty
	Direct bool   // the cure fits each refusal with this code, whatever its description says
	Cases  []Case
}

// Case is a description of a code that has a cure of its own.
type Case struct {
	ID    string // its anchor on the page of the code
	Words string // that the description has
	Cure  string
	Field string // of the form of an application that may need a change, or RotateSecret; may be empty
}

// RotateSecret in place of a field leads to the page that replaces the client secret.
const RotateSecret = "rotate"

// Case returns the first case that fits a description.
func (c Code) Case(description string) (Case, bool) {
	for _, one := range c.Cases {
		if strings.Contains(description, one.Words) {
			return one, true
		}
	}
	return Case{}, false
}

// table has every error code that this server sends, in the order of the page: first those that developers meet most.
var table = [...]Code{
	{Name: "invalid_request", Source: "RFC 6749 §4.1.2.1, §5.2",
		Cause: "A parameter is missing, repeated, malformed, or not allowed here.",
		Cure:  "Read error_description: it names the parameter, and says what its value must be.",
		Cases: []Case{
			{
				"pkce-missing",
				"code_challenge is missing",
				"Turn on PKCE with S256 in the program. If it has no such setting, an administrator can let this " +
					"application come without it.",
				"pkce",
			},
			{
				"pkce",
				"code_challenge",
				"Set PKCE to S256 in the program, or turn it off and on again. Each login needs a new code verifier.",
				"",
			},
			{
				"redirect-uri-not-registered",
				"redirect URI of this request is not registered",
				"Compare the callback address of the program with the registered redirect URIs, character by character. Register " +
					"it if it is yours. The error page shows the two to the owner and to administrators.",
				"redirect_uris",
			},
			{
				"redirect-uri-missing",
				"redirect_uri is missing",
				"Let the program send redirect_uri, as most do.",
				"redirect_uris",
			},
			{
				"response-mode",
				"response_mode",
				"Choose another response mode in the program, or allow this one.",
				"response_modes",
			},
			{
				"push",
				"must push its authorization requests",
				"Let the program push its requests, or do not require it.",
				"require_pushed",
			},
			{
				"sign",
				"must sign its authorization requests",
				"Let the program sign its requests, or do not require it.",
				"require_signed",
			},
			{
				"two-credentials",
				"authenticates in more than one way",
				"Let the program send its credentials in one way only: in the header Authorization, or in the body.",
				"",
			},
			{
				"body",
				"Send the parameters in the body",
				"Let the program send a POST with the parameters in its body, form-encoded. The query of the URL is " +
					"in the logs of many computers.",
				"",
			},
		}},
	{
		Name:   "invalid_client",
		Source: "RFC 6749 §5.2",
		Cause:  "The server does not know the application, or the application has not proved who it is.",
		Cure: "Compare the client ID and the secret in the program with those of its page here. They must be of " +
			"this server, and without spaces around them.",
		Cases: []Case{
			{
				"secret-wrong",
				"or the secret is wrong",
				"The program has sent another secret than the registered one. Copy the secret again, or replace it " +
					"if it is lost.",
				RotateSecret,
			},
			{
				"secret-method",
				"sent its secret by",
				"Let the program send its secret in the registered way, or change the registration.",
				"auth_method",
			},
			{
				"secret-missing",
				"must send its secret",
				"Enter the client secret in the program. If the program cannot keep a secret, register it as a " +
					"public application.",
				RotateSecret,
			},
			{"no-secret", "has no secret", "Remove the client secret from the settings of the program.", ""},
			{
				"not-sent",
				"does not identify the client",
				"Enter the client ID and the client secret in the program. If it has them, a proxy has removed the " +
					"header Authorization.",
				"",
			},
			{
				"no-certificate",
				"has no client certificate",
				"Let the program send its certificate to the endpoint in mtls_endpoint_aliases of the metadata. A " +
					"proxy in between must pass it on.",
				"",
			},
			{
				"certificate",
				"client certificate",
				"Compare the certificate of the program with the registered one.",
				"certificate_subject",
			},
			{"key", "registered the key", "Compare the key of the program with the registered keys.", "jwks"},
			{
				"unknown",
				"No application with this client_id",
				"Compare the client ID in the program with that of the page of the application, and the address of " +
					"the server with the issuer.",
				"",
			},
		},
	},
	{
		Name:   "invalid_grant",
		Source: "RFC 6749 §5.2",
		Cause: "The code, the refresh token, the device code or the password is wrong, expired or already used, or " +
			"it belongs to another application or another login.",
		Cure: "Read error_description. Usually the program only has to begin a new login.",
		Cases: []Case{
			{
				"code-verifier",
				"code_verifier",
				"The program must send the code verifier of the same login: check that it keeps the verifier until " +
					"the browser comes back, also with several servers.",
				"",
			},
			{
				"other-redirect-uri",
				"is not the one of the authorization request",
				"The program must send the same redirect_uri in both requests: check its base URL, and what a proxy " +
					"does to scheme and host.",
				"",
			},
			{
				"code-unknown",
				"code is unknown",
				"A code works once, for a short time. Check that the program does not redeem it twice, and that its " +
					"clock and its network are not slow.",
				"",
			},
			{
				"code-used",
				"code was already used",
				"A code works once. Check that the program does not redeem it twice, for example because a page was " +
					"loaded again.",
				"",
			},
			{
				"refresh-used",
				"refresh token was already used",
				"Refresh tokens are replaced at each use. If several parts of the program refresh at the same time, " +
					"let one of them do it.",
				"refresh_rotation",
			},
			{
				"refresh-unknown",
				"refresh token is unknown",
				"The program holds an old refresh token, or the person or an administrator has ended the access. " +
					"Begin a new login.",
				"",
			},
			{
				"second-factor",
				"second factor",
				"Use the authorization code grant: the password grant has no place for a second factor.",
				"grant_type",
			},
		},
	},
	{Name: "invalid_scope", Source: "RFC 6749 §4.1.2.1, §5.2", Field: "scope", Direct: true,
		Cause: "A scope is unknown, malformed, not granted, or not available to this application.",
		Cure:  "Compare the scopes in the settings of the program with those that the application may request.",
		Cases: []Case{
			{
				"unknown",
				"There is no scope",
				"Remove the scope from the settings of the program, or ask the operator to add it to SCOPES. " +
					"If the request was granted without the scope, the log of the server names it.",
				"",
			},
			{
				"not-allowed",
				"may not request",
				"Allow the application the scope, or remove it from the settings of the program.",
				"scope",
			},
			{"none", "has no default scope", "Let the program name the scopes that it needs.", ""},
		}},
	{Name: "unauthorized_client", Source: "RFC 6749 §4.1.2.1, §5.2",
		Cause: "The application is not registered for this grant or this use, or it is suspended.",
		Cure:  "Read error_description. The owner of the application or an administrator can change the registration.",
		Cases: []Case{
			{
				"grant",
				"not registered for the",
				"Allow the application this grant, or choose another one in the program.",
				"grant_type",
			},
		}},
	{Name: "unsupported_response_type", Source: "RFC 6749 §4.1.2.1", Direct: true,
		Cause: "The program asks for another response than an authorization code.",
		Cure: "Set the program to the authorization code flow (response_type=code). The implicit flow is not " +
			"supported."},
	{Name: "unsupported_grant_type", Source: "RFC 6749 §5.2", Field: "grant_type", Direct: true,
		Cause: "The server does not know this grant type.",
		Cure:  "Choose another grant in the program."},
	{Name: "access_denied", Source: "RFC 6749 §4.1.2.1, RFC 8628 §3.5",
		Cause: "The person has denied the request, or may not do this.",
		Cure: "Begin again if the person has chosen the wrong button. Otherwise error_description says who can " +
			"allow it."},
	{
		Name:   "login_required",
		Source: "OIDC Core §3.1.2.6",
		Cause:  "The program asked for a login without any page (prompt=none), and the person must sign in.",
		Cure: "Let the program begin a login without prompt=none. In a frame on another site, the browser sends " +
			"no session.",
	},
	{
		Name:   "consent_required",
		Source: "OIDC Core §3.1.2.6",
		Cause: "The program asked for a login without any page (prompt=none), and the person must approve the " +
			"request.",
		Cure: "Let the program begin a login without prompt=none. An administrator can let an application of the " +
			"operator skip the consent.",
	},
	{
		Name:   "unmet_authentication_requirements",
		Source: "OIDC Unmet Authentication Requirements §3, RFC 9470 §5",
		Cause: "The person has not signed in as strongly as the request or the application requires, or the server " +
			"does not know this level.",
		Cure: "Let the program ask for a level in acr_values that the metadata lists. The person needs a second " +
			"factor for the stronger ones.",
	},
	{Name: "request_uri_not_supported", Source: "OIDC Core §3.1.2.6",
		Cause: "The program sends a request object by reference, which this server does not read.",
		Cure:  "Let the program push the request (RFC 9126), or send the parameters themselves."},
	{Name: "registration_not_supported", Source: "OIDC Core §3.1.2.6",
		Cause: "The program sends the parameter registration in an authorization request.",
		Cure:  "Register the application first, and leave the parameter out."},
	{
		Name:   "invalid_request_uri",
		Source: "OIDC Core §3.1.2.6, RFC 9126 §2.2",
		Cause:  "The request_uri is unknown, expired or already used, or what it leads to cannot be read.",
		Cure: "Push the request again: each request_uri works once, for a short time. Load no old login page from " +
			"the history of the browser.",
	},
	{Name: "invalid_request_object", Source: "RFC 9101 §6, §7",
		Cause: "The request object is not valid: its signature, its audience, its lifetime or one of its claims is " +
			"wrong.",
		Cure: "Read error_description. Often the key is not the registered one, or the audience is not the issuer."},
	{Name: "invalid_target", Source: "RFC 8707 §2", Field: "resources", Direct: true,
		Cause: "A value of resource is malformed, unknown, not available to this application, or was not granted.",
		Cure:  "Compare the resource that the program names with those that the application may use."},
	{Name: "authorization_pending", Source: "RFC 8628 §3.5",
		Cause: "The person has not decided yet about the device.",
		Cure:  "Nothing is wrong: the device asks again after the interval."},
	{Name: "slow_down", Source: "RFC 8628 §3.5", Direct: true,
		Cause: "The device asks for its tokens too often.",
		Cure:  "Let the device wait longer between two polls."},
	{Name: "expired_token", Source: "RFC 8628 §3.5",
		Cause: "The code of the device has expired before the person decided.",
		Cure:  "Begin again on the device."},
	{
		Name:   "invalid_token",
		Source: "RFC 6750 §3.1",
		Cause: "The token in the header Authorization is unknown, expired, revoked, for another resource, or bound " +
			"to another key.",
		Cure: "Get a new token: refresh it, or begin a new login. An access token is for the API that it was " +
			"requested for.",
	},
	{Name: "insufficient_scope", Source: "RFC 6750 §3.1",
		Cause: "The token does not have the scope that this request needs.",
		Cure:  "Request a token with the scope that the header WWW-Authenticate or error_description names."},
	{
		Name:   "insufficient_user_authentication",
		Source: "RFC 9470 §3",
		Cause:  "The API needs a more recent or a stronger login than that of the token.",
		Cure: "Send the person to the authorization endpoint again, with the acr_values or the max_age of the " +
			"header WWW-Authenticate.",
	},
	{
		Name:   "invalid_dpop_proof",
		Source: "RFC 9449 §5, §7.1",
		Cause:  "The DPoP proof is malformed, too old, used before, or for another request.",
		Cure: "Make a new proof for each request, with the method and the address of this request. Check the " +
			"clock of the program.",
	},
	{
		Name:   "use_dpop_nonce",
		Source: "RFC 9449 §8, §9",
		Cause:  "The server requires a nonce in the DPoP proof.",
		Cure: "Send the request again, with the nonce of the header DPoP-Nonce in a new proof. Most libraries do " +
			"it by themselves.",
	},
	{Name: "invalid_redirect_uri", Source: "RFC 7591 §3.2.2",
		Cause: "A redirect URI of the registration is not allowed.",
		Cure:  "Read error_description: it says what is wrong with which redirect URI."},
	{Name: "invalid_client_metadata", Source: "RFC 7591 §3.2.2",
		Cause: "A member of the metadata of the registration is wrong.",
		Cure:  "Read error_description: it names the member, and says what its value must be."},
	{Name: "invalid_software_statement", Source: "RFC 7591 §3.2.2",
		Cause: "The software statement is not a signed JWT, has expired, or is wrong in another way.",
		Cure:  "Get a new software statement from its issuer."},
	{Name: "unapproved_software_statement", Source: "RFC 7591 §3.2.2",
		Cause: "The server does not trust the issuer of the software statement.",
		Cure:  "Ask the operator to add the issuer to SOFTWARE_STATEMENT_ISSUERS."},
	{Name: "temporarily_unavailable", Source: "RFC 6749 §4.1.2.1", Direct: true,
		Cause: "Too many requests came at once, a quota is used up, or the server cannot reach its database.",
		Cure:  "Let the program wait, for as long as the header Retry-After says, and try again.",
		Cases: []Case{
			{
				"clock",
				"The clock of this node",
				"The clocks of the server and of its database differ. The operator must set both by NTP.",
				"",
			},
			{
				"database",
				"database",
				"The server cannot reach its database. The operator finds the reason in the log of the server.",
				"",
			},
			{
				"quota",
				"quota",
				"The application has used up its quota. The operator can raise it, or an administrator can take the " +
					"application over.",
				"",
			},
		}},
	{Name: "server_error", Source: "RFC 6749 §4.1.2.1",
		Cause: "Something went wrong in the server.",
		Cure:  "The log of the server describes it. Tell the operator the time and the request ID."},
	{Name: "invalid_response", Source: "OIDC Core §3.1.3.7",
		Cause: "The response of another server, with which the person wanted to sign in, was not accepted.",
		Cure:  "Begin the sign-in again. If it fails again, the operator finds the reason in the log of the server."},
	{Name: "not_found", Source: "RFC 9110 §15.5.5",
		Cause: "There is nothing at this address, or this person may not see it.",
		Cure:  "Check the address."},
}
