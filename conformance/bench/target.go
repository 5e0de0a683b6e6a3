package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"mandate/conformance/bench/process"
	"mandate/conformance/jose"
)

// target is a provider from the view of its clients: Mandate, or another one.
type target struct {
	issuer string
	// URLs; an empty one is not measured
	token, introspect, authorize, push, device, register, resource, sample, proxy string
	// clients that request tokens, introspect them, send people, and are for devices
	machine, api, web, tv client
	scope                 string
	redirect              string // of web
	cookies               []string
	// clients send their secret in the form
	inBody bool

	audience string  // the resource that tokens are for (RFC 8707)
	aimed    *target // the same server, with an audience; nil: not measured

	keyed client    // requests tokens by private_key_jwt
	key   *jose.Key // of keyed, and of tokens that are bound; nil: neither is measured
	bound []string  // access tokens that are bound to the key

	live []string // access tokens for the paths that need some

	processor func() time.Duration // processor time of the server
	database  func() time.Duration
}

// mandateTarget registers the clients of all paths, and signs people in.
func mandateTarget(ctx context.Context, s *server) (*target, error) {
	t := &target{issuer: s.url + "/o", token: s.url + "/o/token/", push: s.url + "/o/par/",
		introspect: s.url + "/o/introspect/", authorize: s.url + "/o/authorize/", device: s.url + "/o/device_authorization/",
		register: s.url + "/o/register/", sample: s.url + "/resource", scope: "read write",
		redirect: "http://127.0.0.1/callback"}
	var err error
	t.machine, err = s.register(ctx, "machine", "--grant", "client_credentials")
	if err != nil {
		return nil, err
	}
	t.api, err = s.register(ctx, "API", "--grant", "client_credentials", "--may-introspect")
	if err != nil {
		return nil, err
	}
	t.web, err = s.register(ctx, "site", "--grant", "authorization_code", "--redirect-uri", t.redirect, "--skip-consent")
	if err != nil {
		return nil, err
	}
	t.tv, err = s.register(ctx, "television", "--grant", deviceGrant)
	if err != nil {
		return nil, err
	}
	t.keyed, t.key, err = keyedMachine(ctx, s)
	if err != nil {
		return nil, err
	}
	const audience = "https://api.example/"
	_, err = s.cli(ctx, "", "resource", "add", audience, "--name", "API", "--introspector", t.api.ID)
	if err != nil {
		return nil, err
	}
	aimed := *t
	aimed.audience = audience
	t.aimed = &aimed
	for n := range 4 { // several people, so that not all requests concern one
		p, err := s.person(ctx, fmt.Sprintf("person%d", n))
		if err != nil {
			return nil, err
		}
		cookie, err := signIn(ctx, s.url, p)
		if err != nil {
			return nil, err
		}
		t.cookies = append(t.cookies, cookie)
	}
	return t, nil
}

// signIn returns the cookies of a browser in which a person has signed in.
func signIn(ctx context.Context, base string, p person) (string, error) {
	request, err := http.NewRequestWithContext(ctx, "POST", base+"/login/",
		strings.NewReader(url.Values{"username": {p.name}, "password": {p.password}}.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	answer.Body.Close()
	var cookies []string
	for _, c := range answer.Cookies() {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	if answer.StatusCode != http.StatusSeeOther || len(cookies) == 0 {
		return "", fmt.Errorf("signing in was answered with status %d and %d cookies", answer.StatusCode, len(cookies))
	}
	return strings.Join(cookies, "; "), nil
}

// foreignTarget is another provider. Its metadata adds what the flags leave out (RFC 8414, OIDC Discovery).
func foreignTarget(ctx context.Context, f foreign) (*target, error) {
	t := &target{token: f.token, introspect: f.introspect, authorize: f.authorize, resource: f.resource,
		machine: client{f.id, f.secret}, scope: f.scope, redirect: f.redirect, inBody: f.inBody}
	t.api, t.web = t.machine, t.machine
	if f.apiID != "" {
		t.api = client{f.apiID, f.apiSecret}
	}
	if f.cookieFile != "" {
		text, err := os.ReadFile(f.cookieFile)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" {
				t.cookies = append(t.cookies, line)
			}
		}
	}
	if f.pid > 0 {
		t.processor = func() time.Duration { return process.CPUTime(f.pid, true) }
	}
	if t.token == "" || t.introspect == "" || t.authorize == "" {
		err := t.discover(ctx, f.issuer)
		if err != nil && t.token == "" {
			return nil, err
		}
	}
	if t.machine.ID == "" || t.machine.Secret == "" {
		return nil, errors.New("--target requires --client-id, and the client's secret in BENCH_CLIENT_SECRET")
	}
	return t, nil
}

func (t *target) discover(ctx context.Context, issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil {
		return err
	}
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	origin := u.Scheme + "://" + u.Host
	// RFC 8414 §3.1: the well-known part stands before the issuer's path. OIDC Discovery §4: it stands behind the
	// path.
	for _, address := range []string{origin + oauth + strings.TrimSuffix(u.Path, "/"),
		strings.TrimSuffix(issuer, "/") + openid} {
		request, err := http.NewRequestWithContext(ctx, "GET", address, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		var metadata struct {
			Token      string `json:"token_endpoint"`
			Introspect string `json:"introspection_endpoint"`
			Authorize  string `json:"authorization_endpoint"`
		}
		err = json.NewDecoder(answer.Body).Decode(&metadata)
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK && err == nil && metadata.Token != "" {
			t.token = first(t.token, metadata.Token)
			t.introspect = first(t.introspect, metadata.Introspect)
			t.authorize = first(t.authorize, metadata.Authorize)
			return nil
		}
	}
	return fmt.Errorf("%s has no metadata: set --token-url, --introspect-url and --authorize-url", issuer)
}

func first(said, found string) string {
	if said != "" {
		return said
	}
	return found
}

// proof returns the credentials of a client: a header, or fields of the form.
func (t *target) proof(c client) (header, fields string) {
	// RFC 6749 §2.3.1: both are form-encoded before they become user name and password.
	id, secret := url.QueryEscape(c.ID), url.QueryEscape(c.Secret)
	if t.inBody {
		return "", "&client_id=" + id + "&client_secret=" + secret
	}
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret)) + "\r\n", ""
}
