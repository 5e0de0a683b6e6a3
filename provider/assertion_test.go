package provider

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/authorize"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/device"
	"mandate/provider/dpop"
	"mandate/provider/jose"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
)

// keyed is an application that authenticates by private_key_jwt.
type keyed struct {
	*clients.Registered
	f   *fixture
	key crypto.Signer
}

// keyed registers an application with a key, which may use every grant, with these changes.
func (f *fixture) keyed(changes ...func(*clients.Registration)) keyed {
	f.t.Helper()
	key, err := jose.Generate("EC")
	if err != nil {
		f.t.Fatal(err)
	}
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		f.t.Fatal(err)
	}
	set, err := json.Marshal(jose.JWKSet{Keys: []jose.JWK{public}})
	if err != nil {
		f.t.Fatal(err)
	}
	app := f.app(append([]func(*clients.Registration){grants(policy.GrantNames()...), func(r *clients.Registration) {
		r.Authentication.Method, r.Authentication.JWKS = clientauth.MethodPrivateKey, string(set)
	}}, changes...)...)
	return keyed{app, f, key}
}

// assertion returns a good assertion, but for these claims.
func (k keyed) assertion(claims map[string]any) string {
	k.f.t.Helper()
	id, now := k.Application.ClientID, oauth.Now()
	all := map[string]any{"iss": id, "sub": id, "aud": k.f.config.Issuer, "exp": now + 60, "jti": seal.Random(16)}
	maps.Copy(all, claims)
	text, err := jose.Sign("ES256", "JWT", "", k.key, all)
	if err != nil {
		k.f.t.Fatal(err)
	}
	return text
}

// at returns a request to an endpoint, with an assertion.
func (k keyed) at(endpoint, assertion string, pairs ...string) *http.Request {
	form := values(append([]string{"client_assertion_type", clientauth.AssertionType, "client_assertion", assertion},
		pairs...)...)
	r := httptest.NewRequest(http.MethodPost, "https://auth.example/o/"+endpoint+"/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// send sends a request to one of the endpoints at which a client authenticates.
func (f *fixture) send(endpoint string, r *http.Request) error {
	f.t.Helper()
	return f.sendIn(f.t.Context(), endpoint, r)
}

func (f *fixture) sendIn(ctx context.Context, endpoint string, r *http.Request) error {
	f.t.Helper()
	const address = "192.0.2.1"
	r.URL.Path = "/o/" + endpoint + "/"
	var err error
	switch endpoint {
	case "token":
		_, _, err = f.Grants.Token(ctx, r, address)
	case "par":
		_, _, err = f.Authorizations.Push(ctx, r, address)
	case "introspect":
		_, _, err = f.Tokens.Introspect(ctx, r, address)
	case "revoke_token":
		_, err = f.Tokens.Revoke(ctx, r, address)
	case "device_authorization":
		_, _, err = f.Devices.Authorize(ctx, r, device.Origin{Address: address})
	case "userinfo":
		_, _, err = f.Tokens.UserInfo(ctx, r, address)
	default:
		f.t.Fatal("there is no endpoint", endpoint)
	}
	return err
}

// Whoever sees a failed request, such as in a log, has its assertion and its proof. They must not work
// for another request.
//
// Resembles CVE-2020-15222 (fosite) and CVE-2020-5300 (Hydra), where the jti of an assertion was not kept.
func TestAttackAssertionOfAFailedRequest(t *testing.T) {
	f := begin(t)
	only := f.keyed(grants(policy.GrantClient))
	all := f.keyed(introspects)
	suspended := f.keyed()
	for _, test := range []struct {
		name, endpoint, want string
		app                  keyed
		pairs                []string
	}{
		{"an unknown code", "token", "400 invalid_grant", all,
			[]string{"grant_type", policy.GrantCode, "code", "mac_unknown"}},
		{"no code", "token", "400 invalid_request", all, []string{"grant_type", policy.GrantCode}},
		{"an unknown refresh token", "token", "400 invalid_grant", all,
			[]string{"grant_type", policy.GrantRefresh, "refresh_token", "mrt_unknown"}},
		{"an unknown device code", "token", "400 invalid_grant", all,
			[]string{"grant_type", policy.GrantDevice, "device_code", "mdc_unknown"}},
		{"no device code", "token", "400 invalid_request", all, []string{"grant_type", policy.GrantDevice}},
		{"no username", "token", "400 invalid_request", all, []string{"grant_type", policy.GrantPassword}},
		{"a wrong password", "token", "400 invalid_grant", all,
			[]string{"grant_type", policy.GrantPassword, "username", "nobody", "password", "wrong"}},
		{"an unknown scope", "token", "400 invalid_scope", all,
			[]string{"grant_type", policy.GrantClient, "scope", "unknown"}},
		{"an unknown resource", "token", "400 invalid_target", all,
			[]string{"grant_type", policy.GrantClient, "resource", "https://unknown.example/"}},
		{"a grant that is not registered", "token", "400 unauthorized_client", only,
			[]string{"grant_type", policy.GrantCode, "code", "mac_unknown"}},
		{"an unknown grant type", "token", "400 unsupported_grant_type", all, []string{"grant_type", "unknown"}},
		{"no grant type", "token", "400 invalid_request", all, nil},
		{"a wrong redirect URI", "par", "400 invalid_request", all,
			[]string{"client_id", all.Application.ClientID, "response_type", "code", "redirect_uri", "https://other.example/"}},
		{"a request URI", "par", "400 invalid_request", all, []string{"request_uri", "urn:x"}},
		{"a wrong request object", "par", "400 invalid_request_object", all, []string{"request", "x"}},
		{"no token to introspect", "introspect", "400 invalid_request", all, nil},
		{"no permission to introspect", "introspect", "403 unauthorized_client", only, []string{"token", "x"}},
		{"no token to revoke", "revoke_token", "400 invalid_request", all, nil},
		{"no grant type for devices", "device_authorization", "400 unauthorized_client", only, nil},
		{"an unknown scope of a device", "device_authorization", "400 invalid_scope", all, []string{"scope", "unknown"}},
	} {
		assertion := test.app.assertion(nil)
		wantKind(t, test.name, f.send(test.endpoint, test.app.at(test.endpoint, assertion, test.pairs...)), test.want)
		wantUsed(t, test.name, f.send("token", test.app.at("token", assertion, "grant_type", policy.GrantClient)))
		wantKind(t, test.name+": a new assertion",
			f.send("token", test.app.at("token", test.app.assertion(nil), "grant_type", policy.GrantClient)), "no error")
	}
	t.Run("an application that is suspended", func(t *testing.T) {
		owner := f.person("owner")
		f.sql(fmt.Sprintf("UPDATE applications SET responsible = 'owner', owner_id = '%s' WHERE id = '%s'", owner.ID,
			suspended.Application.ID),
			"UPDATE users SET active = FALSE WHERE id = '"+owner.ID+"'")
		for _, endpoint := range []string{"token", "par", "introspect", "revoke_token", "device_authorization"} {
			f.sql("UPDATE users SET active = FALSE WHERE id = '" + owner.ID + "'")
			assertion := suspended.assertion(nil)
			wantKind(t, endpoint, f.send(endpoint, suspended.at(endpoint, assertion, "grant_type", policy.GrantClient)),
				"401 invalid_client")
			f.sql("UPDATE users SET active = TRUE WHERE id = '" + owner.ID + "'")
			wantUsed(t, endpoint, f.send("revoke_token", suspended.at("revoke_token", assertion, "token", "x")))
		}
	})
	t.Run("a request whose client has gone", func(t *testing.T) {
		assertion := all.assertion(nil)
		r := all.at("token", assertion, "grant_type", policy.GrantCode)
		wantKind(t, "the form", r.ParseForm(), "no error")
		ctx, leave := context.WithCancel(t.Context())
		by, err := f.Clients.Present(ctx, r, r.PostForm)
		wantKind(t, "the authentication", err, "no error")
		leave()
		err = f.Clients.UseFailed(ctx, by, context.Canceled, f.Proofs, dpop.Proof{})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wantUsed(t, "gone", f.send("token", all.at("token", assertion, "grant_type", policy.GrantClient)))
	})
}

// leaves sends a request whose client breaks the connection when a statement begins.
func (f *fixture) leaves(name, begun, endpoint string, r *http.Request) {
	f.t.Helper()
	ctx, leave := context.WithCancel(f.t.Context())
	defer leave()
	f.store.Trace(func(ctx context.Context, statement string) (context.Context, func(error)) {
		if strings.Contains(statement, begun) {
			leave()
		}
		return ctx, func(error) {}
	})
	defer f.store.Trace(nil)
	if err := f.sendIn(ctx, endpoint, r); !errors.Is(err, context.Canceled) {
		f.t.Errorf("%s: the client has left, and the result is %v", name, err)
	}
}

// A client that breaks the connection while its assertion is stored has used it.
//
// Resembles CVE-2020-15222 (fosite): the jti of an assertion was not remembered. OIDC Core §9: an assertion
// is used once, and whoever has seen the request has it.
func TestAttackAssertionOfAClientThatLeaves(t *testing.T) {
	f := begin(t)
	f.person("alice")
	app, signer := f.keyed(introspects), f.keyed(signed)
	at := f.login("alice")
	const storedWithToken = "a token for the client"
	code := func() string { return f.code(app.Registered, at) }
	redeem := func(code string) []string {
		return []string{"grant_type", policy.GrantCode, "code", code, "redirect_uri", callback, "code_verifier", verifier}
	}
	answer, _, err := f.Grants.Token(t.Context(), app.at("token", app.assertion(nil), redeem(code())...), "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	codes, _, err := f.Devices.Authorize(t.Context(), app.at("device_authorization", app.assertion(nil)),
		device.Origin{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, endpoint string
		app            keyed
		pairs          []string
	}{
		{storedWithToken, "token", app, []string{"grant_type", policy.GrantClient}},
		{"a signed token for the client", "token", signer, []string{"grant_type", policy.GrantClient}},
		{"a code", "token", app, redeem(code())},
		{"a refresh token", "token", app, []string{"grant_type", policy.GrantRefresh, "refresh_token", answer.RefreshToken}},
		{"a poll", "token", app, pollWith(codes)},
		{"a password", "token", app, []string{"grant_type", policy.GrantPassword, "username", "alice", "password",
			goodPassword}},
		{"a pushed request", "par", app, f.pushed(app.Registered)},
		{"an introspection", "introspect", app, []string{"token", "x"}},
		{"a revocation", "revoke_token", app, []string{"token", "x"}},
		{"a device", "device_authorization", app, nil},
	} {
		assertion := test.app.assertion(nil)
		begun := "INTO seen"
		if test.name == storedWithToken {
			begun = "TRANSACTION"
		}
		f.leaves(test.name, begun, test.endpoint, test.app.at(test.endpoint, assertion, test.pairs...))
		wantUsed(t, test.name, f.send("revoke_token", test.app.at("revoke_token", assertion, "token", "x")))
	}
}

// A client that breaks the connection while its proof is stored has used it.
//
// Resembles CVE-2020-15222 (fosite), for proofs (RFC 9449 §11.1).
func TestAttackProofOfAClientThatLeaves(t *testing.T) {
	f := begin(t, withOpenID)
	app, key := f.app(grants(policy.GrantNames()...)), newKey(t)
	at := f.login("alice")
	redeem := func() *http.Request {
		return by(app, "grant_type", policy.GrantCode, "code", f.code(app, at, "scope", "openid"), "redirect_uri", callback,
			"code_verifier", verifier)
	}
	answer, _, err := f.Grants.Token(t.Context(), proving(redeem(), f.proof(key, "token", nil)), "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	codes := f.asks(app)
	f.allow(codes, at)
	presents := func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, "https://auth.example/o/userinfo/", nil)
		r.Header.Set("Authorization", "DPoP "+answer.AccessToken)
		return r
	}
	for _, test := range []struct {
		name, endpoint string
		more           map[string]any
		one, other     *http.Request
	}{
		{"a code", "token", nil, redeem(), redeem()},
		{"a refresh token", "token", nil, by(app, "grant_type", policy.GrantRefresh, "refresh_token", answer.RefreshToken),
			redeem()},
		{"a token for the client", "token", nil, by(app, "grant_type", policy.GrantClient), redeem()},
		{"a password", "token", nil, by(app, "grant_type", policy.GrantPassword, "username", "alice", "password",
			goodPassword), redeem()},
		{"a device code", "token", nil, by(app, pollWith(codes)...), redeem()},
		{"a pushed request", "par", nil, by(app, f.pushed(app)...), by(app, f.pushed(app)...)},
		{"UserInfo", "userinfo", map[string]any{"ath": dpop.TokenHash(answer.AccessToken)}, presents(), presents()},
	} {
		proof := f.proof(key, test.endpoint, test.more)
		f.leaves(test.name, "INTO seen", test.endpoint, proving(test.one, proof))
		wantReplay(t, test.name, f.send(test.endpoint, proving(test.other, proof)))
	}
}

// A request that the database has failed may have used its assertion itself: it must not be told that
// somebody else has.
func TestFailureOfTheDatabaseIsNoReplay(t *testing.T) {
	f := begin(t)
	app := f.keyed()
	r := app.at("token", app.assertion(nil), "grant_type", policy.GrantClient)
	wantKind(t, "the form", r.ParseForm(), "no error")
	fails := func(failed error) error {
		by, err := f.Clients.Present(t.Context(), r, r.PostForm)
		wantKind(t, "the authentication", err, "no error")
		return f.Clients.UseFailed(t.Context(), by, failed, f.Proofs, dpop.Proof{})
	}
	wantKind(t, "the first", fails(oauth.Refuse("invalid_grant", "No.")), "400 invalid_grant")
	wantKind(t, "one that fails", fails(oauth.Unavailable(errors.New("no database"))), "503 temporarily_unavailable")
	wantUsed(t, "one that is refused", fails(oauth.Refuse("invalid_grant", "No.")))
}

// The proof of a failed request is used too.
//
// Resembles CVE-2020-15222 (fosite), for proofs. RFC 9449 §11.1: whoever has seen one could otherwise use
// it with a stolen refresh token.
func TestAttackProofOfAFailedRequest(t *testing.T) {
	f := begin(t)
	confidential, anybody := f.app(), f.app(public)
	f.person("alice")
	for _, app := range []*clients.Registered{confidential, anybody} {
		id := app.Application.ClientID
		for name, pairs := range map[string][]string{
			"an unknown code":          {"grant_type", policy.GrantCode, "code", "mac_unknown"},
			"an unknown refresh token": {"grant_type", policy.GrantRefresh, "refresh_token", "mrt_unknown"},
			"a wrong password":         {"grant_type", policy.GrantPassword, "username", "nobody", "password", "wrong"},
		} {
			key := newKey(t)
			proof := f.proof(key, "token", nil)
			wantKind(t, name, f.send("token", proving(by(app, pairs...), proof)), "400 invalid_grant")
			again := f.send("token",
				proving(by(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword), proof))
			wantKind(t, name+": the proof again, by "+id, again, "400 invalid_dpop_proof")
		}
		key := newKey(t)
		proof := f.proof(key, "par", nil)
		wantKind(t, "a push",
			f.send("par", proving(by(app, "client_id", id, "response_type", "token", "redirect_uri", callback), proof)),
			"400 unsupported_response_type")
		wantKind(t, "the proof of a push again", f.send("par", proving(by(app, f.pushed(app)...), proof)),
			"400 invalid_dpop_proof")
		wantKind(t, "another proof", f.send("par", proving(by(app, f.pushed(app)...), f.proof(key, "par", nil))), "no error")
	}
}

// Everybody knows the client id of a public application. One network cannot fill the database with
// the proofs of failed requests.
func TestAttackProofsOfFailedRequestsAreBounded(t *testing.T) {
	f := begin(t)
	app, key := f.app(public), newKey(t)
	const most = 300
	began := time.Now()
	for range most + 20 {
		wantKind(t, "an unknown code",
			f.send("token", proving(by(app, "grant_type", policy.GrantCode, "code", "mac_unknown"), f.proof(key, "token", nil))),
			"400 invalid_grant")
	}
	// Five come back each second.
	back := int(5*time.Since(began).Seconds()) + 1
	if n := f.count("seen"); n < most || n > most+back {
		t.Errorf("%d proofs are stored", n)
	}
}

// RFC 9449 §8: a client repeats a request with the nonce of the server, and with the same assertion.
func TestAssertionOutlivesTheDemandForANonce(t *testing.T) {
	f := begin(t, func(c *Config) { c.Proofs.RequireNonce = true })
	app := f.keyed()
	good := map[string][]string{
		"token": {"grant_type", policy.GrantClient},
		"par":   f.pushed(app.Registered),
	}
	for endpoint, pairs := range good {
		assertion, key := app.assertion(nil), newKey(t)
		for range 2 {
			wantKind(t, endpoint+" without a nonce",
				f.send(endpoint, proving(app.at(endpoint, assertion, pairs...), f.proof(key, endpoint, nil))), "400 use_dpop_nonce")
		}
		nonce := map[string]any{"nonce": f.Proofs.Nonce()}
		wantKind(t, endpoint+" with one",
			f.send(endpoint, proving(app.at(endpoint, assertion, pairs...), f.proof(key, endpoint, nonce))), "no error")
		wantUsed(t, endpoint, f.send(endpoint, proving(app.at(endpoint, assertion, pairs...), f.proof(key, endpoint, nonce))))
	}
	// Another mistake of the proof is no demand for a nonce.
	assertion := app.assertion(nil)
	wantKind(t, "no JWT", f.send("token", proving(app.at("token", assertion, good["token"]...), "x")),
		"400 invalid_dpop_proof")
	wantUsed(t, "no JWT", f.send("token", app.at("token", assertion, good["token"]...)))
}

// A request that stores nothing is no reason to say that an assertion was used: a failure of the
// database is one.
func TestAssertionOfAFailedRequestNeedsTheDatabase(t *testing.T) {
	f := begin(t)
	app := f.keyed()
	assertion := app.assertion(nil)
	f.sql("ALTER TABLE seen RENAME TO gone")
	for name, pairs := range map[string][]string{"an unknown code": {"grant_type", policy.GrantCode, "code",
		"mac_unknown"}, "an unknown grant": {"grant_type", "unknown"}} {
		wantKind(t, name, f.send("token", app.at("token", assertion, pairs...)), "503 temporarily_unavailable")
	}
}

// pushed returns a good pushed request of an application.
func (f *fixture) pushed(app *clients.Registered) []string {
	var pairs []string
	for name, all := range f.query(app) {
		pairs = append(pairs, name, all[0])
	}
	return pairs
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := jose.Generate("EC")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// proof returns a good proof for an endpoint, with more claims.
func (f *fixture) proof(key crypto.Signer, endpoint string, more map[string]any) string {
	f.t.Helper()
	claims := map[string]any{"jti": seal.Random(16), "htm": http.MethodPost, "htu": f.config.Issuer + "/" + endpoint + "/"}
	maps.Copy(claims, more)
	text, err := dpop.Make("ES256", key, claims)
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// proving adds a proof to a request to an endpoint.
func proving(r *http.Request, proof string) *http.Request {
	r.Header.Set("DPoP", proof)
	return r
}

func wantKind(t *testing.T, name string, err error, want string) {
	t.Helper()
	if got := kind(err); got != want {
		t.Errorf("%s: %s (%v), want %s", name, got, err, want)
	}
}

// wantUsed checks that a request was refused because its assertion was used before.
func wantUsed(t *testing.T, name string, err error) {
	t.Helper()
	if kind(err) != "401 invalid_client" || !strings.Contains(err.Error(), "jti was used already") {
		t.Errorf("%s: the assertion again: %v", name, err)
	}
}

// Anybody can register keys, or send a request object with the client id of anybody. One network cannot
// make the server verify signatures without an end.
func TestAttackSignaturesWithoutALimit(t *testing.T) {
	synctest.Test(t, signaturesWithoutALimit) // so that no try comes back meanwhile
}

func signaturesWithoutALimit(t *testing.T) {
	f := begin(t, func(c *Config) { c.Open.Clients = []string{clients.OpenRegistration} })
	stranger, trusted := f.keyed(grants(policy.GrantCode)), f.keyed(grants(policy.GrantCode, policy.GrantClient))
	f.strange(stranger.Registered)
	other := newKey(t)
	network, kid := "192.0.2.1", ""
	signed := func(by keyed, key crypto.Signer) string {
		text, err := jose.Sign("ES256", "oauth-authz-req+jwt", kid, key,
			map[string]any{"iss": by.Application.ClientID, "client_id": by.Application.ClientID, "aud": f.config.Issuer,
				"response_type": "code",
				"redirect_uri":  callback, "code_challenge": challenge, "code_challenge_method": "S256", "exp": oauth.Now() + 60})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	object := func(by keyed, key crypto.Signer) error {
		a, err := f.Authorizations.Authorize(authorize.FromBrowser(t.Context(), network, ""),
			values("client_id", by.Application.ClientID, "request", signed(by, key), "redirect_uri", callback,
				"response_type", "code"))
		if err == nil && a.Refused != nil {
			return a.Refused
		}
		return err
	}
	push := func(by keyed) error {
		_, _, err := f.Authorizations.Push(t.Context(), by.at("par", by.assertion(nil), "request", signed(by, by.key)),
			network)
		return err
	}
	assertion := func(by keyed, key crypto.Signer) error {
		by.key = key
		return f.send("token", by.at("token", by.assertion(nil), "grant_type", policy.GrantCode, "code", "mac_unknown"))
	}
	reaches := func(what string, most int, try func() error, want string) {
		t.Helper()
		for n := range most + 1 {
			got := kind(try())
			if got == "429 temporarily_unavailable" && n > most/2 {
				return
			}
			if got != want {
				t.Fatalf("%s, try %d: %s, want %s", what, n, got, want)
			}
		}
		t.Errorf("%s: no limit after %d tries", what, most)
	}
	wantKind(t, "control: an object", object(stranger, stranger.key), "no error")
	wantKind(t, "control: a trusted object", object(trusted, trusted.key), "no error")
	reaches("assertions of a stranger", limits.Of(limits.OfAssertion).Tries,
		func() error { return assertion(stranger, stranger.key) }, "400 invalid_grant")
	wantKind(t, "its objects are counted apart", object(stranger, stranger.key), "no error")
	reaches("objects of a stranger", limits.Of(limits.OfAssertion).Tries,
		func() error { return object(stranger, stranger.key) }, "no error")
	reaches("wrong objects", limits.Of(limits.OfAddress).Tries, func() error { return object(trusted, other) },
		"400 invalid_request_object")
	// A right object is refused too: so no other one was verified to find out that it is wrong.
	wantKind(t, "a right object from there", object(trusted, trusted.key), "429 temporarily_unavailable")
	// Who has authenticated does not wait because of neighbours.
	wantKind(t, "a right object that is pushed from there", push(trusted), "no error")
	network = "198.51.100.1"
	for range 2 * limits.Of(limits.OfAddress).Tries {
		wantKind(t, "a right object", object(trusted, trusted.key), "no error")
	}
	network, kid = "203.0.113.1", "unknown"
	reaches("objects of no key", limits.Of(limits.OfAddress).Tries, func() error { return object(trusted, trusted.key) },
		"400 invalid_request_object")
	wantKind(t, "a right assertion",
		f.send("token", trusted.at("token", trusted.assertion(nil), "grant_type", policy.GrantClient)), "no error")
}

// An application, or whoever has its refresh tokens, can use one twice as often as it likes. That is one
// row of the event log for each hour, and no row for each time.
func TestAttackEndlessReuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, s := f.app(), f.login("alice")
		const times = 7
		reuse := func() {
			t.Helper()
			first := f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword))
			next := f.must(f.refresh(app, first.RefreshToken))
			_, err := f.refresh(app, first.RefreshToken)
			wantKind(t, "a refresh token again", err, "400 invalid_grant")
			f.wantActive(false, next.AccessToken, next.RefreshToken)
			code := f.code(app, s)
			token := f.must(f.exchange(app, code))
			_, err = f.exchange(app, code)
			wantKind(t, "a code again", err, "400 invalid_grant")
			f.wantActive(false, token.AccessToken)
		}
		for range times {
			reuse()
		}
		check := func(rows, want int) {
			t.Helper()
			for _, detail := range []string{"refresh", "code"} {
				var n, sum int
				err := f.backDoor().QueryRow("SELECT COUNT(*), COALESCE(SUM(times), 0) FROM events WHERE kind = 'token.reused' "+
					"AND detail = ? AND person_name = 'alice' AND object_kind = 'application'", detail).Scan(&n, &sum)
				if err != nil || n != rows || sum != want {
					t.Errorf("%s: %d rows for %d times, want %d and %d (%v)", detail, n, sum, rows, want, err)
				}
			}
		}
		check(1, times)
		time.Sleep(time.Hour)
		reuse()
		check(2, times+1)
	})
}
