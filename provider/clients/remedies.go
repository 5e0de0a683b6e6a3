package clients

import (
	"strings"

	"mandate/provider/events"
)

// Remedy says what to change after a refusal.
type Remedy struct {
	Text  string // empty: the description of the refusal says all
	Field string // of the form that changes the application; RotateSecret is the page that replaces the secret; may be empty
}

// RotateSecret in place of a field leads to the page that replaces the client secret.
const RotateSecret = "rotate"

// remedies has the first row that fits a refusal: it has the code, if the row has one, and its description has the words.
var remedies = [...]struct {
	code, words string
	Remedy
}{
	{"", "code_challenge is missing", Remedy{"Turn on PKCE with S256 in the program. If it has no such setting, an administrator can let this application come without it.", "pkce"}},
	{"", "code_verifier", Remedy{"The program must send the code verifier of the same login: check that it keeps the verifier until the browser comes back, also with several servers.", ""}},
	{"", "code_challenge", Remedy{"Set PKCE to S256 in the program, or turn it off and on again. Each login needs a new code verifier.", ""}},
	{"", "redirect URI of this request is not registered", Remedy{"Compare the callback address of the program with the registered redirect URIs, character by character. Register it if it is yours. The error page shows the two to the owner and to administrators.", "redirect_uris"}},
	{"", "redirect_uri is missing", Remedy{"Let the program send redirect_uri, as most do.", "redirect_uris"}},
	{"", "is not the one of the authorization request", Remedy{"The program must send the same redirect_uri in both requests: check its base URL, and what a proxy does to scheme and host.", ""}},
	{"unsupported_response_type", "", Remedy{"Set the program to the authorization code flow (response_type=code). The implicit flow is not supported.", ""}},
	{"", "response_mode", Remedy{"Choose another response mode in the program, or allow this one.", "response_modes"}},
	{"invalid_scope", "There is no scope", Remedy{"Remove the scope from the settings of the program, or ask the operator to add it to SCOPES.", ""}},
	{"invalid_scope", "may not request", Remedy{"Allow the application the scope, or remove it from the settings of the program.", "scope"}},
	{"invalid_scope", "has no default scope", Remedy{"Let the program name the scopes that it needs.", ""}},
	{"invalid_scope", "", Remedy{"Compare the scopes in the settings of the program with those that the application may request.", "scope"}},
	{"invalid_client", "or the secret is wrong", Remedy{"The program has sent another secret than the registered one. Copy the secret again, or replace it if it is lost.", RotateSecret}},
	{"invalid_client", "sent its secret by", Remedy{"Let the program send its secret in the registered way, or change the registration.", "auth_method"}},
	{"invalid_client", "must send its secret", Remedy{"Enter the client secret in the program. If the program cannot keep a secret, register it as a public application.", RotateSecret}},
	{"invalid_client", "has no secret", Remedy{"Remove the client secret from the settings of the program.", ""}},
	{"invalid_client", "client certificate", Remedy{"Compare the certificate of the program with the registered one.", "certificate_subject"}},
	{"invalid_client", "registered the key", Remedy{"Compare the key of the program with the registered keys.", "jwks"}},
	{"unauthorized_client", "not registered for the", Remedy{"Allow the application this grant, or choose another one in the program.", "grant_type"}},
	{"unsupported_grant_type", "", Remedy{"Choose another grant in the program.", "grant_type"}},
	{"invalid_grant", "code is unknown", Remedy{"A code works once, for a short time. Check that the program does not redeem it twice, and that its clock and its network are not slow.", ""}},
	{"invalid_grant", "code was already used", Remedy{"A code works once. Check that the program does not redeem it twice, for example because a page was loaded again.", ""}},
	{"invalid_grant", "refresh token was already used", Remedy{"Refresh tokens are replaced at each use. If several parts of the program refresh at the same time, let one of them do it.", "refresh_rotation"}},
	{"", "must push its authorization requests", Remedy{"Let the program push its requests, or do not require it.", "require_pushed"}},
	{"", "must sign its authorization requests", Remedy{"Let the program sign its requests, or do not require it.", "require_signed"}},
	{"invalid_target", "", Remedy{"Compare the resource that the program names with those that the application may use.", "resources"}},
	{"slow_down", "", Remedy{"Let the device wait longer between two polls.", ""}},
	{"temporarily_unavailable", "", Remedy{"Too many requests came at once: let the program wait and try again.", ""}},
}

// RemedyOf returns what to change after a refusal.
func RemedyOf(r events.Refusal) Remedy {
	for _, row := range remedies {
		if (row.code == "" || row.code == r.Error) && strings.Contains(r.Description, row.words) {
			return row.Remedy
		}
	}
	return Remedy{}
}

// RemedyFields returns the fields of the form to which remedies lead.
func RemedyFields() []string {
	var fields []string
	for _, row := range remedies {
		if row.Field != "" && row.Field != RotateSecret {
			fields = append(fields, row.Field)
		}
	}
	return fields
}
