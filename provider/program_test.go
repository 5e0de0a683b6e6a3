package provider

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/presets"
	"mandate/storage"
)

func openIDAndGroups(c *Config) {
	openID(c)
	if !slices.ContainsFunc(c.Scopes, func(s policy.Scope) bool { return s.Name == "groups" }) {
		c.Scopes = append(c.Scopes, policy.Scope{Name: "groups", Description: "Groups"})
	}
}

// programAt returns what a program needs at an address, with a redirect URI if it has none of its own.
func programAt(t *testing.T, f *fixture, program presets.Program, address string) ForProgram {
	t.Helper()
	if !program.NeedsAddress() {
		address = ""
	}
	made, err := f.ForProgram(policy.Operator(), program, complete(program, address))
	if err != nil {
		t.Fatalf("%s: %v", program.Name, err)
	}
	if len(program.Redirects) == 0 && program.Grant == "" {
		made.Registration.RedirectURIs = []string{"https://app.example.org/callback"}
	}
	if made.Registration.Name == "" {
		made.Registration.Name = "Program"
	}
	return made
}

// complete adds the part of an address that a program needs.
func complete(program presets.Program, address string) string {
	switch {
	case program.Part == presets.Realm:
		return address + "/realms/company"
	case program.Part == presets.Port && strings.Count(address, ":") == 1:
		return address + ":8006"
	}
	return address
}

// A preset that the server refuses helps nobody, and one that loses a URI fails at the first login or logout.
func TestProgramsCanBeRegistered(t *testing.T) {
	f := begin(t, openIDAndGroups)
	for _, program := range presets.Programs() {
		for _, address := range []string{"https://app.example.org", "https://app.example.org:8443/below",
			"http://localhost:3000"} {
			of := programAt(t, f, program, address)
			err := f.MayBeInSettings(of)
			if err != nil {
				t.Errorf("%s: %v", program.Name, err)
			}
			made, err := f.Clients.Register(t.Context(), policy.Operator(), of.Registration)
			if err != nil {
				t.Errorf("%s at %s: %v", program.Name, address, err)
				continue
			}
			a := f.Rules.Effective(made.Application)
			public := a.ClientType == policy.Public
			if public != program.Public || made.Secret == "" != public ||
				a.RedirectURIs != strings.Join(of.Registration.RedirectURIs, "\n") ||
				a.ClaimsInIDToken != program.Claims {
				t.Errorf("%s at %s is registered as %s for %q", program.Name, address, a.ClientType, a.RedirectURIs)
			}
			if program.BackChannel != "" && strings.HasPrefix(address, "https") && a.BackchannelURI == "" {
				t.Errorf("%s at %s has lost its back-channel logout", program.Name, address)
			}
			text, err := f.SettingsOf(of, a.ClientID, made.Secret)
			if err != nil || !strings.Contains(text, a.ClientID) || !strings.Contains(text, f.Issuer()) ||
				!strings.Contains(text, made.Secret) {
				t.Errorf("%s: %v, %s", program.Name, err, text)
			}
		}
	}
}

// The settings name the endpoints that the metadata names.
func TestSettingsNameTheEndpointsOfTheMetadata(t *testing.T) {
	f := begin(t, openIDAndGroups)
	m, err := f.Metadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := f.settingsValues(ForProgram{}, "", "")
	want := presets.Endpoints{
		Authorize: m.AuthorizationEndpoint,
		Token:     m.TokenEndpoint,
		UserInfo:  m.UserInfoEndpoint,
		Keys:      m.JWKSURI,
		Logout:    m.EndSessionEndpoint,
		Device:    m.DeviceAuthorizationEndpoint,
	}
	if got.Endpoints != want || got.Issuer != m.Issuer || len(got.Random) != 32 {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	for _, program := range presets.Programs() {
		named := 0
		for _, at := range []string{m.Issuer, m.AuthorizationEndpoint} {
			text, err := f.SettingsOf(programAt(t, f, program, "https://app.example.org"), "id", "secret")
			if err != nil {
				t.Fatal(err)
			}
			named += strings.Count(text, at)
		}
		if named == 0 {
			t.Errorf("%s names neither the issuer nor an endpoint", program.Name)
		}
	}
}

// A server without a scope, or without OpenID Connect, cannot serve each program in full: the person learns it before
// the first login fails.
func TestProgramsAtAServerWithoutAScope(t *testing.T) {
	grafana, _ := presets.Find("grafana")
	_, err := begin(t).ForProgram(policy.Operator(), grafana, "https://grafana.example.org")
	wantInvalid(t, err, "program")
	f := begin(t, openID, func(c *Config) {
		c.Scopes = slices.DeleteFunc(c.Scopes, func(s policy.Scope) bool { return s.Name == "groups" })
	})
	if slices.Contains(f.Rules.ScopeNames(), "groups") {
		return // it is a scope of every server with OpenID Connect
	}
	of := programAt(t, f, grafana, "https://grafana.example.org")
	if slices.Contains(of.Registration.Scopes, "groups") ||
		!slices.ContainsFunc(of.Notes, func(n string) bool { return strings.Contains(n, "no scope groups") }) {
		t.Errorf("%q, %q", of.Registration.Scopes, of.Notes)
	}
}

// Values that a person chooses stay out of settings in which they would mean something else; nothing is registered
// then.
func TestAttackSettingsOfAProgramTakeNoQuotes(t *testing.T) {
	f := begin(t, openIDAndGroups)
	grafana, _ := presets.Find("grafana")
	for field, change := range map[string]func(*clients.Registration){
		"client_id":     func(r *clients.Registration) { r.ClientID = "a\nuse_pkce = false" },
		"client_secret": func(r *clients.Registration) { r.ClientSecret = "0123456789abcdef\"; #" },
		"redirect_uris": func(r *clients.Registration) { r.RedirectURIs = []string{"https://a.example/'x"} },
	} {
		of := programAt(t, f, grafana, "https://grafana.example.org")
		change(&of.Registration)
		wantInvalid(t, f.MayBeInSettings(of), field)
	}
	_, err := f.ForProgram(policy.Operator(), grafana, "https://grafana.example.org/\"x")
	wantInvalid(t, err, "url")
}

// A person without administrator rights gets what this person may have, and learns what is missing. What is left can be
// registered.
func TestProgramsOfPersonsAreNarrowed(t *testing.T) {
	f := begin(t, openIDAndGroups)
	person := policy.By(f.person("bob"))
	for _, program := range presets.Programs() {
		address := ""
		if program.NeedsAddress() {
			address = "https://app.example.org"
		}
		of, err := f.ForProgram(person, program, complete(program, address))
		if err != nil {
			t.Errorf("%s: %v", program.Name, err)
			continue
		}
		r := of.Registration
		if r.PKCE == policy.PKCEIfSent || r.ClaimsInIDToken == policy.ClaimsOn || r.SkipConsent || r.MayIntrospect {
			t.Errorf("%s: %+v", program.Name, r)
		}
		missing := 0
		for _, lost := range []bool{program.PKCE == policy.PKCEIfSent, program.Claims == policy.ClaimsOn} {
			if lost {
				missing++
			}
		}
		told := strings.Count(strings.Join(of.Notes, "\n"), "n administrator can")
		if told != missing {
			t.Errorf("%s: %d of %d restrictions are said: %q", program.Name, told, missing, of.Notes)
		}
		if len(r.RedirectURIs) == 0 {
			r.RedirectURIs = []string{"https://app.example.org/callback"}
		}
		if program.Grant != "" || r.Name == "" {
			continue // its grant may be for administrators only
		}
		_, err = f.Clients.Register(t.Context(), person, r)
		if err != nil {
			t.Errorf("%s: %v", program.Name, err)
		}
	}
}

// A scope that the standing of a person lacks is left out too, and it is said.
func TestProgramsOfPersonsHaveTheirScopes(t *testing.T) {
	f := begin(t, openIDAndGroups, func(c *Config) {
		c.ScopesByAdministrator, c.GrantsByAdministrator = []string{"groups"}, []string{policy.GrantDevice}
	})
	grafana, _ := presets.Find("grafana")
	person := policy.By(f.person("bob"))
	of, err := f.ForProgram(person, grafana, "https://grafana.example.org")
	if err != nil || !slices.Equal(of.Registration.Scopes, []string{"openid", "profile", "email"}) ||
		!strings.Contains(strings.Join(of.Notes, " "), "may not have the scope groups") {
		t.Errorf("%v, %q, %q", err, of.Registration.Scopes, of.Notes)
	}
	device, _ := presets.Find("device")
	_, err = f.ForProgram(person, device, "")
	wantInvalid(t, err, "program")
}

// The settings can be shown again, for the application as it is then. Without its secret they have a word in its place.
// When its redirect URIs are no longer those of the program, there is nothing to show that would work.
func TestSettingsAreShownAgainWithoutTheSecret(t *testing.T) {
	f := begin(t, openIDAndGroups)
	for _, program := range presets.Programs() {
		of := programAt(t, f, program, "https://app.example.org:8443/below")
		made, err := f.Clients.Register(t.Context(), policy.Operator(), of.Registration)
		if err != nil {
			t.Fatal(err)
		}
		a := f.Rules.Effective(made.Application)
		want, err := f.SettingsOf(of, a.ClientID, "CLIENT_SECRET")
		if program.Public {
			want, err = f.SettingsOf(of, a.ClientID, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.ProgramSettings(a, "")
		if err != nil || got == nil || withoutRandom(got.Text) != withoutRandom(want) || got.Program.Name != program.Name {
			t.Errorf("%s: %v, want %s", program.Name, err, want)
			continue
		}
		if with, err := f.ProgramSettings(a, made.Secret); err != nil || !strings.Contains(with.Text, made.Secret) {
			t.Errorf("%s: %v, %+v", program.Name, err, with)
		}
		a.RedirectURIs = "https://elsewhere.example.org/else"
		if moved, err := f.ProgramSettings(a, ""); program.NeedsAddress() && program.Redirects[0] != "/." &&
			(err != nil || moved != nil) {
			t.Errorf("%s: %v, %+v", program.Name, err, moved)
		}
		a.RedirectURIs = "https://app.example.org/$x\nhttps://app.example.org:8443/below/'"
		if quoted, err := f.ProgramSettings(a, ""); err != nil || quoted != nil {
			t.Errorf("%s: %v, %+v", program.Name, err, quoted)
		}
	}
	if none, err := f.ProgramSettings(storage.Application{}, ""); err != nil || none != nil {
		t.Errorf("%v, %+v", err, none)
	}
}

// withoutRandom leaves out the secrets that a program has for itself: they are others each time.
func withoutRandom(text string) string {
	return regexp.MustCompile(`[A-Za-z0-9_-]{32}`).ReplaceAllString(text, "RANDOM")
}
