package provider

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/mail"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// The attacker has the IPv6 /48, and uses another /64 of it each time. The honest ones are beside it.
const (
	siteOfAttacker = "2001:db8:bad:%x::1"
	athome         = "192.0.2.7"
	abroad         = "198.51.100.8"
)

// work sends what is due as one node does within a second, and returns to whom which messages went.
func (f *fixture) work() (sent []string) {
	f.t.Helper()
	for _, queue := range []string{"", "strangers"} {
		due, err := f.store.DueMails(f.t.Context(), queue, oauth.Now(), 4)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, m := range due {
			content := f.opened(m)
			m, err = f.store.LeaseMail(f.t.Context(), m, oauth.Now()+60)
			switch {
			case err != nil:
			case m.Kind == "asked":
				err = f.People.AnswerReset(f.t.Context(), m, content.Asked, "")
			case m.Kind == "asked-sign-up":
				err = f.Invitations.Answer(f.t.Context(), m, content.Asked, "")
			default:
				err = f.store.ForgetMail(f.t.Context(), m)
				sent = append(sent, m.Kind+" to "+content.To)
			}
			if err != nil {
				f.t.Fatal(m.Kind, err)
			}
		}
	}
	return sent
}

// One customer has an IPv6 /48, and does for a minute what strangers can do. A person and a program beside it notice
// nothing, and what the customer reaches is what its site may have.
//
// Class: limits that take an IPv6 /48 for 65,536 customers (CWE-307, CWE-770). No public advisory is known.
func TestAttackOneCustomerWithManyNetworks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 100 // messages about accounts in one hour
		f := begin(t, mailsTo(nowhere), func(c *Config) {
			c.People.SignUp, c.Notices.SignUpsPerHour = people.SignUpOpen, most
			c.Open.Clients = []string{clients.OpenRegistration}
			c.Letters = func(string, any) (mail.Letter, error) { return mail.Letter{}, nil }
		})
		f.addressed("alice")
		chosen := f.app(func(r *clients.Registration) { r.ClientSecret = "chosen by a person" })
		television, phone := f.television(), f.app(public)
		guessed := func(address, secret string) error {
			_, _, err := f.Grants.Token(t.Context(), by(&clients.Registered{
				Application: chosen.Application,
				Secret:      secret,
			}, "grant_type", policy.GrantClient), address)
			return err
		}
		pushes := func(address string) error {
			_, _, err := f.Authorizations.Push(t.Context(), post(f.query(phone)), address)
			return err
		}
		registers := func(address string, n int) error {
			r := httptest.NewRequest(
				"POST", "https://auth.example/o/register/",
				strings.NewReader(fmt.Sprintf(
					`{"redirect_uris":["https://client%d.example/cb"],"client_name":"%d","token_endpoint_auth_method":"none"}`, n, n,
				)),
			)
			r.Header.Set("Content-Type", "application/json")
			_, _, err := f.Registrations.Register(t.Context(), r, address)
			return err
		}
		signsIn := func(name, password string, b people.Browser) error {
			return second(f.People.Login(t.Context(), name, password, b))
		}
		if err := guessed(athome, chosen.Secret); err != nil { // where the program has always been
			t.Fatal(err)
		}
		type attack struct {
			try   func(address string, n int) error
			limit int // kind of counter
		}
		attacks := map[string]attack{
			"passwords of one person": {func(a string, n int) error {
				return signsIn(
					"alice", "wrong", people.Browser{Address: a},
				)
			}, limits.OfPair},
			"unknown clients": {func(a string, n int) error {
				_, _, err := f.Grants.Token(t.Context(), by(&clients.Registered{
					Application: storage.Application{ClientID: fmt.Sprint("nobody", n), ClientType: policy.Confidential},
					Secret:      "x",
				}, "grant_type", policy.GrantClient), a)
				return err
			}, limits.OfAddress},
			"a secret that a person chose": {func(a string, n int) error {
				return guessed(
					a, fmt.Sprint("wrong", n),
				)
			}, limits.OfClient},
			"new passwords": {func(a string, n int) error {
				return f.People.AskReset(t.Context(), fmt.Sprint("name", n), people.Browser{Address: a})
			}, limits.OfMessage},
			"links of one person": {func(a string, n int) error {
				return f.People.AskReset(t.Context(), "alice", people.Browser{Address: a})
			}, limits.OfMessageTo},
			"accounts": {func(a string, n int) error {
				return f.Invitations.Ask(t.Context(), fmt.Sprintf("victim%d@example.com", n), people.Browser{Address: a})
			}, limits.OfMessage},
			"devices":         {func(a string, n int) error { return second(f.device(television, a)) }, limits.OfDeviceRequest},
			"pushed requests": {func(a string, n int) error { return pushes(a) }, limits.OfPushedRequest},
			"registrations":   {registers, limits.OfRegistration},
			"passkeys": {func(a string, n int) error {
				asked, err := f.Passkeys.AskForPasskey(chrome)
				if err != nil {
					return err
				}
				return second(f.Passkeys.SignIn(t.Context(), people.Response{
					Ticket: asked.Ticket,
					JSON:   "{}",
				}, chrome, people.Browser{Address: a}))
			}, limits.OfAddress},
		}
		reached, n, asked := map[string]int{}, 0, time.Time{}
		sent := map[string]int{}
		for at := range 60 {
			for range 12 {
				n++
				address := fmt.Sprintf(siteOfAttacker, n)
				for name, a := range attacks {
					if !strings.HasPrefix(kind(a.try(address, n)), "429") {
						reached[name]++
					}
				}
			}
			if at%10 == 5 {
				for what, err := range map[string]error{
					"the person, with a new browser": signsIn("alice", goodPassword, people.Browser{Address: athome}),
					"the program":                    guessed(athome, chosen.Secret),
					"the program, at a new place":    guessed(fmt.Sprintf("203.0.%d.9", at), chosen.Secret),
					"a television":                   second(f.device(television, abroad)),
					"a pushed request":               pushes(abroad),
					"a registration":                 registers(abroad, 1_000_000+at),
					"an account": f.Invitations.Ask(
						t.Context(), fmt.Sprintf("new%d@example.com", at), people.Browser{Address: abroad},
					),
				} {
					if err != nil {
						t.Errorf("in second %d, %s: %v", at, what, err)
					}
				}
			}
			if at == 45 {
				f.forgets(t, "alice", athome, "")
				asked = time.Now()
			}
			for _, message := range f.work() {
				sent[message]++
				if message == "reset to alice@example.com" && !asked.IsZero() {
					if waited := time.Since(asked); waited > 2*time.Second {
						t.Error("the person waits for the link for", waited)
					}
					asked = time.Time{}
				}
			}
			time.Sleep(time.Second)
		}
		for range 100 {
			for _, message := range f.work() {
				sent[message]++
			}
		}
		if !asked.IsZero() {
			t.Error("the person gets no link for a new password")
		}
		for name, a := range attacks {
			site := limits.Of(a.limit).OfSite()
			if want := site.Tries + int(time.Minute/site.Refill) + 1; reached[name] > want || reached[name] == 0 {
				t.Errorf("%s: the attacker has %d of %d tries, want at most %d", name, reached[name], n, want)
			}
		}
		victims := 0
		for message, times := range sent {
			if strings.HasPrefix(message, "sign-up to victim") {
				victims += times
			}
		}
		for second := 5; second < 60; second += 10 {
			if message := fmt.Sprintf("sign-up to new%d@example.com", second); sent[message] != 1 {
				t.Errorf("%s: %d messages", message, sent[message])
			}
		}
		if want := most / 10; victims == 0 || victims > want {
			t.Errorf("%d messages to people who have no account, want at most %d", victims, want)
		}
		// Three by the attacker, so two are left for the person.
		if times := sent["reset to alice@example.com"]; times != 4 {
			t.Errorf("the person gets %d links for a new password", times)
		}
	})
}

// All /64 of one /48 together fill no more of the queue of password hashes than one of them, and another customer has
// a place.
func TestAttackOneCustomerFillsTheQueueOfHashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.Hashing.Concurrency = 1 })
		f.person("alice")
		take(t, f.limits.People)
		ended := make(chan string, 1000)
		login := func(who, name, password, address string) {
			go func() {
				ctx := origin.With(t.Context(), &origin.Origin{Address: address})
				err := second(f.People.Login(ctx, name, password, people.Browser{Address: address}))
				ended <- who + ": " + kind(err)
			}()
			synctest.Wait()
		}
		for i := range 5 * password.QueueEach {
			login("attacker", fmt.Sprint("nobody", i), "wrong", fmt.Sprintf(siteOfAttacker, i))
		}
		login("alice", "alice", goodPassword, athome)
		refused := len(ended)
		if waiting := f.limits.People.Stats().Waiting; refused != 4*password.QueueEach || waiting != password.QueueEach+1 {
			t.Errorf("%d of the attacker's logins are refused, %d hashes wait", refused, waiting)
		}
		f.limits.People.Release()
		synctest.Wait()
		// A test of package password has the order of the turns.
		signedIn := false
		for range len(ended) {
			signedIn = <-ended == "alice: no error" || signedIn
		}
		if !signedIn {
			t.Error("the person is not signed in")
		}
	})
}

// Strangers of many customers guess at a secret that a person chose. The program goes on where it was before, and
// a right guess is refused abroad.
//
// Class: guesses without a limit for one account (CWE-307). No public advisory is known.
func TestAttackChosenSecretIsGuessedFromManyCustomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app := f.app(func(r *clients.Registration) { r.ClientSecret = "chosen by a person" })
		ask := func(address, secret string) string {
			_, _, err := f.Grants.Token(t.Context(), by(&clients.Registered{
				Application: app.Application,
				Secret:      secret,
			}, "grant_type", policy.GrantClient), address)
			return kind(err)
		}
		if got := ask(athome, app.Secret); got != "no error" {
			t.Fatal(got)
		}
		guesses := 0
		for i := range 250 {
			if ask(fmt.Sprintf("10.%d.0.1", i), fmt.Sprint("wrong", i)) == "401 invalid_client" {
				guesses++
			}
		}
		if want := limits.Of(limits.OfSecret).Tries; guesses != want {
			t.Errorf("%d guesses, want %d", guesses, want)
		}
		for range 20 {
			if got := ask(athome, app.Secret); got != "no error" {
				t.Fatal("the program, where it was before:", got)
			}
		}
		if got := ask(abroad, app.Secret); got != "429 temporarily_unavailable" {
			t.Error("a right guess:", got)
		}
		time.Sleep(limits.Of(limits.OfSecret).Refill)
		if got := ask(abroad, app.Secret); got != "no error" {
			t.Error("a new place, a moment later:", got)
		}
		tries := limits.Of(limits.OfClient).Tries
		for i := range tries {
			ask(athome, fmt.Sprint("wrong", i))
		}
		if got := ask(athome, app.Secret); got != "429 temporarily_unavailable" {
			t.Error("a right guess among wrong ones, where the program was before:", got)
		}
	})
}

// Nobody can guess a generated secret, so wrong ones of strangers do not change what others are told: a developer with
// a mistake still reads that the secret is wrong.
func TestWrongGeneratedSecretsAreCountedByNetwork(t *testing.T) {
	f := begin(t)
	app := f.app()
	wrong := clients.Registered{Application: app.Application, Secret: "wrong"}
	for i := range 2 * limits.Of(limits.OfSecret).Tries {
		_, _, err := f.Grants.Token(t.Context(), by(&wrong, "grant_type", policy.GrantClient), fmt.Sprintf("10.%d.0.1", i))
		if got := kind(err); got != "401 invalid_client" {
			t.Fatalf("after %d wrong secrets: %s", i, got)
		}
	}
}

// A person who is signed in sends messages only to so many addresses.
func TestAttackMessagesToAddressesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		u := f.addressed("alice")
		stored := 0
		for i := range 40 {
			email := fmt.Sprintf("victim%d@example.com", i)
			f.sql(`UPDATE users SET email = '` + email + `' WHERE id = '` + u.ID + `'`)
			f.forgetCopies()
			u.Email = email
			err := f.People.AskAddress(t.Context(), &storage.SignedIn{User: u})
			if err == nil {
				stored++
			} else if got := kind(err); got != "429 temporarily_unavailable" {
				t.Fatal(err)
			}
		}
		if stored != 20 {
			t.Errorf("%d messages in one hour", stored)
		}
	})
}

type waiting struct {
	To, Asked string
}

func (f *fixture) opened(m storage.Mail) waiting {
	f.t.Helper()
	text, err := f.sealers.mails.Open(m.Body, m.Kind+" "+m.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	var content waiting
	err = json.Unmarshal(text, &content)
	if err != nil {
		f.t.Fatal(err)
	}
	return content
}
