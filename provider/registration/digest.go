package registration

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"mandate/provider/clients"
	"mandate/provider/redirect"
	"mandate/provider/seal"
)

// digest identifies what a registration says. A port of a loopback address is no part of
// it, because the port may vary (RFC 8252 §7.3) and common clients register a random one.
func (d description) digest(rules redirect.Policy) (string, error) {
	portless := make([]string, len(d.registration.RedirectURIs))
	for i, uri := range d.registration.RedirectURIs {
		portless[i] = rules.WithoutPort(uri)
	}
	r := d.registration
	r.RedirectURIs = portless
	text, err := object(digested(&r))
	return seal.Digest(string(text) + "\n" + d.method + "\n" + d.stored), err
}

// part is one value of a digest.
type part struct {
	name    string
	value   any
	present bool // also if the value is empty
}

// digested lists what a digest contains. Databases have the digests, so the list is frozen: no row is ever renamed,
// moved or removed. A new field is a row at the end that is left out while the field is empty; a plain one has such a
// row by itself.
func digested(r *clients.Registration) []part {
	auth, signed := &r.Authentication, &r.Messages
	parts := []part{
		{"Name", &r.Name, true},
		{"ClientType", &r.ClientType, true},
		{"GrantTypes", &r.GrantTypes, true},
		{"RedirectURIs", &r.RedirectURIs, true},
		{"Scopes", &r.Scopes, true},
		{"Resources", &r.Resources, true},
		{"HashClientSecret", &r.HashClientSecret, true},
		{"MayIntrospect", &r.MayIntrospect, true},
		{"SkipConsent", &r.SkipConsent, true},
		{"PKCEExempt", false, true}, // a field of an older release
		{"AccessTokenLifetime", &r.AccessTokenLifetime, true},
		{"RefreshTokenLifetime", &r.RefreshTokenLifetime, true},
		{"RequirePushed", &r.RequirePushed, false},
		{"SenderConstraint", &r.SenderConstraint, false},
		{"Profile", &r.Profile, false},
		{"RequiredACR", &r.RequiredACR, false},
		{"DefaultACR", &r.DefaultACR, false},
		{"PKCE", &r.PKCE, false},
		{"RefreshRotation", &r.RefreshRotation, false},
		{"ClaimsInIDToken", &r.ClaimsInIDToken, false},
		{"Program", &r.Program, false},
		{"AllowedGroups", &r.AllowedGroups, false},
		{"DeniedGroups", &r.DeniedGroups, false},
		{"NobodyNew", &r.NobodyNew, false},
		{"AccessTokenFormat", &r.AccessTokenFormat, true},
		{"Algorithm", &r.Algorithm, true},
		{"UserInfoAlgorithm", &r.UserInfoAlgorithm, true},
		{"Pairwise", &r.Pairwise, true},
		{"PostLogoutURIs", &r.PostLogoutURIs, true},
		{"BackchannelURI", &r.BackchannelURI, true},
		{"IntrospectionAlgorithm", &r.IntrospectionAlgorithm, false},
		{"SectorURI", &r.SectorURI, true},
		{"Authentication", []part{
			{"Method", &auth.Method, true},
			{"Algorithm", &auth.Algorithm, true},
			{"JWKS", &auth.JWKS, true},
			{"JWKSURI", &auth.JWKSURI, true},
			{"CertificateSubject", &auth.CertificateSubject, true},
			{"EndpointAudience", &auth.EndpointAudience, true},
		}, true},
		{"Messages", []part{
			{"ObjectAlgorithm", &signed.ObjectAlgorithm, true},
			{"RequireSigned", &signed.RequireSigned, true},
			{"RequestURIs", &signed.RequestURIs, true},
			{"ResponseAlgorithm", &signed.ResponseAlgorithm, true},
			{"ResponseModes", &signed.ResponseModes, true},
		}, !reflect.ValueOf(*signed).IsZero()},
		{"ClientID", &r.ClientID, true},
		{"ClientSecret", &r.ClientSecret, true},
		{"Owner", &r.Owner, true},
		{"Claims", &r.Claims, false},
	}
	parts = append(parts, part{"LaunchURL", &r.LaunchURL, false})
	return append(parts, plain(r)...)
}

// plain lists the plain fields by their names, so that their order in the table does not matter.
func plain(r *clients.Registration) []part {
	var parts []part
	for _, f := range clients.Fields() {
		if f.Plain {
			parts = append(parts, part{f.Name, f.Value(r), false})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return parts
}

// object writes the parts as a JSON object.
func object(parts []part) ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for _, p := range parts {
		list, nested := p.value.([]part)
		if !p.present && (nested || reflect.Indirect(reflect.ValueOf(p.value)).IsZero()) {
			continue
		}
		if text.Len() > 1 {
			text.WriteByte(',')
		}
		text.WriteString(`"` + p.name + `":`)
		value, err := json.Marshal(p.value)
		if nested {
			value, err = object(list)
		}
		if err != nil {
			return nil, err
		}
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}
