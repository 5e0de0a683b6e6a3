package grant

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/copies"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/throttle"
	"mandate/provider/tokens"
	"mandate/storage"
	"mandate/storage/storagetest"
)

// The example of RFC 7636 appendix B.
const (
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

const (
	key         = possession.Binding("jkt:one")
	otherKey    = possession.Binding("jkt:two")
	certificate = possession.Binding("x5t#S256:one")
)

// want checks the kind of an error, and a word of its description that no other error of the function has.
func want(t *testing.T, name string, err error, kind, word string) {
	t.Helper()
	if got := oauthtest.Kind(err); got != kind {
		t.Errorf("%s: %s, want %s (%v)", name, got, kind, err)
		return
	}
	if err != nil && !strings.Contains(err.Error(), word) {
		t.Errorf("%s: %q has no %q", name, err, word)
	}
}

func TestCheckCode(t *testing.T) {
	const uri = "https://app.example/callback"
	plain := storage.Grant{ApplicationID: "a", RedirectURI: uri, RedirectSent: true}
	unsent, bound := plain, plain
	unsent.RedirectSent = false
	bound.CodeChallenge = challenge
	for name, test := range map[string]struct {
		grant          storage.Grant
		client         string
		uri, verifier  string
		kind, mentions string
	}{
		"the same":                         {plain, "a", uri, "", "no error", ""},
		"another client":                   {plain, "b", uri, "", "400 invalid_grant", "another client"},
		"no redirect_uri":                  {plain, "a", "", "", "400 invalid_request", "redirect_uri is missing"},
		"it was not sent before":           {unsent, "a", "", "", "no error", ""},
		"another one":                      {plain, "a", uri + "/", "", "400 invalid_grant", "is not the one"},
		"another one, none before":         {unsent, "a", uri + "/", "", "400 invalid_grant", "is not the one"},
		"no redirect_uri with PKCE":        {bound, "a", "", verifier, "no error", ""},
		"another one with PKCE":            {bound, "a", uri + "/", verifier, "400 invalid_grant", "is not the one"},
		"no verifier":                      {bound, "a", uri, "", "400 invalid_grant", "code_verifier is missing"},
		"another verifier":                 {bound, "a", uri, challenge, "400 invalid_grant", "does not belong"},
		"a verifier and no challenge":      {plain, "a", uri, verifier, "400 invalid_grant", "no code_challenge"},
		"another client with its own PKCE": {bound, "b", uri, verifier, "400 invalid_grant", "another client"},
	} {
		err := checkCode(test.grant, storage.Application{ID: test.client}, test.uri, test.verifier)
		want(t, name, err, test.kind, test.mentions)
	}
}

func TestCheckKey(t *testing.T) {
	for name, test := range map[string]struct {
		bound          string
		shown          possession.Binding
		kind, mentions string
	}{
		"none":              {"", "", "no error", ""},
		"a key, none asked": {"", key, "no error", ""},
		"the same":          {"one", key, "no error", ""},
		"another key":       {"one", otherKey, "400 invalid_grant", "another key"},
		"no proof":          {"one", "", "400 invalid_grant", "send a DPoP proof"},
		"a certificate":     {"one", certificate, "400 invalid_grant", "send a DPoP proof"},
	} {
		want(t, name, checkKey(storage.Grant{DPoPKey: test.bound}, test.shown), test.kind, test.mentions)
	}
}

// RFC 9449 §5, RFC 8705 §4.
func TestCheckBinding(t *testing.T) {
	public, confidential := policy.Public, policy.Confidential
	for name, test := range map[string]struct {
		kind         string
		bound, shown possession.Binding
		want, word   string
	}{
		"a bearer token":                     {public, "", "", "no error", ""},
		"a bearer token with a proof":        {public, "", key, "no error", ""},
		"its key":                            {public, key, key, "no error", ""},
		"another key":                        {public, key, otherKey, "400 invalid_grant", "another key or certificate"},
		"no proof":                           {public, key, "", "400 invalid_grant", "sender-constrained"},
		"a certificate for a key":            {public, key, certificate, "400 invalid_grant", "sender-constrained"},
		"of any key of the client":           {confidential, "jkt", key, "no error", ""},
		"of any key of the client, no proof": {confidential, "jkt", "", "400 invalid_grant", "sender-constrained"},
		"of any key, and public now":         {public, "jkt", key, "400 invalid_grant", "while this client authenticated"},
	} {
		err := checkBinding(storage.Application{ClientType: test.kind}, test.bound, test.shown)
		want(t, name, err, test.want, test.word)
	}
}

func TestMayUse(t *testing.T) {
	operated := storage.Application{Responsible: storage.ByOperator, GrantTypes: policy.GrantCode}
	machine := storage.Application{Responsible: storage.ByOperator, GrantTypes: policy.GrantClient}
	owned := storage.Application{Responsible: storage.ByOwner, OwnerActive: new(true), GrantTypes: policy.GrantCode}
	for name, test := range map[string]struct {
		a          storage.Application
		grant      string
		kind, word string
	}{
		"registered": {operated, policy.GrantCode, "no error", ""},
		"not registered": {operated, policy.GrantDevice, "400 unauthorized_client",
			"for the grant type " + policy.GrantDevice + "."},
		"not for people": {owned, policy.GrantClient, "400 unauthorized_client", "an administrator is responsible"},
		"no refresh token at all": {machine, policy.GrantRefresh,
			"400 unauthorized_client", "gets no refresh tokens"},
	} {
		want(t, name, mayUse(test.a, test.grant), test.kind, test.word)
	}
}

// RFC 6749 §6: a request can narrow the scope, and never widen it.
func TestRequestedScope(t *testing.T) {
	for parameter, test := range map[string]struct {
		want []string
		kind string
	}{
		"":               {[]string{"read", "write"}, "no error"},
		"read":           {[]string{"read"}, "no error"},
		"write read":     {[]string{"write", "read"}, "no error"},
		"read admin":     {nil, "400 invalid_scope"},
		"admin":          {nil, "400 invalid_scope"},
		"read \"write\"": {nil, "400 invalid_scope"},
	} {
		got, err := requestedScope("read write", parameter)
		if oauthtest.Kind(err) != test.kind || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, %v", parameter, got, err)
		}
	}
}

// A trail says whether two requests ask for the same, whatever the order of the scopes, and reads as it was written.
func TestTrail(t *testing.T) {
	request := func(bound possession.Binding, scope ...string) trail {
		return newTrail(&renewal{Request: &Request{bound: bound}, scope: scope})
	}
	first := request(key, "read", "write")
	read, known := readTrail(first.String())
	if !known || read != first {
		t.Errorf("%+v is read as %+v, %t", first, read, known)
	}
	for name, test := range map[string]struct {
		second             trail
		sameScope, sameKey bool
	}{
		"the same":               {request(key, "write", "read", "read"), true, true},
		"another scope":          {request(key, "read"), false, true},
		"another key":            {request(otherKey, "read", "write"), true, false},
		"no key":                 {request("", "read", "write"), true, false},
		"one scope of two names": {request(key, "readwrite"), false, true},
	} {
		if (test.second.scope == first.scope) != test.sameScope || (test.second.bound == first.bound) != test.sameKey {
			t.Errorf("%s: %+v and %+v", name, first, test.second)
		}
		if test.second.salt == first.salt {
			t.Errorf("%s: the same salt", name)
		}
	}
	for _, stored := range []string{"", "x", first.String() + "x", first.String()[1:]} {
		if _, known := readTrail(stored); known {
			t.Errorf("%q is a trail", stored)
		}
	}
}

// Only what the caller handles stays as it is; every other error of the store is for the client.
func TestStoreError(t *testing.T) {
	if err := storeError(storage.ErrSpent); err != storage.ErrSpent {
		t.Error(err)
	}
	if err := storeError(nil); err != nil {
		t.Error(err)
	}
	if e, ok := errors.AsType[*oauth.Error](storeError(errors.New("disk full"))); !ok || e.Status < 500 {
		t.Error(e)
	}
}

// Whoever guesses passwords uses up the tries of the application, of its owner, and of the name: as much of it as
// nobody else can be kept out with.
func TestPasswordTries(t *testing.T) {
	active, administrator := new(true), new(true)
	for name, test := range map[string]struct {
		a    storage.Application
		want []string // kind and key
	}{
		"of the operator": {storage.Application{ID: "a", ClientType: policy.Confidential, Responsible: storage.ByOperator},
			[]string{"pair application a alice", "owner application a"}},
		"of an administrator": {storage.Application{ID: "a", ClientType: policy.Confidential, Responsible: storage.ByOwner,
			OwnerActive: active, OwnerAdministrator: administrator},
			[]string{"pair application a alice", "owner application a", "account token alice"}},
		"public, of the operator": {
			storage.Application{ID: "a", ClientType: policy.Public, Responsible: storage.ByOperator},
			[]string{"address network", "pair token alice", "account token alice"}},
		"of a person": {storage.Application{ID: "a", ClientType: policy.Confidential, Responsible: storage.ByOwner,
			OwnerActive: active, OwnerID: new("bob")},
			[]string{"address network", "pair token alice", "account token alice", "pair owner bob alice", "owner owner bob"}},
	} {
		kinds := map[int]string{limits.OfPair: "pair", limits.OfOwner: "owner", limits.OfAccount: "account",
			limits.OfAddress: "address"}
		var got []string
		for _, try := range passwordTries(test.a, "alice", "192.0.2.1") {
			key := try.Key
			switch {
			case try.Kind == limits.OfAddress:
				key = "network"
			case strings.HasPrefix(key, limits.AtProgram):
				key = "token alice"
				if !strings.HasPrefix(try.Key, limits.AtProgram+"alice") {
					t.Errorf("%s: the name is not in %q", name, try.Key)
				}
			}
			got = append(got, kinds[try.Kind]+" "+key)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	one := passwordTries(storage.Application{Responsible: storage.ByOperator}, "alice", "192.0.2.1")
	two := passwordTries(storage.Application{Responsible: storage.ByOperator}, "alice", "198.51.100.1")
	same := func(a, b throttle.Try) bool { return a.Kind == b.Kind && a.Key == b.Key }
	if same(one[0], two[0]) || same(one[1], two[1]) || !same(one[2], two[2]) {
		t.Errorf("from another network: %v and %v", one, two)
	}
}

// scopesFor leaves out what the application may no longer have.
func TestScopesFor(t *testing.T) {
	p := &Grants{rules: policy.New(policy.Settings{
		Scopes:        []policy.Scope{{Name: "read"}, {Name: "write"}, {Name: "gone"}},
		DefaultScopes: []string{policy.AllScopes},
	})}
	store, _ := storagetest.Open(t)
	apis, err := resources.New(resources.Config{Server: "https://id.example.org"}, p.rules, store, nil,
		copies.NewChanges(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	audience, err := apis.Granted(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	a := storage.Application{Responsible: storage.ByOperator, Scopes: "read write"}
	for granted, test := range map[string]struct {
		want string
		kind string
	}{
		"read write": {"read write", "no error"},
		"gone read":  {"read", "no error"},
		"gone":       {"", "400 invalid_grant"},
	} {
		got, err := p.scopesFor(a, audience, strings.Fields(granted))
		if strings.Join(got, " ") != test.want || oauthtest.Kind(err) != test.kind {
			t.Errorf("%s: %q, %v", granted, got, err)
		}
	}
}

func TestCounts(t *testing.T) {
	p := &Grants{}
	for _, answer := range []tokens.TokenResponse{{}, {RefreshToken: "r"}, {RefreshToken: "r", IDToken: "i"}} {
		p.issued.issue(&answer)
	}
	access, refresh, ids := p.Counts()
	if access != 3 || refresh != 2 || ids != 1 {
		t.Error(access, refresh, ids)
	}
}

// stored returns a database with a person, two applications, and a grant of the first one.
func stored(t *testing.T) (*Grants, storage.Grant, storage.Application) {
	t.Helper()
	store, _ := storagetest.Open(t)
	at, code := oauth.Now(), "code"
	a := storage.Application{ID: "a", ClientID: "client", Name: "A", ClientType: policy.Confidential,
		Responsible: storage.ByOperator, GrantTypes: policy.GrantCode, CreatedAt: at, UpdatedAt: at}
	other := a
	other.ID, other.ClientID = "b", "other"
	grant := storage.Grant{ID: "g", GrantType: policy.GrantCode, ApplicationID: a.ID, UserID: "u", Scope: "read",
		CreatedAt: at, ExpiresAt: at + 60, CodeDigest: &code, CodeExpiresAt: at + 60, AuthTime: at}
	err := store.AddUser(t.Context(), storage.User{ID: "u", Username: "alice", UsernameKey: "alice", Active: true,
		Password: "hash"}, nil)
	for _, one := range []storage.Application{a, other} {
		if err == nil {
			err = store.AddApplication(t.Context(), one, 0)
		}
	}
	if err == nil {
		err = store.AddGrantWithTokens(t.Context(), grant, nil, "hash")
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Grants{store: store, log: slog.New(slog.DiscardHandler), rules: policy.New(policy.Settings{})}, grant, a
}

// A code of one grant type does not work for another.
func TestGrantOf(t *testing.T) {
	p, grant, _ := stored(t)
	got, err := p.grantOf(t.Context(), policy.GrantCode, *grant.CodeDigest)
	if err != nil || got.ID != grant.ID {
		t.Error(got.ID, err)
	}
	for kind, digest := range map[string]string{policy.GrantDevice: *grant.CodeDigest, policy.GrantCode: "unknown"} {
		_, err := p.grantOf(t.Context(), kind, digest)
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s %s: %v", kind, digest, err)
		}
	}
}

// RFC 9700 §4.14.2: a refresh token that was used before, after the grace period, revokes its family. The event log
// says so.
func TestUsedBefore(t *testing.T) {
	p, grant, a := stored(t)
	token := storage.RefreshToken{Grant: grant, Username: "alice"}
	token.UsedAt, token.Successor = new(oauth.Now()-1), new("a successor")
	g := &refreshGrant{p}
	want(t, "reuse", g.usedBefore(t.Context(), &renewal{Request: &Request{Client: &a}, token: token}),
		"400 invalid_grant", "have been revoked")
	_, err := p.grantOf(t.Context(), policy.GrantCode, *grant.CodeDigest)
	if !errors.Is(err, storage.ErrNotFound) {
		t.Error("the family is not revoked:", err)
	}
	logged, err := p.store.Events(t.Context(), storage.EventFilter{}, 10)
	if err != nil || !slices.ContainsFunc(logged, func(e storage.Event) bool { return e.Detail == "refresh" }) {
		t.Errorf("the log has %v, %v", logged, err)
	}
}

// RFC 8628 §3.5: what a device learns about a code without a grant.
func TestWithoutGrant(t *testing.T) {
	p, _, a := stored(t)
	at := oauth.Now()
	device := storage.Device{ApplicationID: a.ID, Scope: "read", State: storage.DevicePending, Interval: 5,
		CreatedAt: at, ExpiresAt: at + 300 + storage.ExpiredDeviceLife}
	for _, one := range []string{"pending", "denied", "expired"} {
		d := device
		d.Digest, d.UserCode = one, one
		if one == "expired" {
			d.ExpiresAt = at + storage.ExpiredDeviceLife
		}
		err := p.store.AddDevice(t.Context(), d, 0, 0)
		if err == nil && one == "denied" {
			err = p.store.DenyDevice(t.Context(), one, at)
		}
		if err != nil {
			t.Fatal(one, err)
		}
	}
	other := a
	other.ID = "b"
	for name, test := range map[string]struct {
		digest     string
		client     storage.Application
		kind, word string
	}{
		"unknown":           {"unknown", a, "400 invalid_grant", "unknown, or was issued"},
		"of another client": {"denied", other, "400 invalid_grant", "unknown, or was issued"},
		"denied":            {"denied", a, "400 access_denied", "denied"},
		"expired":           {"expired", a, "400 expired_token", "expired"},
		"revoked meanwhile": {"pending", a, "400 invalid_grant", "approval has ended"},
	} {
		want(t, name, (&deviceGrant{p}).withoutGrant(t.Context(), test.client, test.digest), test.kind, test.word)
	}
}
