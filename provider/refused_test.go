package provider

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/errorcode"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// refusals returns what the page of an application shows: for each row who, the endpoint, the error and the number.
func (f *fixture) refusals(a storage.Application) []string {
	f.t.Helper()
	found, err := f.Refusals.Of(f.t.Context(), a)
	if err != nil {
		f.t.Fatal(err)
	}
	rows := []string{}
	for _, r := range found {
		who := "somebody"
		switch r.Sender {
		case events.Itself:
			who = "it"
		case events.SignedIn:
			who = "person"
		}
		rows = append(rows, fmt.Sprintf("%s: %s %s %d", who, r.Endpoint, r.Error, r.Times))
	}
	slices.Sort(rows)
	return rows
}

func (f *fixture) refuse(of events.Refused, e *oauth.Error) { f.Refusals.Count(of, e) }

// A program that says nothing about its errors: each endpoint leaves the reason where its developer looks.
func TestRefusalsOfEachEndpoint(t *testing.T) {
	f := begin(t)
	app := f.app(grants(policy.GrantCode))
	f.token(app, "grant_type", policy.GrantClient)
	f.token(app, "grant_type", policy.GrantClient)
	wrong := *app
	wrong.Secret = "s3cret-in-the-wrong-place"
	f.token(&wrong, "grant_type", policy.GrantClient)
	f.device(app, "192.0.2.1", "scope", "read")
	_, _, err := f.Authorizations.Push(t.Context(), by(app, append(f.pushed(app), "code_challenge", "-")...), "192.0.2.1")
	if err == nil {
		t.Fatal("a pushed request without a code challenge is accepted")
	}
	_, err = f.Authorizations.Authorize(
		clientauth.From(t.Context(), "192.0.2.1"), f.query(app, "redirect_uri", "https://s3cret.example/"),
	)
	f.Clients.CountRefusal(events.Refused{Endpoint: "authorize"}, err)
	want := []string{
		"it: device_authorization unauthorized_client 1",
		"it: par invalid_request 1",
		"it: token unauthorized_client 2",
		"somebody: authorize invalid_request 1",
		"somebody: token invalid_client 1",
	}
	if diff := cmp.Diff(want, f.refusals(app.Application)); diff != "" {
		t.Error(diff)
	}
	for _, e := range f.storedEvents(events.RequestRefused) {
		if strings.Contains(
			fmt.Sprintf("%+v", e), "s3cret",
		) || e.Address != "" || e.PersonID != "" || e.ObjectID != app.Application.ClientID || e.ObjectName != "Client" {
			t.Errorf("the event is %+v", e)
		}
	}
}

// A client that manages its own registration sees why a change was refused. A registration that names no application
// has no text, because a stranger chooses parts of it.
func TestRefusalsOfRegistrations(t *testing.T) {
	f := begin(t, func(c *Config) { c.Open.Clients = []string{clients.OpenRegistration} })
	send := func(method, token, body string) *http.Request {
		r, err := http.NewRequest(method, "https://auth.example/o/register/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return r
	}
	_, _, err := f.Registrations.Register(
		t.Context(), send(http.MethodPost, "", `{"redirect_uris": "s3cret"}`), "192.0.2.1",
	)
	if err == nil {
		t.Fatal("it is registered")
	}
	a, answer, err := f.Registrations.Register(
		t.Context(),
		send(http.MethodPost, "", `{"redirect_uris": ["https://client.example/cb"], "token_endpoint_auth_method": "none"}`),
		"192.0.2.1",
	)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = f.Registrations.Change(
		t.Context(), send(http.MethodPut, answer["registration_access_token"].(string), `{"client_id": "s3cret"}`),
		a.ClientID, "192.0.2.1",
	)
	if err == nil {
		t.Fatal("it is changed")
	}
	if got := f.refusals(a); len(got) != 1 || !strings.HasPrefix(got[0], "somebody: register invalid_client_metadata 1") {
		t.Errorf("its page has %v", got)
	}
	details := []string{}
	for _, e := range f.storedEvents(events.RequestRefused) {
		details = append(details, e.ObjectID+" "+e.Detail)
	}
	slices.Sort(details)
	if want := []string{
		" register invalid_redirect_uri",
		a.ClientID + " register invalid_client_metadata: client_id is wrong",
	}; !slices.Equal(
		details, want,
	) {
		t.Errorf("the events are %q, want %q", details, want)
	}
}

// What a program does in the usual course of a flow is no refusal, and an error of the server is none of the program.
func TestUsualResponsesAreNotRefusals(t *testing.T) {
	f := begin(t)
	app := f.app()
	for _, e := range []*oauth.Error{
		oauth.Refuse("authorization_pending", "Wait."),
		oauth.Refuse("login_required", "Sign in."),
		oauth.Refuse("use_dpop_nonce", "Send it again."),
		{
			Status:      503,
			Code:        "temporarily_unavailable",
			Description: "Wait.",
		},
	} {
		f.refuse(events.Refused{Endpoint: "token", Application: &app.Application, Proved: true}, e)
	}
	if got := f.refusals(app.Application); len(got) != 0 {
		t.Error(got)
	}
}

// A flood of refused requests must not cost a statement each (CWE-400).
func TestAttackRefusalsAreStoredTogether(t *testing.T) {
	f := begin(t)
	app := f.app()
	ran := 0
	flood := func() {
		for n := range 1000 {
			f.token(app, "grant_type", policy.GrantDevice, "device_code", fmt.Sprint("mdc_", n%7))
		}
		f.token(app, "grant_type", policy.GrantCode)
	}
	flood() // the copies
	ran = strings.Count(f.statements(flood), "events")
	if ran != 0 {
		t.Errorf("%d statements about events in 1000 requests", ran)
	}
	said := f.statements(func() { f.refusals(app.Application) })
	if n := strings.Count(said, "INSERT INTO events"); n != 2 {
		t.Errorf("%d statements store two kinds of refusals:\n%s", n, said)
	}
	if got, want := f.refusals(app.Application), []string{
		"it: token invalid_request 2",
		"it: token unauthorized_client 2000",
	}; !slices.Equal(
		got, want,
	) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A stranger with an IPv6 /48 cannot fill the event log, and displaces neither what the application itself has sent nor
// what others have (CWE-770).
func TestAttackRefusalsFromOneSite(t *testing.T) {
	f := begin(t)
	app, other := f.app(), f.app()
	from := func(address string, a storage.Application, texts int) {
		for n := range texts {
			f.refuse(events.Refused{
				Endpoint:    "token",
				Application: &a,
				Address:     address,
			}, oauth.Refuse("invalid_request", "%s", oauth.Own(fmt.Sprint("Text ", n, " of ", address[:9]))))
		}
	}
	for n := range 100 {
		from(fmt.Sprintf("2001:db8:%x::1", n%2<<15), app.Application, 0)
		from(fmt.Sprintf("2001:db8:0:%x::1", n), app.Application, 60)
	}
	from("192.0.2.1", app.Application, 3)
	f.token(app, "grant_type", policy.GrantDevice)
	from("2001:db8:0:1::1", other.Application, 60)
	if got := f.refusals(app.Application); len(got) != 10+3+1 || !slices.Contains(
		got, "it: token unauthorized_client 1",
	) && !slices.Contains(got, "it: token invalid_request 1") {
		t.Errorf("%d rows: %v", len(got), got)
	}
	if got := f.refusals(other.Application); len(got) != 10 {
		t.Errorf("the other application has %d rows", len(got))
	}
	for n := range 40 { // more applications than the site may use
		a := storage.Application{ID: fmt.Sprint("a", n), ClientID: fmt.Sprint("a", n)}
		from("2001:db8::1", a, 60)
	}
	f.refusals(app.Application)
	if n := len(f.storedEvents(events.RequestRefused)); n > 40+3+1 {
		t.Errorf("the site has caused %d rows", n-4)
	}
}

// A person can register an application, and have its requests refused for many reasons. It does not use up what one
// node stores for all applications (CWE-770).
func TestAttackRefusalsOfOneApplication(t *testing.T) {
	f := begin(t)
	app, other := f.app(), f.app()
	for n := range 20_100 {
		f.refuse(
			events.Refused{Endpoint: "token", Application: &app.Application, Proved: true},
			oauth.Refuse("invalid_request", "%s", oauth.Own(n)),
		)
	}
	f.token(other, "grant_type", policy.GrantDevice)
	if got := f.refusals(other.Application); len(got) != 1 {
		t.Errorf("the other application has the rows %v", got)
	}
	got := f.refusals(app.Application)
	if len(got) != 51 || !slices.Contains(got, "it: other  50") {
		t.Errorf("%d rows: %v", len(got), got)
	}
}

// People who have signed in can cause as few refusals of an application as strangers: neither somebody with many
// networks, nor somebody with many accounts of their own making in one network. They displace neither what the
// application itself has sent nor what strangers have, and these not theirs (CWE-770).
func TestAttackRefusalsOfPeopleWhoHaveSignedIn(t *testing.T) {
	f := begin(t)
	app := f.app()
	texts := 0
	from := func(person, address string, a storage.Application) {
		texts++
		f.refuse(
			events.Refused{Endpoint: "authorize", Application: &a, PersonID: person, Address: address},
			oauth.Refuse("invalid_request", "%s", oauth.Own(fmt.Sprint("Text ", texts))),
		)
	}
	rows := func() map[string]int {
		by := map[string]int{}
		for _, row := range f.refusals(app.Application) {
			who, _, _ := strings.Cut(row, ":")
			by[who]++
		}
		return by
	}
	for n := range 60 {
		from("mallory", fmt.Sprintf("192.%d.2.1", n), app.Application)
	}
	if got := rows(); got["person"] != 10 {
		t.Errorf("one person with many networks: %v", got)
	}
	for n := range 60 {
		from(fmt.Sprint("account-", n), fmt.Sprintf("2001:db8:0:%x::1", n), app.Application)
	}
	if got := rows(); got["person"] != 20 {
		t.Errorf("and many accounts of one site: %v", got)
	}
	for n := range 100 {
		from(fmt.Sprint("other-", n), fmt.Sprintf("198.51.%d.1", n), app.Application)
	}
	from("", "2001:db8::1", app.Application)
	f.token(app, "grant_type", policy.GrantDevice)
	if got, want := rows(), map[string]int{"person": 51, "somebody": 1, "it": 1}; !cmp.Equal(got, want) {
		t.Errorf("and many of many sites: %v, want %v", got, want)
	}
	for n := range 60 {
		from(
			"mallory",
			fmt.Sprintf("192.%d.2.1", n),
			storage.Application{ID: fmt.Sprint("a", n), ClientID: fmt.Sprint("a", n)},
		)
	}
	f.refusals(app.Application)
	caused := 0
	for _, e := range f.storedEvents(events.RequestRefused) {
		if strings.HasPrefix(e.ObjectID, "a") && e.ObjectID != app.Application.ClientID {
			caused++
		}
	}
	if caused != 30 { // and ten above
		t.Errorf("one person has caused %d rows of other applications", caused)
	}
}

// Many sites together fill the room of strangers of one application. The rest is counted in one row, and what the
// application itself sends has room of its own.
func TestAttackRefusalsFromManySites(t *testing.T) {
	f := begin(t)
	app := f.app()
	for n := range 120 {
		f.refuse(events.Refused{
			Endpoint:    "token",
			Application: &app.Application,
			Address:     fmt.Sprintf("192.%d.2.1", n),
		}, oauth.Refuse("invalid_request", "%s", oauth.Own(fmt.Sprint("Text ", n))))
	}
	f.refuse(events.Refused{
		Endpoint:    "token",
		Application: &app.Application,
		Proved:      true,
	}, oauth.Refuse("invalid_scope", "The reason."))
	found, err := f.Refusals.Of(t.Context(), app.Application)
	if err != nil {
		t.Fatal(err)
	}
	rest := slices.IndexFunc(found, func(r events.Refusal) bool { return r.Endpoint == "other" })
	if len(found) != 52 || rest < 0 || found[rest].Times != 70 || found[0].Description != "The reason." ||
		found[0].Sender != events.Itself {
		t.Errorf("%d rows, others %+v, first %+v", len(found), found[max(0, rest)], found[0])
	}
}

// A failure of the database neither loses refusals nor refuses anything else.
func TestRefusalsWaitForTheDatabase(t *testing.T) {
	f := begin(t)
	app := f.app(grants(policy.GrantCode))
	f.sql("ALTER TABLE events RENAME TO gone")
	_, err := f.token(app, "grant_type", policy.GrantClient)
	wantKind(t, "while the database fails", err, "400 unauthorized_client")
	if f.Refusals.Store(t.Context()) == nil {
		t.Fatal("it is stored")
	}
	f.token(app, "grant_type", policy.GrantClient)
	f.sql("ALTER TABLE gone RENAME TO events")
	if got, want := f.refusals(app.Application), []string{"it: token unauthorized_client 2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The numbers of several days are added up, and those that are older than seven days are left out. Whoever registers
// another application with the client ID of a deleted one does not see what the former one did.
func TestRefusalsOfSevenDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		named := func(r *clients.Registration) { r.ClientID = "shop" }
		app := f.app(named, grants(policy.GrantCode))
		for range 9 {
			f.token(app, "grant_type", policy.GrantClient)
			f.refusals(app.Application)
			time.Sleep(24 * time.Hour)
		}
		time.Sleep(-time.Second)
		if got, want := f.refusals(app.Application), []string{"it: token unauthorized_client 6"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		err := f.Clients.Delete(t.Context(), policy.Operator(), app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.refusals(f.app(named).Application); len(got) != 0 {
			t.Errorf("another application has %v", got)
		}
	})
}

// Each refusal that programs meet most has its remedy. A check whose description is written anew needs another row.
func TestRemedies(t *testing.T) {
	f := begin(t)
	app := f.app(
		grants(policy.GrantCode),
		func(r *clients.Registration) { r.Scopes, r.PKCE = []string{"read"}, policy.PKCERequired },
	)
	open := f.app(public)
	wrong := *app
	wrong.Secret = "another secret of the client"
	authorize := func(pairs ...string) error {
		a, err := f.Authorizations.Authorize(clientauth.From(t.Context(), "192.0.2.1"), f.query(app, pairs...))
		if err == nil && a.Refused != nil {
			err = a.Refused
		}
		return err
	}
	token := func(app *clients.Registered, pairs ...string) error { _, err := f.token(app, pairs...); return err }
	s := f.login("alice")
	code := f.code(app, s)
	f.exchange(app, code)
	for name, of := range map[string]struct {
		err   error
		field string
		words string
	}{
		"PKCE is missing": {authorize(
			"code_challenge", "-", "code_challenge_method", "-",
		), "pkce", "Turn on PKCE"},
		"plain": {authorize("code_challenge_method", "plain"), "", "Set PKCE to S256"},
		"another redirect URI": {
			authorize("redirect_uri", "https://client.example/other"),
			"redirect_uris",
			"character by character",
		},
		"the implicit flow":           {authorize("response_type", "token"), "", "response_type=code"},
		"an unknown scope":            {authorize("scope", "unknown"), "", "SCOPES"},
		"a scope that it may not use": {authorize("scope", "write"), "scope", "Allow the application the scope"},
		"a wrong secret": {
			token(&wrong, "grant_type", policy.GrantCode),
			errorcode.RotateSecret,
			"Copy the secret again",
		},
		"no secret": {token(&clients.Registered{Application: app.Application}, "grant_type", policy.GrantCode), "", ""},
		"a secret of a public client": {func() error {
			_, _, err := f.Grants.Token(t.Context(), post(values(
				"grant_type", policy.GrantCode, "client_id", open.Application.ClientID, "client_secret", "x",
			)), "192.0.2.1")
			return err
		}(), "", "Remove the client secret"},
		"another grant":    {token(app, "grant_type", policy.GrantClient), "grant_type", "Allow the application this grant"},
		"an unknown grant": {token(app, "grant_type", "implicit"), "grant_type", "Choose another grant"},
		"an unknown code": {token(
			app, "grant_type", policy.GrantCode, "code", "mac_x", "redirect_uri", callback, "code_verifier", verifier,
		), "", "A code works once"},
		"a used code": {func() error { _, err := f.exchange(app, code); return err }(), "", "A code works once"},
		"another verifier": {func() error {
			_, err := f.exchange(app, f.code(app, s), "code_verifier", strings.Repeat("x", 43))
			return err
		}(), "", "verifier"},
	} {
		e, ok := of.err.(*oauth.Error)
		if !ok {
			t.Errorf("%s: %v", name, of.err)
			continue
		}
		got := clients.RemedyOf(events.Refusal{Error: e.Code, Description: e.Fixed()})
		if got.Field != of.field || !strings.Contains(got.Text, of.words) {
			t.Errorf("%s (%v): %+v, want %q and %q", name, e, got, of.field, of.words)
		}
	}
}
