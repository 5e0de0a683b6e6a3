package provider

import (
	"fmt"
	"strings"
	"testing"

	"mandate/provider/checkup"
	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/testkit/smtpd"
)

// inside makes the checks that need no network.
func (f *fixture) inside(t *testing.T) []checkup.Finding {
	t.Helper()
	found := append(
		f.checkApplications(t.Context()), f.checkDatabase(t.Context()), f.checkClock(t.Context()),
		f.checkKeys(t.Context()), f.checkAddresses(t.Context()), f.checkMail(t.Context()),
	)
	for _, one := range found {
		listed := false
		for _, c := range checkup.Checks() {
			listed = listed || c.Name == one.Check
		}
		if !listed || one.Text == "" || (one.Weight == checkup.Fine) != (one.Remedy == "") {
			t.Errorf("%+v", one)
		}
	}
	return found
}

// bad lists what is not fine.
func bad(found []checkup.Finding) string {
	var lines []string
	for _, one := range found {
		if one.Weight != checkup.Fine {
			lines = append(lines, string(one.Weight)+" "+one.Check+" "+one.About+": "+one.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// A server without a fault has no finding, and each fault has one, which names who has it.
func TestCheckupFindsWhatIsStored(t *testing.T) {
	mails := smtpd.Start(t, smtpd.Options{})
	f := begin(t, openID, func(c *Config) {
		c.Mail.URL, c.Mail.From, c.Letters = "smtp://"+mails.Address, "noreply@example.org", plain
	})
	app := f.app()
	if got := bad(f.inside(t)); got != "" {
		t.Errorf("%s", got)
	}
	if n := len(mails.Messages(t)); n != 0 {
		t.Errorf("%d messages were sent", n)
	}

	f.person("nobody@nowhere")
	_, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
		Username: "alice",
		Password: goodPassword,
		Email:    "alice@example.org",
		Profile:  &people.Profile{EmailVerified: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	refused := oauth.Refuse("invalid_request", "code_challenge is missing: %s", oauth.Own("x"))
	f.Refusals.Count(events.Refused{Application: &app.Application, Proved: true, Endpoint: "authorize"}, refused)
	f.Refusals.Count(events.Refused{
		Application: &app.Application,
		Endpoint:    "token",
		Address:     "192.0.2.1",
	}, oauth.Refuse("invalid_client", "of a stranger"))
	// The browsers of people who have signed in do not displace what the application itself has sent.
	for n := range 5 {
		f.Refusals.Count(
			events.Refused{Application: &app.Application, PersonID: "mallory", Endpoint: "authorize"},
			oauth.Refuse("invalid_request", "%s", oauth.Own(fmt.Sprint("of a person ", n))),
		)
	}
	f.app(func(r *clients.Registration) { r.Name, r.RedirectURIs = "Intranet", []string{"http://intranet.lan/cb"} })
	got := bad(f.inside(t))
	for _, want := range []string{
		"warning addresses : 1 of 2 people",
		"warning refused-requests " + AboutApplication(app.Application) + ": invalid_request: code_challenge is missing: x " +
			"(once, last",
		"warning redirect-uris Intranet (",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "stranger") || strings.Count(got, "of a person") != 2 || strings.Count(got, "\n") != 4 {
		t.Errorf("%s", got)
	}
	got = bad(f.RefusedToStrangers(t.Context(), app.Application))
	if !strings.Contains(
		got, ": invalid_client: of a stranger (once, last",
	) || !strings.HasSuffix(got, ", sender unknown)") || strings.Contains(got, "\n") {
		t.Errorf("%s", got)
	}
	mails.Stop()
	if got := bad([]checkup.Finding{f.checkMail(t.Context())}); !strings.HasPrefix(got, "wrong mail") {
		t.Errorf("%s", got)
	}
}

// An application without a redirect URI lets nobody in. One that needs none has no finding.
func TestCheckupOfAnApplicationWithoutRedirectURI(t *testing.T) {
	for types, want := range map[string]int{policy.GrantCode: 1, policy.GrantClient: 0, policy.GrantDevice: 0} {
		if got := checkRedirectURIs(storage.Application{Name: "x", ClientID: "y", GrantTypes: types}); len(got) != want {
			t.Errorf("%s: %+v", types, got)
		}
	}
}

// Without mail, links are made at the command line: that is a warning, and no error.
func TestCheckupWithoutMail(t *testing.T) {
	f := begin(t)
	if got := f.checkMail(t.Context()); got.Weight != checkup.Doubtful {
		t.Errorf("%+v", got)
	}
}

// Whoever signs out is sent to a post-logout redirect URI: a weak one is named too.
func TestCheckupOfAWeakPostLogoutURI(t *testing.T) {
	a := storage.Application{
		GrantTypes:     policy.GrantCode,
		RedirectURIs:   "https://app.example/cb",
		PostLogoutURIs: "http://app.lan/\nhttps://app.example/",
	}
	if got := bad(checkRedirectURIs(a)); strings.Count(got, "warning redirect-uris") != 1 ||
		!strings.Contains(got, "http://app.lan/") {
		t.Errorf("%s", got)
	}
}

// A server with more people than are looked at is not told that all of them have an address.
func TestCheckupSaysWhomItHasCounted(t *testing.T) {
	for _, test := range []struct {
		without, all int
		more         bool
		want         string
	}{
		{0, 7, false, "All people have"}, {2, 7, false, "2 of 7 people have no"},
		{0, 7, true, "The first 7 people have"}, {2, 7, true, "2 of the first 7 people have no"},
	} {
		if got := addressFinding(test.without, test.all, test.more); !strings.HasPrefix(got.Text, test.want) ||
			(got.Weight == checkup.Fine) != (test.without == 0) {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

// A database that fails is found by each check that reads it, and is not taken for one without people.
func TestCheckupOfABrokenDatabase(t *testing.T) {
	f := begin(t, openID)
	app := f.app().Application
	f.store.Close()
	broken := append(f.checkApplications(t.Context()), f.checkRefusals(t.Context(), app, false)...)
	broken = append(broken, f.checkDatabase(t.Context()), f.checkAddresses(t.Context()))
	if len(broken) != 4 {
		t.Errorf("%d findings", len(broken))
	}
	for _, one := range broken {
		if one.Weight != checkup.Wrong || one.Remedy == "" {
			t.Errorf("%+v", one)
		}
	}
}
