package provider

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

// with returns the request with these headers in place of its Authorization header.
func with(r *http.Request, headers ...string) *http.Request {
	r.Header.Del("Authorization")
	for _, h := range headers {
		r.Header.Add("Authorization", h)
	}
	return r
}

func TestClientAuthentication(t *testing.T) {
	f := begin(t)
	app, other, open := f.app(introspects), f.app(), f.app(public)
	id, secret := app.Application.ClientID, app.Secret
	good := basic(id + ":" + secret)
	for _, test := range []struct {
		rule    string
		body    []string
		headers []string
		want    string
	}{
		{"RFC6749/2.3.1 HTTP Basic", nil, []string{good}, "no error"},
		{"RFC6749/2.3.1 the same client_id in the body", []string{"client_id", id}, []string{good}, "no error"},
		{"RFC6749/2.3.1 id and secret in the body", []string{"client_id", id, "client_secret", secret}, nil, "no error"},
		{"RFC6749/5.2 no credentials", nil, nil, "401 invalid_client"},
		{"RFC6749/5.2 only the id of a confidential client", []string{"client_id", id}, nil, "401 invalid_client"},
		{"RFC6749/5.2 an empty secret", []string{"client_id", id, "client_secret", ""}, nil, "401 invalid_client"},
		{"RFC6749/5.2 an empty secret by Basic", nil, []string{basic(id + ":")}, "401 invalid_client"},
		{"RFC6749/5.2 a wrong secret", []string{"client_id", id, "client_secret", secret + "x"}, nil, "401 invalid_client"},
		{"RFC6749/5.2 a wrong secret by Basic", nil, []string{basic(id + ":" + secret[1:])}, "401 invalid_client"},
		{
			"RFC6749/5.2 the stored form is no secret",
			[]string{"client_id", id, "client_secret", app.Application.Secret},
			nil,
			"401 invalid_client",
		},
		{
			"RFC6749/5.2 the digest is no secret",
			[]string{"client_id", id, "client_secret", seal.Digest(secret)},
			nil,
			"401 invalid_client",
		},
		{
			"RFC6749/5.2 the secret of another client",
			[]string{"client_id", id, "client_secret", other.Secret},
			nil,
			"401 invalid_client",
		},
		{
			"RFC6749/5.2 an unknown client",
			[]string{"client_id", "unknown", "client_secret", secret},
			nil,
			"401 invalid_client",
		},
		{
			"RFC6749/5.2 the client id has its case",
			[]string{"client_id", swapCase(id), "client_secret", secret},
			nil,
			"401 invalid_client",
		},
		{
			"RFC6749/2.3 Basic and a secret in the body",
			[]string{"client_secret", secret},
			[]string{good},
			"400 invalid_request",
		},
		{"RFC6749/2.3 Basic twice", nil, []string{good, good}, "400 invalid_request"},
		{"RFC6749/2.3 Basic and Bearer", nil, []string{good, "Bearer x"}, "400 invalid_request"},
		{
			"CVE-2022-36087 authenticated as one client, acting as another",
			[]string{"client_id", other.Application.ClientID},
			[]string{good},
			"400 invalid_request",
		},
		{"RFC6749/5.2 a scheme that is not known", nil, []string{"Digest x"}, "401 invalid_client"},
		{"RFC6749/5.2 a bearer token", nil, []string{"Bearer " + secret}, "401 invalid_client"},
		{"RFC7521/4.2 an assertion", []string{"client_id", id, "client_assertion", "x"}, nil, "401 invalid_client"},
		{
			"RFC7521/4.2 an assertion beside the secret",
			[]string{"client_assertion_type", "x"},
			[]string{good},
			"400 invalid_request",
		},
		{
			"RFC6749/2.1 a public client with its id alone",
			[]string{"client_id", open.Application.ClientID},
			nil,
			"400 unauthorized_client",
		},
		{
			"RFC6749/2.1 a public client with a secret",
			[]string{"client_id", open.Application.ClientID, "client_secret", "x"},
			nil,
			"401 invalid_client",
		},
		{
			"RFC6749/2.1 a public client by Basic, with an empty secret",
			nil,
			[]string{basic(open.Application.ClientID + ":")},
			"401 invalid_client",
		},
	} {
		t.Run(test.rule, func(t *testing.T) {
			r := with(post(values(append(test.body, "grant_type", policy.GrantClient)...)), test.headers...)
			_, _, err := f.Grants.Token(t.Context(), r, test.rule)
			wantError(t, err, test.want)
			if e, ok := err.(*oauth.Error); ok && (e.Status == 401) != (e.Challenge != "") {
				t.Errorf("status %d has the challenge %q", e.Status, e.Challenge)
			}
		})
	}
	t.Run("an unknown client and a wrong secret look alike", func(t *testing.T) {
		_, _, unknown := f.Grants.Token(t.Context(), by(&clients.Registered{
			Application: storage.Application{ClientID: "unknown", ClientType: policy.Confidential},
			Secret:      "x",
		}, "grant_type", policy.GrantClient), "a")
		_, _, wrong := f.Grants.Token(t.Context(), by(&clients.Registered{
			Application: app.Application,
			Secret:      "x",
		}, "grant_type", policy.GrantClient), "b")
		seen := func(err error) oauth.Error {
			e := *err.(*oauth.Error)
			e.Cause, e.Application = nil, nil // they are for the log and the event log only
			return e
		}
		if d := cmp.Diff(seen(unknown), seen(wrong)); d != "" {
			t.Error(d)
		}
	})
	t.Run("a secret that was not form-encoded is told apart from a wrong one", func(t *testing.T) {
		for sent, hint := range map[string]bool{"a+b": true, "a%41b": true, "ab": false} {
			for _, client := range []string{id, "unknown"} {
				_, _, err := f.Grants.Token(
					t.Context(), with(post(values("grant_type", policy.GrantClient)), basic(client+":"+sent)), "hint",
				)
				wantError(t, err, "401 invalid_client")
				if got := strings.Contains(err.Error(), "percent-encode each + and %"); got != hint {
					t.Errorf("%s, client %s: %v", sent, client, err)
				}
			}
		}
	})
	t.Run("RFC6749/A.1 a client id has spaces and colons", func(t *testing.T) {
		spaced, err := f.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
			Name:       "Spaced",
			ClientID:   "urn:my client",
			ClientType: policy.Confidential,
			GrantTypes: []string{policy.GrantClient},
		})
		if err != nil {
			t.Fatal(err)
		}
		encoded := url.QueryEscape(spaced.Application.ClientID) + ":" + url.QueryEscape(spaced.Secret)
		_, _, err = f.Grants.Token(
			t.Context(), with(post(values("grant_type", policy.GrantClient)), basic(encoded)), "spaced",
		)
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("who asked is told as soon as it is proven", func(t *testing.T) {
		_, got, err := f.Grants.Token(t.Context(), by(app, "grant_type", policy.GrantCode), "")
		if err == nil || got == nil || got.ID != app.Application.ID {
			t.Error(got, err)
		}
		_, got, err = f.Grants.Token(t.Context(), by(&clients.Registered{
			Application: app.Application,
			Secret:      "wrong",
		}, "grant_type", policy.GrantCode), "")
		if err == nil || got != nil {
			t.Error("not proven:", got, err)
		}
	})
	guess := func(r *clients.Registered, address string) string {
		_, _, err := f.Grants.Token(t.Context(), by(r, "grant_type", policy.GrantClient), address)
		return kind(err)
	}
	t.Run("guessing is slowed for its client and its address, and for nobody else", func(t *testing.T) {
		chosen := f.app(func(r *clients.Registration) { r.ClientSecret = "chosen by a person" })
		for _, app := range []*clients.Registered{app, chosen} {
			wrong := &clients.Registered{Application: app.Application, Secret: "wrong"}
			for n := 1; guess(wrong, "198.51.100.1") == "401 invalid_client"; n++ {
				if n > int(limits.Of(limits.OfPair).Tries) {
					t.Fatal("still not slowed")
				}
			}
			if got := guess(wrong, "198.51.100.2"); got != "401 invalid_client" {
				t.Error("from elsewhere:", got)
			}
			if got := guess(app, "198.51.100.2"); got != "no error" {
				t.Error("the right one from elsewhere:", got)
			}
			if got := guess(other, "198.51.100.1"); got != "no error" {
				t.Error("another client:", got)
			}
		}
		// A generated secret cannot be guessed, so it is not limited. A chosen secret is.
		if got := guess(app, "198.51.100.1"); got != "no error" {
			t.Error("a generated secret:", got)
		}
		if got := guess(chosen, "198.51.100.1"); got != "429 temporarily_unavailable" {
			t.Error("a chosen secret:", got)
		}
	})
	t.Run("guessing at ids that nobody has is slowed too", func(t *testing.T) {
		unknown := func(n int) *clients.Registered {
			return &clients.Registered{
				Application: storage.Application{ClientID: fmt.Sprint("nobody", n), ClientType: policy.Confidential},
				Secret:      "x",
			}
		}
		before := f.limits.Tries.Size()
		for n := range limits.Of(limits.OfAddress).Tries {
			if got := guess(unknown(n), "198.51.100.3"); got != "401 invalid_client" {
				t.Fatal(n, got)
			}
		}
		if got := guess(unknown(-1), "198.51.100.3"); got != "429 temporarily_unavailable" {
			t.Error(got)
		}
		if got := guess(unknown(-1), "198.51.100.4"); got != "401 invalid_client" {
			t.Error("from elsewhere:", got)
		}
		if got := guess(app, "198.51.100.3"); got != "no error" {
			t.Error("an id that somebody has:", got)
		}
		if n := f.limits.Tries.Size() - before; n != 3 {
			t.Errorf("%d counters are new, want one for each address and one for their site", n)
		}
	})
}

// A gateway sends many requests at once from one address, all with the right credentials.
func TestManyRightCredentialsAtOnce(t *testing.T) {
	f := begin(t)
	app := f.app()
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range 150 {
		wg.Go(func() {
			<-start
			_, err := f.token(app, "grant_type", policy.GrantClient)
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
}

func swapCase(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 32
		case 'A' <= r && r <= 'Z':
			return r + 32
		}
		return r
	}, text)
}

// Guesses at a secret that a person has chosen are limited, in every form in which it is
// stored.
func TestChosenSecretIsSlowed(t *testing.T) {
	for form, hash := range map[string]bool{"hashed": true, "readable": false} {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t)
				app := f.app(func(r *clients.Registration) { r.ClientSecret, r.HashClientSecret = "chosen by a person", hash })
				ask := func(secret, want string) {
					t.Helper()
					_, err := f.token(&clients.Registered{
						Application: app.Application,
						Secret:      secret,
					}, "grant_type", policy.GrantClient)
					wantError(t, err, want)
				}
				for range 3 * int(limits.Of(limits.OfPair).Tries) { // the right secret uses no try
					ask(app.Secret, "no error")
				}
				for range int(limits.Of(limits.OfPair).Tries) { // a wrong secret uses one try
					ask("wrong", "401 invalid_client")
				}
				ask(app.Secret, "429 temporarily_unavailable")
				made, err := f.Clients.RotateSecret(t.Context(), policy.Operator(), app.Application.ID, time.Second)
				if err != nil {
					t.Fatal(err)
				}
				ask(made.Secret, "429 temporarily_unavailable")
				time.Sleep(time.Second) // the chosen secret has expired, and the generated one cannot be guessed
				ask(made.Secret, "no error")
			})
		})
	}
}
