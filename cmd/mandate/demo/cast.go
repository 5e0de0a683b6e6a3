// Package demo fills a server with example people and applications, and runs web
// sites that send a browser to it. Their pages show each message of the
// authorization code flow (RFC 6749), of OpenID Connect (OIDC Core) and of FAPI 2.0.
package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"mandate/conformance/need"
	"mandate/provider"
	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
)

// serverAlgorithm is the algorithm with which the server signs for a site with the profile FAPI 2.0
// Message Signing.
const serverAlgorithm = "PS256"

// Cast is the people and applications of the demo.
type Cast struct {
	base, issuer  string
	alice, admin  people.Person
	robot, legacy credentials
	tools         credentials // of the MCP server, to introspect tokens
	sites         []*webSite
	provider      *provider.Provider
}

const groupName = "staff"

// Fill registers the people, the group and the applications of the demo with a
// server that has this base URL.
func Fill(ctx context.Context, with *provider.Provider, base string) (*Cast, error) {
	cast := &Cast{base: base, issuer: base + "/o", provider: with}
	err := cast.fillPeople(ctx)
	if err != nil {
		return nil, err
	}
	err = cast.fillApplications(ctx)
	if err != nil {
		return nil, err
	}
	return cast, cast.fillMCP(ctx)
}

func (c *Cast) fillPeople(ctx context.Context) error {
	c.alice = people.Person{
		Username:  "alice",
		Email:     "alice@example.org",
		FirstName: "Alice",
		LastName:  "Liddell",
		Groups:    []string{groupName},
		Profile: &people.Profile{
			EmailVerified: true,
			Birthdate:     "1852-05-04",
			ZoneInfo:      "Europe/London",
			Locale:        "en-GB",
			PhoneNumber:   "+441632960961",
			Address: &people.Address{
				Formatted:     "Christ Church\nOxford",
				StreetAddress: "Christ Church",
				Locality:      "Oxford",
				Country:       "United Kingdom",
			},
		},
	}
	c.admin = people.Person{Username: "admin", Email: "admin@example.org", Administrator: true}
	err := c.provider.People.AddGroup(ctx, groupName)
	if err != nil {
		return err
	}
	for _, person := range []*people.Person{&c.alice, &c.admin} {
		person.Password = newPassword()
		_, err = c.provider.People.AddUser(ctx, policy.Operator(), *person)
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cast) fillApplications(ctx context.Context) error {
	var err error
	c.robot, err = c.fillApplication(ctx, clients.Registration{
		Name:                   "Robot",
		GrantTypes:             []string{policy.GrantClient},
		MayIntrospect:          true,
		IntrospectionAlgorithm: serverAlgorithm,
	})
	if err != nil {
		return err
	}
	c.legacy, err = c.fillApplication(ctx, clients.Registration{
		Name:       "Legacy",
		GrantTypes: []string{policy.GrantPassword},
	})
	if err != nil {
		return err
	}
	c.sites = webSites()
	for _, site := range c.sites {
		r := clients.Registration{
			Name:         site.name,
			Algorithm:    site.algorithm,
			GrantTypes:   []string{policy.GrantCode},
			RedirectURIs: []string{c.callback()},
		}
		if site.secured() {
			err = site.register(&r)
		}
		if err == nil {
			site.credentials, err = c.fillApplication(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cast) fillApplication(ctx context.Context, r clients.Registration) (credentials, error) {
	// With HS256 and client_secret_jwt the client secret is a key, so the server cannot
	// store a hash of it.
	key := r.Algorithm == "HS256" || r.Authentication.Method == need.SecretJWT
	r.ClientType, r.HashClientSecret, r.Owner = cmp.Or(r.ClientType, policy.Confidential), !key, c.admin.Username
	made, err := c.provider.Clients.Register(ctx, policy.Operator(), r)
	if err != nil {
		return credentials{}, err
	}
	return credentials{made.Application.ClientID, made.Secret}, nil
}

func webSites() []*webSite {
	return []*webSite{
		{name: "Web", wants: "access to an API", scope: "read groups",
			about: "OAuth 2.0 only. The site may read from an API what you approve. It does not learn who you are."},
		{
			name:      "Shop",
			wants:     "signing in, RS256",
			scope:     "openid profile email",
			algorithm: "RS256",
			about: "OpenID Connect: the site learns who you are. The server signs the ID token with its private key, and " +
				"everybody can verify the signature with the public key. Most sites use this.",
		},
		{
			name:      "Forum",
			wants:     "signing in, HS256",
			scope:     "openid profile email",
			algorithm: "HS256",
			about: "The same, but the client secret signs the ID token. Only the server and the site know it: both can " +
				"verify the signature, and both could have created it.",
		},
		{
			name:    "Budget",
			wants:   "FAPI 2.0",
			scope:   "read groups",
			profile: policy.ProfileFAPI,
			about: "What a bank requires, without a shared secret. The site pushes its request, proves with private keys " +
				"that it is the sender, and gets an access token that a thief cannot use.",
		},
		{
			name:    "Broker",
			wants:   "FAPI 2.0, signed messages",
			scope:   "read groups",
			profile: policy.ProfileMessages,
			about: "The same, and messages can be evidence later: the site signs its request, and the server signs its " +
				"response to the site and its answer to the API.",
		},
	}
}

// site finds a site by its name, or returns nil.
func (c *Cast) site(name string) *webSite {
	for _, site := range c.sites {
		if site.name == name {
			return site
		}
	}
	return nil
}

func (c *Cast) callback() string { return c.base + "/demo/callback" }

// newPassword is easy to read and to type: 100 random bits in four words.
func newPassword() string {
	text := strings.ToLower(rand.Text())
	return strings.Join([]string{text[0:5], text[5:10], text[10:15], text[15:20]}, "-")
}
