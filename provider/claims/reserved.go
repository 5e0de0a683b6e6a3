package claims

import "strings"

// reserved lists the claims that a rule cannot set, in lower case, with the document that gives them their meaning.
// They say who issued a token, for whom, and what it is bound to, or what this server has checked: a program that reads
// them believes the server and not the administrator of an application.
var reserved = func() map[string]string {
	names := map[string]string{}
	for _, of := range []struct{ document, names string }{
		{"RFC 7519 §4.1", "iss sub aud exp nbf iat jti"},
		{"RFC 7515 §4.1", "alg typ cty kid crit"},
		{"RFC 7662 §2.2", "active scope client_id username token_type"},
		{"RFC 7800 §3.1", "cnf"},
		{"RFC 8417 §2.2", "events txn toe"},
		{"RFC 8485 §3", "vot vtm"},
		{"RFC 8693 §4", "act may_act"},
		{"RFC 8693 §2", "actor_token subject_token"},
		{"RFC 8707 §2", "resource"},
		{"RFC 9101 §4", "request request_uri"},
		{"RFC 9200 §5", "ace_profile cnonce exi"},
		{"RFC 9246", "cdniv cdnicrit cdniip cdniuc cdniets cdnistt cdnistd"},
		{"RFC 9396 §9", "authorization_details"},
		{"RFC 9449 §4.2", "htm htu ath"},
		{"RFC 9470 §6.2", "acr auth_time"},
		{"RFC 9493 §3", "sub_id"},
		{"RFC 9701 §5", "token_introspection"},
		{"RFC 9711 §4", "eat_nonce eat_profile ueid sueids"},
		{"RFC 6749 §5", "access_token refresh_token expires_in error error_description error_uri state code"},
		{"OIDC Core §2", "nonce acr amr azp auth_time"},
		{"OIDC Core §3.3.2.11", "at_hash c_hash"},
		{"OIDC Core §7.4", "sub_jwk"},
		{"FAPI 1.0 Advanced §5.1.1", "s_hash"},
		{"OIDC Front-Channel §3", "sid"},
		{"OIDC CIBA §10.3.1", "rt_hash urn:openid:params:jwt:claim:rt_hash urn:openid:params:jwt:claim:auth_req_id"},
		{"OIDC Identity Assurance §5", "verified_claims"},
		{"OIDC Federation §3", "trust_chain trust_marks authority_hints metadata metadata_policy constraints jwks"},
		{"SD-JWT (RFC 9901) §4", "sd_hash vct status status_list"},
		{"IPSIE SL1", "session_expiry"},
		// An application believes that this server has checked the address, and many take it for the name of the account.
		// The scopes profile, email, phone and address bring these claims.
		{"OIDC Core §5.1", "name given_name family_name middle_name nickname preferred_username profile picture website " +
			"email email_verified gender birthdate zoneinfo locale phone_number phone_number_verified address updated_at"},
	} {
		for _, name := range strings.Fields(of.names) {
			names[name] = of.document
		}
	}
	return names
}()

// Reserved returns the document that gives a claim its meaning, or "" for a claim that a rule can set. Case makes no
// difference: some programs read names of claims without it.
func Reserved(name string) string { return reserved[strings.ToLower(name)] }
