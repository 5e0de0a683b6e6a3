package provider

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/device"
	"mandate/provider/policy"
)

// wantReplay checks that a request was refused because its DPoP proof was used before.
func wantReplay(t *testing.T, name string, err error) {
	t.Helper()
	if got := kind(err); got != "400 invalid_dpop_proof" && got != "401 invalid_dpop_proof" {
		t.Errorf("%s: the proof again: %v", name, err)
	}
}

// RFC 9449 §11.1: a proof is for one request, also where what it accompanies could be sent again.
func TestProofIsUsedOnceWithEachGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, s, key := f.app(), f.login("alice"), newKey(t)
		proof := f.proof(key, "token", nil)
		redeem := func() error {
			return f.send("token",
				proving(by(app, "grant_type", policy.GrantCode, "code", f.code(app, s), "redirect_uri", callback, "code_verifier",
					verifier), proof))
		}
		if err := redeem(); err != nil {
			t.Fatal(err)
		}
		wantReplay(t, "a second code", redeem())

		television := f.television()
		proof = f.proof(key, "token", nil)
		one, two := f.asks(television), f.asks(television)
		f.allow(one, s)
		f.allow(two, s)
		if err := f.send("token", proving(by(television, pollWith(one)...), proof)); err != nil {
			t.Fatal(err)
		}
		wantReplay(t, "a second device code", f.send("token", proving(by(television, pollWith(two)...), proof)))

		proof = f.proof(key, "par", nil)
		phone := f.app(public)
		pushes := func() error { return f.send("par", proving(post(f.query(phone)), proof)) }
		if err := pushes(); err != nil {
			t.Fatal(err)
		}
		wantReplay(t, "a second pushed request", pushes())
	})
}

// OIDC Core §9: an assertion is for one request. A poll has an effect, so whoever has seen one cannot repeat it.
func TestAssertionOfAPollIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app := f.keyed()
		codes, _, err := f.Devices.Authorize(t.Context(), app.at("device_authorization", app.assertion(nil)),
			device.Origin{Address: "192.0.2.1"})
		if err != nil {
			t.Fatal(err)
		}
		assertion := app.assertion(nil)
		poll := func() error { return f.send("token", app.at("token", assertion, pollWith(codes)...)) }
		wantKind(t, "the first poll", poll(), "400 authorization_pending")
		time.Sleep(10 * time.Second)
		wantUsed(t, "a poll", poll())
	})
}

// What authenticates a client is no parameter of the request, and is stored nowhere.
func TestPushedRequestHasNoCredentials(t *testing.T) {
	f := begin(t)
	app, signer := f.app(), f.keyed()
	body := f.query(app)
	body.Set("client_secret", app.Secret)
	if err := f.send("par", post(body)); err != nil {
		t.Fatal(err)
	}
	if err := f.send("par", signer.at("par", signer.assertion(nil), f.pushed(signer.Registered)...)); err != nil {
		t.Fatal(err)
	}
	rows, err := f.backDoor().Query("SELECT digest, client_id, parameters FROM requests")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var digest, client, sealed string
		err := rows.Scan(&digest, &client, &sealed)
		if err != nil {
			t.Fatal(err)
		}
		text, err := f.sealers.tickets.Open(sealed, "pushed "+digest+" "+client)
		var kept struct{ Parameters string }
		if err == nil {
			err = json.Unmarshal(text, &kept)
		}
		if err != nil {
			t.Fatal(err)
		}
		parameters, err := url.ParseQuery(kept.Parameters)
		if err != nil || parameters.Get("redirect_uri") != callback {
			t.Fatal(parameters, err)
		}
		for name := range parameters {
			if name == "client_secret" || strings.HasPrefix(name, "client_assertion") {
				t.Errorf("the stored request has %s", name)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d requests", n)
	}
}

// RFC 9101 §10.5: an application whose requests must be signed gets no answer to one that was pushed before, as it
// was not signed.
func TestPushedRequestIsNotSigned(t *testing.T) {
	f := begin(t)
	app := f.keyed()
	answer, _, err := f.Authorizations.Push(t.Context(), app.at("par", app.assertion(nil), f.pushed(app.Registered)...),
		"192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	opens := func() string {
		a, err := f.Authorizations.Authorize(t.Context(),
			values("client_id", app.Application.ClientID, "request_uri", answer.RequestURI))
		if err == nil && a.Refused != nil {
			err = a.Refused
		}
		return kind(err)
	}
	if got := opens(); got != "no error" {
		t.Fatal(got)
	}
	f.sql(`UPDATE applications SET require_signed = TRUE WHERE id = '` + app.Application.ID + `'`)
	f.forgetCopies()
	if got := opens(); got == "no error" {
		t.Error("a request that is not signed is answered")
	}
}
