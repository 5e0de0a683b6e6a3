package openid

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
)

// A registeringPlan is a configuration for a plan that registers its clients itself.
type registeringPlan struct {
	Alias       string              `json:"alias"`
	Description string              `json:"description"`
	Server      server              `json:"server"`
	Client      registrant          `json:"client"`
	Client2     registrant          `json:"client2"`
	Browser     []visit             `json:"browser"`
	Override    map[string]override `json:"override"`
}

type registrant struct {
	Name  string `json:"client_name"`
	Token string `json:"initial_access_token"`
}

// described is what the suite reads in an answer about a client.
type described struct {
	client
	Token         string `json:"registration_access_token"`
	Configuration string `json:"registration_client_uri"`
	Login         string `json:"initiate_login_uri"`
}

// shown are the modules that look for what a client says about itself on the page of its first request. The suite's
// terms are at another host than its redirect URI, and there the last one fails (RFC 7591 §5).
var shown = []module{
	{name: "oidcc-registration-logo-uri", visits: []url.Values{{}}, shows: 1, ends: "200"},
	{name: "oidcc-registration-policy-uri", visits: []url.Values{{}}, shows: 1, ends: "200"},
	{name: "oidcc-registration-tos-uri", visits: []url.Values{{}}, shows: 1, ends: "200"},
}

// registers does what the modules of such a plan do: it registers a client and reads it, is refused an address without
// TLS, looks for the logo and the links, and sends a request without redirect_uri.
func (r *rehearsal) registers(t *testing.T, p registeringPlan) {
	if p.Client.Token == "" || p.Client2 != p.Client {
		t.Errorf("the two clients register with %+v and %+v", p.Client, p.Client2)
	}
	callback := r.suite + "/test/a/" + p.Alias + "/callback"
	// A page is shown if it has the host of a redirect URI with https.
	secure := "https://127.0.0.1"
	register := func(login string) (status int, got described) {
		body, err := json.Marshal(map[string]any{"client_name": p.Client.Name,
			"redirect_uris": []string{callback, callback + "?dummy1=lorem", secure + "/callback"},
			"logo_uri":      secure + "/logo.png", "policy_uri": secure + "/policy", "tos_uri": secure + "/terms",
			"grant_types": []string{"authorization_code"}, "response_types": []string{"code"}, "initiate_login_uri": login})
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequest(http.MethodPost, r.endpoints.Registration, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+p.Client.Token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		err = json.NewDecoder(response.Body).Decode(&got)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, got
	}
	const login = "https://suite.example/login"
	status, made := register(login)
	if status != http.StatusCreated || made.Login != login {
		t.Fatalf("the registration is answered with %d, %+v", status, made)
	}
	var read described
	err := json.Unmarshal(get(t, made.Configuration, made.Token), &read)
	if err != nil || read.Login != login {
		t.Errorf("the client is read as %+v: %v", read, err)
	}
	if status, _ = register("http://suite.example/login"); status != http.StatusBadRequest {
		t.Errorf("an initiate_login_uri with http is answered with %d", status)
	}
	m := module{name: "oidcc-ensure-redirect-uri-in-authorization-request", visits: []url.Values{{"redirect_uri": nil}},
		shows: 1, ends: "400"}
	for _, m := range slices.Concat(shown, []module{m}) {
		r.module(t, plan{Alias: p.Alias, Client: made.client, Browser: p.Browser, Override: p.Override}, m)
	}
}
