package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mandate/provider/authorize"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
)

// misread lists hosts that a browser reads otherwise than they are written, and with what the message helps.
var misread = map[string]string{
	"%D0%B0pple.com":                  "xn--pple-43d.com",
	"apple.com%E2%88%95login.example": "xn--",
	"127.%EF%BC%91":                   "ASCII",
	"%EF%BD%8Cocalhost":               "localhost",
	"client.example%E2%80%8B":         "client.example",
	"bücher.example":                  "xn--bcher-kva.example",
	"apple.com%E3%80%82evil.example":  "apple.com.evil.example",
	"127.1":                           "IPv4",
	"2130706433":                      "IPv4",
	"client..example":                 "ASCII",
}

// Each URL of an application has a host that this server, the person and the browser read alike, or it is refused with
// the spelling that all read alike.
//
// CWE-1007 (homographs), CVE-2019-9636 and "HostSplit" (a host that is normalized after it was checked) are of the
// class.
func TestAttackHostInAnotherReading(t *testing.T) {
	f := begin(t, func(c *Config) {
		c.Authorize.ObjectsByReference, c.OpenID = true, true
		c.Open.Clients = []string{clients.OpenRegistration}
	})
	lists := []string{"redirect_uris", "post_logout_redirect_uris", "request_uris"}
	single := []string{
		"backchannel_logout_uri",
		"jwks_uri",
		"sector_identifier_uri",
		"initiate_login_uri",
		"client_uri",
		"logo_uri",
		"policy_uri",
		"tos_uri",
		"client_uri#de",
		"logo_uri#de",
		"policy_uri#fr",
		"tos_uri#es",
	}
	registers := func(member, uri string) error {
		said := map[string]any{
			"client_name":                "Client",
			"token_endpoint_auth_method": "none",
			"redirect_uris":              []string{"https://client.example/cb"},
		}
		said[member] = uri
		if slices.Contains(lists, member) {
			said[member] = []string{uri}
		}
		body, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "https://auth.example/o/register/", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		_, _, err = f.Registrations.Register(t.Context(), r, "192.0.2.1")
		return err
	}
	for _, member := range append(lists, single...) {
		for host, remedy := range misread {
			err := registers(member, "https://"+host+"/x")
			if !strings.Contains(descriptionOf(err), remedy) || !strings.Contains(descriptionOf(err), "host") {
				t.Errorf("%s with the host %s: %q", member, host, descriptionOf(err))
			}
		}
		err := registers(member, "https://client.example/x")
		if err != nil && !(member == "sector_identifier_uri" && strings.Contains(descriptionOf(err), "could not be read")) {
			t.Errorf("%s: %v", member, err)
		}
	}
	for field, with := range map[string]func(r *clients.Registration, uri string){
		"redirect_uris":             func(r *clients.Registration, uri string) { r.RedirectURIs = []string{uri} },
		"post_logout_redirect_uris": func(r *clients.Registration, uri string) { r.PostLogoutURIs = []string{uri} },
		"backchannel_logout_uri":    func(r *clients.Registration, uri string) { r.BackchannelURI = uri },
		"launch_url":                func(r *clients.Registration, uri string) { r.LaunchURL = uri },
		"jwks_uri": func(r *clients.Registration, uri string) {
			r.Authentication = clients.Authentication{Method: clientauth.MethodPrivateKey, JWKSURI: uri}
		},
		"request_uris": func(r *clients.Registration, uri string) { r.Messages.RequestURIs = []string{uri} },
	} {
		r := clients.Registration{
			Name:             "Client",
			ClientType:       policy.Confidential,
			GrantTypes:       []string{policy.GrantCode},
			RedirectURIs:     []string{callback},
			HashClientSecret: true,
		}
		for host := range misread {
			with(&r, "https://"+host+"/x")
			_, err := f.Clients.Register(t.Context(), policy.Operator(), r)
			if err == nil {
				t.Errorf("%s of an operator with the host %s is accepted", field, host)
				continue
			}
			wantInvalid(t, err, field)
		}
		with(&r, "https://my_app.example/x")
		_, err := f.Clients.Register(t.Context(), policy.Operator(), r)
		wantError(t, err, "no error")
	}
}

// What an older release stored goes nowhere.
func TestAttackStoredHostInAnotherReading(t *testing.T) {
	f := begin(t, func(c *Config) { c.OpenID = true })
	app := f.app(public)
	for host, remedy := range misread {
		uri := "https://" + host + "/cb"
		f.sql("UPDATE applications SET redirect_uris = '" + uri + "', post_logout_redirect_uris = '" + uri + "'")
		for _, pairs := range [][]string{{"redirect_uri", uri}, {"redirect_uri", "", "scope", "read"}} {
			_, err := f.Authorizations.Authorize(t.Context(), f.query(app, pairs...))
			if !strings.Contains(descriptionOf(err), remedy) || err.(*oauth.Error).Mismatch != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
		_, err := f.Logouts.Read(t.Context(), url.Values{
			"client_id":                {app.Application.ClientID},
			"post_logout_redirect_uri": {uri},
		})
		if !strings.Contains(descriptionOf(err), remedy) || err.(*oauth.Error).Mismatch != nil {
			t.Errorf("%s after a logout: %v", host, err)
		}
	}
}

// An application that an earlier version stored with a host in other letters keeps the rest of its metadata at its next
// change: its software statement, which an update must have, and its sector, from which its subjects are derived.
func TestOneInvalidMemberKeepsTheOthers(t *testing.T) {
	const page, foreign = "https://app.example/", `https://\u0430pple.com/`
	f := begin(t, func(c *Config) { c.OpenID = true })
	app := f.app(func(r *clients.Registration) { r.Pairwise = true })
	for what, test := range map[string]struct{ page, uri, was, sector, wrong string }{
		"a page": {
			foreign,
			"https://sector.example/uris",
			"sector.example",
			"sector.example",
			"client_uri",
		},
		"the sector":               {page, foreign, "\u0430pple.com", "\u0430pple.com", "sector_identifier_uri"},
		"the sector, which is new": {page, foreign, "", "client.example", "sector_identifier_uri"},
	} {
		stored := fmt.Sprintf(`{"client_uri":"%s","sector_identifier_uri":"%s","software_statement":"a.b.c"}`,
			test.page, test.uri)
		f.sql("UPDATE applications SET metadata = '" + stored + "', sector = '" + test.was + "'")
		a, err := f.Clients.Application(t.Context(), policy.Operator(), app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.logged.Reset()
		changed, err := f.Clients.Update(t.Context(), policy.Operator(), a.ID, a.Version, clients.Registration{
			Name: "Changed " + what, ClientType: a.ClientType, Pairwise: true, GrantTypes: []string{policy.GrantCode},
			RedirectURIs: oauth.Lines(a.RedirectURIs), HashClientSecret: true})
		if err != nil {
			t.Fatal(what, err)
		}
		if got := changed.Application.Sector; got != test.sector {
			t.Errorf("%s: the sector is %q, want %q", what, got, test.sector)
		}
		if got := clients.MetadataOf(changed.Application).SoftwareStatement; got != "a.b.c" {
			t.Errorf("%s: the software statement is %q", what, got)
		}
		log := f.logged.String()
		if !strings.Contains(log, test.wrong) || !strings.Contains(log, a.ClientID) ||
			!strings.Contains(log, "xn--pple-43d.com") {
			t.Errorf("%s: the log does not say which member, and what to write: %s", what, log)
		}
	}
}

// Whoever is not signed in gets signatures within a limit, and none for an application for which nobody is responsible.
//
// CWE-405 (asymmetric resource consumption).
func TestAttackSignedErrorsForStrangers(t *testing.T) {
	f := begin(t, func(c *Config) { c.OpenID = true })
	ctx := authorize.FromBrowser(t.Context(), "192.0.2.1", "")
	refuses := func(app *clients.Registered, mode string) (redirect.Response, error) {
		return f.Authorizations.RefusalToNobody(ctx, f.authorize(
			app, "response_mode", mode, "prompt", "none",
		), authorize.LoginRequired())
	}
	app, most := f.app(public), limits.Of(limits.OfAssertion).Tries
	limited := false
	for n := range 2 * most {
		response, err := refuses(app, "jwt")
		if err != nil {
			wantKind(t, "over the limit", err, "429 temporarily_unavailable")
			limited = n >= most
			break
		}
		if len(response.Parameters) != 1 || response.Parameters[0].Name != "response" {
			t.Fatalf("try %d: %v", n, response)
		}
	}
	if !limited {
		t.Errorf("%d tries do not reach the limit, or fewer do", most)
	}
	response, err := refuses(app, "query")
	if err != nil || response.Parameters[0].Value != "login_required" {
		t.Errorf("without a signature: %v, %v", response, err)
	}
	if response = f.Authorizations.Refusal(
		f.authorize(app, "response_mode", "jwt"), authorize.LoginRequired(),
	); len(response.Parameters) != 1 {
		t.Errorf("a person who is signed in: %v", response)
	}
	f.sql("UPDATE applications SET responsible = 'nobody'")
	for _, mode := range []string{"jwt", "query.jwt", "form_post.jwt"} {
		response, err = refuses(app, mode)
		if err != nil || len(response.Parameters) != 0 || response.FormPost {
			t.Errorf("nobody is responsible, %s: %v, %v", mode, response, err)
		}
	}
}

func descriptionOf(err error) string {
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok {
		return ""
	}
	return e.Description
}
