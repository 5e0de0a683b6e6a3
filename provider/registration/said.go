package registration

import (
	"cmp"

	"mandate/provider/clients"
	"mandate/provider/metadata"
	"mandate/provider/possession"
)

// said names those fields whose members the registrant has sent that a profile sets otherwise.
func (p *Registrations) said(by *metadata.Client, r clients.Registration) []string {
	var fields []string
	for field, member := range map[string]string{
		"require_pushed": "require_pushed_authorization_requests", "sender_constraint": constraintMember(r), "algorithm": "id_token_signed_response_alg",
		"response_algorithm": "authorization_signed_response_alg", "introspection_algorithm": "introspection_signed_response_alg",
		"require_signed": "require_signed_request_object", "response_modes": "response_modes"} {
		if by.Sent(member) && (field != "algorithm" || p.config.OpenID) {
			fields = append(fields, field)
		}
	}
	return fields
}

// constraintMember names the member for the sender constraint of a client, or for the one that a
// profile sets. false for the other one says nothing, because a token is bound to one thing.
func constraintMember(r clients.Registration) string {
	if cmp.Or(r.SenderConstraint, clients.ProfileConstraint(r.Authentication.Method)) == possession.Certificate {
		return "tls_client_certificate_bound_access_tokens"
	}
	return "dpop_bound_access_tokens"
}
