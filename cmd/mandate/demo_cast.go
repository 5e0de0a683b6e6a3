package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"mandate/provider"
)

// demoCast is who takes part in the demo.
type demoCast struct {
	base, issuer  string
	alice, admin  provider.Person
	robot, legacy credentials
	sites         []*demoSite
}

type credentials struct{ id, secret string }

// demoSite is an application that people come to with a browser.
type demoSite struct {
	credentials
	name, wants, about string
	scope              string
	algorithm          string // of its ID tokens; it gets none if this is empty
}

const demoGroup = "staff"

func (o *opened) fill(ctx context.Context) (*demoCast, error) {
	cast := &demoCast{base: o.settings.BaseURL, issuer: o.settings.BaseURL + "/o"}
	err := o.fillPeople(ctx, cast)
	if err != nil {
		return nil, err
	}
	return cast, o.fillApplications(ctx, cast)
}

func (o *opened) fillPeople(ctx context.Context, cast *demoCast) error {
	cast.alice = provider.Person{Username: "alice", Email: "alice@example.org", FirstName: "Alice", LastName: "Liddell", Groups: []string{demoGroup},
		Profile: &provider.Profile{EmailVerified: true, Birthdate: "1852-05-04", ZoneInfo: "Europe/London", Locale: "en-GB", PhoneNumber: "+441632960961",
			Address: &provider.Address{Formatted: "Christ Church\nOxford", StreetAddress: "Christ Church", Locality: "Oxford", Country: "United Kingdom"}}}
	cast.admin = provider.Person{Username: "admin", Email: "admin@example.org", Administrator: true}
	err := o.provider.AddGroup(ctx, demoGroup)
	if err != nil {
		return err
	}
	for _, person := range []*provider.Person{&cast.alice, &cast.admin} {
		person.Password = demoPassword()
		_, err = o.provider.AddUser(ctx, *person)
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *opened) fillApplications(ctx context.Context, cast *demoCast) error {
	var err error
	cast.robot, err = o.fillApplication(ctx, cast, provider.Registration{Name: "Robot", GrantTypes: []string{provider.GrantClient}, MayIntrospect: true})
	if err != nil {
		return err
	}
	cast.legacy, err = o.fillApplication(ctx, cast, provider.Registration{Name: "Legacy", GrantTypes: []string{provider.GrantPassword}})
	if err != nil {
		return err
	}
	cast.sites = demoSites()
	for _, site := range cast.sites {
		site.credentials, err = o.fillApplication(ctx, cast, provider.Registration{Name: site.name, Algorithm: site.algorithm,
			GrantTypes: []string{provider.GrantCode}, RedirectURIs: []string{cast.callback()}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *opened) fillApplication(ctx context.Context, cast *demoCast, r provider.Registration) (credentials, error) {
	// With HS256 the secret is a key, and no hash of it will do.
	r.ClientType, r.HashClientSecret, r.Owner = cmp.Or(r.ClientType, provider.Confidential), r.Algorithm != "HS256", cast.admin.Username
	made, err := o.provider.Register(ctx, nil, r)
	if err != nil {
		return credentials{}, err
	}
	return credentials{made.Application.ClientID, made.Secret}, nil
}

func demoSites() []*demoSite {
	return []*demoSite{
		{name: "Web", wants: "access to an API", scope: "read groups",
			about: "OAuth 2.0 alone. The site may read in an API what you let it read. Nobody tells it who you are."},
		{name: "Shop", wants: "signing in, RS256", scope: "openid profile email", algorithm: "RS256",
			about: "OpenID Connect: the site is told who you are. The server signs this with a private key of its own, and anybody can check it with the public one. Most sites do it like this."},
		{name: "Forum", wants: "signing in, HS256", scope: "openid profile email", algorithm: "HS256",
			about: "The same, signed with the client secret, which the server and the site share. Only those two can check it, and either could have written it."},
	}
}

// site finds a site by its name, or nil.
func (d *demoCast) site(name string) *demoSite {
	for _, site := range d.sites {
		if site.name == name {
			return site
		}
	}
	return nil
}

func (d *demoCast) callback() string { return d.base + "/demo/callback" }

// demoPassword is easy to read off and to type: 100 random bits in four words.
func demoPassword() string {
	text := strings.ToLower(rand.Text())
	return strings.Join([]string{text[0:5], text[5:10], text[10:15], text[15:20]}, "-")
}
