package registration

import (
	"cmp"
	"slices"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
)

// notMetadata are the fields that client metadata has no member for: people and commands set them.
var notMetadata = []string{
	"resources", "required_acr", "access_token_format", "access_token_lifetime", "refresh_token_lifetime",
	"refresh_rotation", "launch_url", "skip_consent", "assertion_audience_endpoints",
	"allowed_groups", "denied_groups", "nobody_new", "claims",
}

// byValue are the fields whose value decides about the name of the member.
var byValue = map[string]string{
	"sender_constraint":   "dpop_bound_access_tokens",
	"certificate_subject": "tls_client_auth_san_dns",
}

// RFC 7591 §3.2.1: the answer has all registered metadata.
func TestAnswerHasEveryMember(t *testing.T) {
	p := &Registrations{
		config: Config{OpenID: true},
		rules:  policy.New(policy.Settings{Scopes: []policy.Scope{{Name: "read"}}}),
	}
	a := storage.Application{Responsible: storage.ByOperator}
	for _, f := range clients.Fields() {
		switch column := f.Column(&a).(type) {
		case *bool:
			*column = true
		case *string:
			*column = f.Name
		}
	}
	a.GrantTypes, a.Scopes, a.JWKS, a.Sector = policy.GrantCode, "read", `{"keys":[]}`, "app.example"
	a.SenderConstraint, a.CertificateSubject = possession.DPoP, "tls_client_auth_san_dns=app.example"
	answer := p.answer(a, describeStored(a), "")
	for _, f := range clients.Fields() {
		member := cmp.Or(byValue[f.Name], f.MetadataName())
		if (answer[member] == nil) != slices.Contains(notMetadata, f.Name) {
			t.Errorf("%s: the answer has the %s %v", f.Name, member, answer[member])
		}
	}
}
