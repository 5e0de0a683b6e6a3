package metadata

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// translatable lists the members that may have a language tag (RFC 7591 §2.2).
var translatable = [...]string{"client_name", "client_uri", "logo_uri", "policy_uri", "tos_uri"}

// member connects a member of the JSON object with its field. Exactly one of the pointers
// is set.
type member struct {
	name   string
	text   *string
	list   *[]string
	flag   *bool
	number **int64
	object *json.RawMessage
}

// members lists all members, in the order in which they are written.
func (c *Client) members() []member {
	members := []member{
		{name: "client_id", text: &c.ClientID},
		{name: "client_secret", text: &c.ClientSecret},
		{name: "client_name", text: &c.Name},
		{name: "application_type", text: &c.ApplicationType},
		{name: "redirect_uris", list: &c.RedirectURIs},
		{name: "grant_types", list: &c.GrantTypes},
		{name: "response_types", list: &c.ResponseTypes},
		{name: "token_endpoint_auth_method", text: &c.AuthMethod},
		{name: "token_endpoint_auth_methods_supported", list: &c.AuthMethods},
		{name: "token_endpoint_auth_signing_alg", text: &c.AuthAlgorithm},
		{name: "tls_client_auth_subject_dn", text: &c.Subjects.DN},
		{name: "tls_client_auth_san_dns", text: &c.Subjects.DNS},
		{name: "tls_client_auth_san_uri", text: &c.Subjects.URI},
		{name: "tls_client_auth_san_ip", text: &c.Subjects.IP},
		{name: "tls_client_auth_san_email", text: &c.Subjects.Email},
		{name: "scope", text: &c.Scope},
		{name: "client_uri", text: &c.ClientURI},
		{name: "logo_uri", text: &c.LogoURI},
		{name: "policy_uri", text: &c.PolicyURI},
		{name: "tos_uri", text: &c.TermsURI},
		{name: "contacts", list: &c.Contacts},
		{name: "jwks_uri", text: &c.JWKSURI},
		{name: "jwks", object: &c.JWKS},
		{name: "software_id", text: &c.SoftwareID},
		{name: "software_version", text: &c.SoftwareVersion},
		{name: "software_statement", text: &c.SoftwareStatement},
		{name: "subject_type", text: &c.SubjectType},
		{name: "sector_identifier_uri", text: &c.SectorURI},
		{name: "id_token_signed_response_alg", text: &c.IDTokenAlgorithm},
		{name: "id_token_encrypted_response_alg", text: &c.IDTokenEncryption.Algorithm},
		{name: "id_token_encrypted_response_enc", text: &c.IDTokenEncryption.Content},
		{name: "claims_in_id_token", text: &c.ClaimsInIDToken},
		{name: "userinfo_signed_response_alg", text: &c.UserInfoAlgorithm},
		{name: "userinfo_encrypted_response_alg", text: &c.UserInfoEncryption.Algorithm},
		{name: "userinfo_encrypted_response_enc", text: &c.UserInfoEncryption.Content},
		{name: "introspection_signed_response_alg", text: &c.IntrospectionAlgorithm},
		{name: "introspection_encrypted_response_alg", text: &c.IntrospectionEncryption.Algorithm},
		{name: "introspection_encrypted_response_enc", text: &c.IntrospectionEncryption.Content},
		{name: "request_object_signing_alg", text: &c.RequestAlgorithm},
		{name: "default_max_age", number: &c.DefaultMaxAge},
		{name: "require_auth_time", flag: &c.RequireAuthTime},
		{name: "require_pushed_authorization_requests", flag: &c.RequirePushed},
		{name: "profile", text: &c.Profile},
		{name: "pkce", text: &c.PKCE},
		{name: "dpop_bound_access_tokens", flag: &c.DPoPBound},
		{name: "tls_client_certificate_bound_access_tokens", flag: &c.CertificateBound},
		{name: "require_signed_request_object", flag: &c.RequireSigned},
		{name: "authorization_signed_response_alg", text: &c.ResponseAlgorithm},
		{name: "authorization_encrypted_response_alg", text: &c.ResponseEncryption.Algorithm},
		{name: "authorization_encrypted_response_enc", text: &c.ResponseEncryption.Content},
		{name: "response_modes", list: &c.ResponseModes},
		{name: "default_acr_values", list: &c.DefaultACR},
		{name: "initiate_login_uri", text: &c.InitiateLoginURI},
		{name: "request_uris", list: &c.RequestURIs},
		{name: "post_logout_redirect_uris", list: &c.PostLogoutURIs},
		{name: "backchannel_logout_uri", text: &c.BackchannelURI},
		{name: "backchannel_logout_session_required", flag: &c.BackchannelSession},
	}
	for i := range c.plain {
		members = append(members, member{name: c.plain[i].name, text: &c.plain[i].text})
	}
	return members
}

// set reads the value of a member.
func (m member) set(raw json.RawMessage) *Error {
	switch {
	case m.text != nil:
		if json.Unmarshal(raw, m.text) != nil {
			return wrong(m.name, "must be a string")
		}
		return checkLength(m.name, *m.text)
	case m.list != nil:
		return setList(m.name, m.list, raw)
	case m.flag != nil:
		if json.Unmarshal(raw, m.flag) != nil {
			return wrong(m.name, "must be true or false")
		}
	case m.number != nil:
		if json.Unmarshal(raw, m.number) != nil {
			return wrong(m.name, "must be a whole number of seconds")
		}
	case m.object != nil:
		*m.object = canonical(raw)
		return checkKeys(m.name, raw)
	}
	return nil
}

// canonical returns JSON in one spelling: without spaces, and with the members of each
// object in the order of their names.
func canonical(raw json.RawMessage) json.RawMessage {
	var value any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&value)
	if err != nil {
		return raw
	}
	spelled, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return spelled
}

func setList(name string, list *[]string, raw json.RawMessage) *Error {
	var values []*string
	if json.Unmarshal(raw, &values) != nil || slices.Contains(values, nil) {
		return wrong(name, "must be an array of strings")
	}
	if len(values) > maxList {
		return wrong(name, "must have at most %d strings", maxList)
	}
	for _, value := range values {
		if err := checkLength(name, *value); err != nil {
			return err
		}
		if *value != "" && !slices.Contains(*list, *value) {
			*list = append(*list, *value)
		}
	}
	return nil
}

func checkLength(name, value string) *Error {
	most := maxText
	if name == "software_statement" {
		most = MaxBytes
	}
	if len(value) > most {
		return wrong(name, "must be at most %d bytes long", most)
	}
	return nil
}

// value returns the value of a member for JSON, or nil if it is absent.
func (m member) value() any {
	switch {
	case m.text != nil && *m.text != "":
		return *m.text
	case m.list != nil && len(*m.list) > 0:
		return *m.list
	case m.flag != nil && *m.flag:
		return true
	case m.number != nil && *m.number != nil:
		return **m.number
	case m.object != nil && *m.object != nil:
		return *m.object
	}
	return nil
}

// Members returns the members that are present, by name. There are no empty strings among
// them: some clients refuse an answer with an empty URL.
func (c *Client) Members() map[string]any {
	present := map[string]any{}
	for _, m := range c.members() {
		if value := m.value(); value != nil {
			present[m.name] = value
		}
	}
	for name, value := range c.Translated {
		present[name] = value
	}
	return present
}

// translatedName reports whether a name is that of a translated member: one that people
// read, and a language tag (RFC 5646 §2.1).
func translatedName(name string) bool {
	base, tag, tagged := strings.Cut(name, "#")
	return tagged && slices.Contains(translatable[:], base) && len(tag) > 0 && len(tag) <= 35 &&
		!strings.ContainsFunc(tag, func(r rune) bool {
			return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
}
