package provider

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/loopback"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/presets"
	"mandate/provider/seal"
	"mandate/storage"
)

// ForProgram is what a program needs at this server.
type ForProgram struct {
	Program      presets.Program
	Address      string // where the program is; empty: it has no address
	Registration clients.Registration
	Notes        []string // what the person has to know about the program here
}

// ForProgram returns the registration of a program at an address, as far as the actor may have it. Nothing has been
// checked, and nothing is stored.
func (p *Provider) ForProgram(actor policy.Actor, program presets.Program, address string) (ForProgram, error) {
	found := &oauth.Invalid{}
	filled, err := program.Fill(address)
	if err != nil {
		found.Add("url", "%s", err.Error())
		return ForProgram{}, found
	}
	r := clients.Registration{Name: program.Title, ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: filled.Redirects, PostLogoutURIs: filled.PostLogout, BackchannelURI: filled.BackChannel,
		Scopes: program.Scopes, HashClientSecret: true, AccessTokenFormat: policy.FormatOpaque,
		LaunchURL:       launchOf(program, filled),
		RefreshRotation: program.Rotation, ClaimsInIDToken: program.Claims, PKCE: program.PKCE, Program: program.Name,
		Authentication: clients.Authentication{Method: program.AuthMethod}}
	if u, err := url.Parse(filled.Address); program.Kind != presets.Application && err == nil {
		r.Name = u.Host // a framework is not what people sign in to
	}
	if program.Grant != "" {
		r.GrantTypes = []string{program.Grant}
	}
	if program.Public {
		r.ClientType = policy.Public
	}
	made := ForProgram{Program: program, Address: filled.Address, Registration: r}
	of := clients.NewApplication(actor)
	made.narrow(p, of)
	if may := p.Rules.AllowanceOf(of); !slices.Contains(may.Grants, r.GrantTypes[0]) {
		found.Add(
			"program", "Only an administrator can register it, because it needs the grant %s: ask one.", r.GrantTypes[0],
		)
		return ForProgram{}, found
	}
	if slices.Contains(program.Scopes, "openid") && !slices.Contains(made.Registration.Scopes, "openid") {
		found.Add(
			"program",
			"%s signs people in with OpenID Connect, which this server does not allow for your applications: "+
				"its operator can set OIDC_ENABLED, and the scopes that they may have.",
			program.Title,
		)
		return ForProgram{}, found
	}
	return made, nil
}

// launchOf returns the address where people open a program, or "" if the start page may not link to it.
func launchOf(program presets.Program, filled presets.Filled) string {
	if program.Kind != presets.Application || clients.WrongLaunch(filled.Address+"/") != "" {
		return ""
	}
	return filled.Address + "/"
}

// AboutAddress says of the address of a program what is wrong with the URIs that follow from it, but for the fields
// that the person has said.
func AboutAddress(invalid *oauth.Invalid, said ...string) *oauth.Invalid {
	about := &oauth.Invalid{}
	for _, f := range invalid.Fields {
		follows := slices.Contains(
			[]string{"redirect_uris", "post_logout_redirect_uris", "backchannel_logout_uri"},
			f.Field,
		)
		if follows && !slices.Contains(said, f.Field) {
			f.Field = "url"
		}
		about.Add(f.Field, "%s", f.Message)
	}
	return about
}

// SameProgram returns the application that is registered for the same program at the same address under the same name:
// a second one would be the same again.
func (p *Provider) SameProgram(
	ctx context.Context,
	actor policy.Actor,
	r clients.Registration,
) (storage.Application, error) {
	const step = 100
	for offset := 0; ; offset += step {
		found, _, err := p.Clients.Applications(ctx, actor, storage.Selection{Search: r.Name}, step, offset)
		if err != nil {
			return storage.Application{}, err
		}
		for _, a := range found {
			if a.Program == r.Program && a.Name == r.Name && slices.Equal(oauth.Lines(a.RedirectURIs), r.RedirectURIs) {
				return a, nil
			}
		}
		if len(found) < step {
			return storage.Application{}, oauth.ErrNotFound
		}
	}
}

// OnlyHere says that a base URL means another machine on each machine, and what to do, or returns "".
func OnlyHere(base string) (text, remedy string) {
	u, err := url.Parse(base)
	if err != nil || !loopback.InBrowser(u.Hostname()) {
		return "", ""
	}
	return "Only this machine reaches " + u.Host + ". In a container or on another host, the same address means the " +
			"container or that host, so a program there cannot reach this server.",
		"Set BASE_URL to an address that browsers and programs reach alike, such as https:// with a name in your network, " +
			"and LISTEN to an address that they reach. Then copy the issuer into the programs again."
}

// narrow leaves out what this server does not have, or what an application like this may not have, and says so.
func (f *ForProgram) narrow(p *Provider, of storage.Application) {
	f.Notes = slices.Clone(f.Program.Notes)
	if text, remedy := OnlyHere(p.config.Issuer); text != "" {
		f.Notes = append([]string{text + " " + remedy}, f.Notes...)
	}
	note := func(format string, args ...any) { f.Notes = append(f.Notes, fmt.Sprintf(format, args...)) }
	if f.Program.Since != "" {
		note("For version %s or later.", f.Program.Since)
	}
	r, may := &f.Registration, p.Rules.AllowanceOf(of)
	for _, scope := range f.Program.Scopes {
		switch {
		case !slices.Contains(p.Rules.ScopeNames(), scope):
			note(
				"This server has no scope %s: its operator can add it to SCOPES, then add it to the application and to these "+
					"settings.",
				scope,
			)
		case !slices.Contains(may.Scopes, scope):
			note("This application may not have the scope %s: no administrator is responsible for it.", scope)
		default:
			continue
		}
		r.Scopes = oauth.Without(r.Scopes, scope)
	}
	if r.BackchannelURI != "" && !p.Clients.MayCall(r.BackchannelURI, r.ClientType, of) {
		r.BackchannelURI = ""
		note("Without back-channel logout: this server does not call that address. Its operator can add the network to " +
			"OUTBOUND_ALLOWED_NETWORKS.")
	}
	if may.AdministratorRights {
		return
	}
	if r.PKCE == policy.PKCEIfSent {
		r.PKCE = ""
		note(
			"%s, or one of its versions, sends no PKCE, which this application may need. An administrator can let this "+
				"application come without.",
			f.Program.Title,
		)
	}
	if r.ClaimsInIDToken == policy.ClaimsOn {
		r.ClaimsInIDToken = ""
		note(
			"%s reads the claims of the person from the ID token. An administrator can put them there for this application.",
			f.Program.Title,
		)
	}
	if r.RefreshRotation == policy.RotationOff {
		r.RefreshRotation = ""
	}
}

// MayBeInSettings checks the values of a registration that go into the settings of a program.
func (p *Provider) MayBeInSettings(of ForProgram) error {
	v := p.settingsValues(of, of.Registration.ClientID, of.Registration.ClientSecret)
	field := v.Unquotable()
	if field == "" {
		return nil
	}
	found := &oauth.Invalid{}
	found.Add(field, "The settings of %s cannot contain this value without quoting: use letters, digits and - . _ ~ only.",
		of.Program.Title)
	return found
}

// SettingsOf returns what belongs into the settings of a program, for an application with this client ID and secret.
func (p *Provider) SettingsOf(of ForProgram, clientID, secret string) (string, error) {
	return of.Program.Settings(p.settingsValues(of, clientID, secret))
}

// noSecret stands in settings in place of a client secret that nobody can read any more.
const noSecret = "CLIENT_SECRET"

// Settings are what belongs into the settings of the program for which an application was registered.
type Settings struct {
	Program presets.Program
	Text    string
	Notes   []string
}

// ProgramSettings returns the settings of the program of an application, with its secret if that is known. It returns
// nil if it has no program, or no longer the redirect URIs of the program.
func (p *Provider) ProgramSettings(a storage.Application, secret string) (*Settings, error) {
	program, known := presets.Find(a.Program)
	redirects := oauth.Lines(a.RedirectURIs)
	address, ok := program.AddressIn(redirects)
	if a.Program == "" || !known || !ok {
		return nil, nil
	}
	of := ForProgram{
		Program: program,
		Address: address,
		Registration: clients.Registration{ClientType: a.ClientType, RedirectURIs: redirects,
			PostLogoutURIs: oauth.Lines(a.PostLogoutURIs), BackchannelURI: a.BackchannelURI, Scopes: p.scopesFor(program, a),
			PKCE: program.PKCE, ClaimsInIDToken: program.Claims},
	}
	of.narrow(p, a)
	if secret == "" && clientauth.HasSecret(a) {
		secret = noSecret
	}
	if p.MayBeInSettings(of) != nil { // somebody has changed it since then
		return nil, nil
	}
	text, err := p.SettingsOf(of, a.ClientID, secret)
	return &Settings{Program: program, Text: text, Notes: of.Notes}, err
}

// scopesFor returns the scopes of an application for its program: first those that the program asks for by itself, in
// its order, then the others that somebody has registered.
func (p *Provider) scopesFor(program presets.Program, a storage.Application) []string {
	may := p.Rules.AllowedScopes(a)
	return slices.DeleteFunc(oauth.Union(slices.Clone(program.Scopes), strings.Fields(a.Scopes)),
		func(scope string) bool { return !slices.Contains(may, scope) })
}

func (p *Provider) settingsValues(of ForProgram, clientID, secret string) presets.Values {
	at := p.config.Issuer
	v := presets.Values{Issuer: at, ClientID: clientID, ClientSecret: secret, Address: of.Address,
		Redirects: of.Registration.RedirectURIs, PostLogout: of.Registration.PostLogoutURIs, Scopes: of.Registration.Scopes,
		Endpoints: presets.Endpoints{Authorize: at + "/authorize/", Token: at + "/token/", UserInfo: at + "/userinfo/",
			Keys: at + "/.well-known/jwks.json", Device: at + "/device_authorization/"},
		Random: seal.Random(24)}
	if p.config.Logout.Enabled {
		v.Endpoints.Logout = at + "/logout/"
	}
	return v
}
