package registration

import (
	"reflect"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/redirect"
)

// known returns a registration with a value in every field that a registrant can choose.
func known() description {
	return description{
		registration: clients.Registration{
			Name: "A & B", ClientType: "confidential", GrantTypes: []string{"authorization_code"},
			RedirectURIs: []string{"http://127.0.0.1:4711/cb", "https://app.example/cb"},
			Scopes:       []string{"read", "write"}, Resources: []string{"https://api.example/"},
			HashClientSecret: true, MayIntrospect: true, SkipConsent: true, AccessTokenLifetime: 60, RefreshTokenLifetime: 120,
			RequirePushed: true, SenderConstraint: "dpop", Profile: "fapi2", RequiredACR: "phr", DefaultACR: "phr mfa",
			PKCE: "required", RefreshRotation: "on", ClaimsInIDToken: "off", Program: "grafana", AccessTokenFormat: "jwt",
			Algorithm: "ES256", UserInfoAlgorithm: "EdDSA", Pairwise: true,
			PostLogoutURIs: []string{"https://app.example/out"}, BackchannelURI: "https://app.example/bc",
			IntrospectionAlgorithm: "PS256", SectorURI: "https://app.example/sector", ClientID: "id", ClientSecret: "secret",
			Owner: "alice",
			Authentication: clients.Authentication{
				Method: "private_key_jwt", Algorithm: "ES256", JWKS: `{"keys":[]}`, JWKSURI: "https://app.example/jwks",
				CertificateSubject: "san_dns=app.example", EndpointAudience: true,
			},
			Messages: clients.Messages{
				ObjectAlgorithm: "ES256", RequireSigned: true, RequestURIs: []string{"https://app.example/r"},
				ResponseAlgorithm: "ES256", ResponseModes: []string{"jwt"},
			},
		},
		method: "private_key_jwt",
		stored: `{"client_name":"A"}`,
	}
}

// The digests stand in the databases of servers. Another one for the same registration would give a client that
// registers again a second application.
func TestDigestOfAKnownRegistrationStays(t *testing.T) {
	empty := description{registration: clients.Registration{Name: "A", GrantTypes: []string{}}, method: "none"}
	for _, test := range []struct {
		of   description
		want string
	}{
		{known(), "n0qIEU5Gp-UOVy8p5g7l7b-PCJW9Fc5t0c2rj3IZibE"},
		{empty, "f-OPxjO-iqWdngZteIc8NGBY41jAoRIpO4xNz6dBc5g"},
	} {
		got, err := test.of.digest(redirect.Policy{})
		if err != nil || got != test.want {
			t.Errorf("the digest is %s (%v), and was %s", got, err, test.want)
		}
	}
}

// complete is the known registration with a value in the fields since then, and in every plain field.
func complete() description {
	d := known()
	d.registration.LaunchURL = "https://app.example/"
	d.registration.AllowedGroups, d.registration.DeniedGroups = []string{"staff"}, []string{"guests"}
	d.registration.NobodyNew = true
	d.registration.Claims = []string{"{}"}
	for _, f := range clients.Fields() {
		if f.Plain {
			*f.Value(&d.registration).(*string) = f.Name
		}
	}
	return d
}

// Two registrations that differ in one field are two applications.
func TestEveryFieldOfARegistrationIsInItsDigest(t *testing.T) {
	full := complete()
	whole, err := full.digest(redirect.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"", "Authentication", "Messages"} {
		list := func(r *clients.Registration) reflect.Value {
			if of == "" {
				return reflect.ValueOf(r).Elem()
			}
			return reflect.ValueOf(r).Elem().FieldByName(of)
		}
		for f := range list(&full.registration).Type().Fields() {
			if f.Name == "Said" || f.Name == "Site" { // how it was described, and what no registration describes
				continue
			}
			less := complete()
			if list(&less.registration).FieldByIndex(f.Index).IsZero() {
				t.Errorf("the complete registration has no %s %s", of, f.Name)
			}
			list(&less.registration).FieldByIndex(f.Index).SetZero()
			got, err := less.digest(redirect.Policy{})
			if err != nil || got == whole {
				t.Errorf("%s %s is not in the digest (%v)", of, f.Name, err)
			}
		}
	}
}
