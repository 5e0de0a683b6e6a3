package provider

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/authorize"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/limits"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
	"mandate/provider/places"
	"mandate/provider/policy"
	"mandate/storage"
)

// An assertion by HMAC is a guess at the secret. Wrong ones reach a limit, and then a right one with a secret
// that a person chose tells nobody that it was right.
//
// Resembles guesses without a limit (CWE-307).
func TestAttackGuessesByAssertion(t *testing.T) {
	f := begin(t)
	secretJWT := func(r *clients.Registration) {
		r.Authentication.Method, r.HashClientSecret, r.ClientSecret = clientauth.MethodSecretJWT, false,
			"chosen by a person, and long enough"
	}
	app, made := f.app(secretJWT), f.app(secretJWT, func(r *clients.Registration) { r.ClientSecret = "" })
	try := func(app *clients.Registered, secret string) error {
		id, now := app.Application.ClientID, oauth.Now()
		text, err := jose.Sign(jose.HS256, "JWT", "", []byte(secret), map[string]any{
			"iss": id,
			"sub": id,
			"aud": f.config.Issuer,
			"exp": now + 60,
			"jti": rand.Text(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return f.send("token", keyed{Registered: app, f: f}.at("token", text, "grant_type", policy.GrantClient))
	}
	for _, app := range []*clients.Registered{app, made} {
		wantKind(t, "control", try(app, app.Secret), "no error")
		most := limits.Of(limits.OfClient).Tries
		for n := range 2 * most {
			got := kind(try(app, "wrong, but as long as the right one is"))
			if got == "429 temporarily_unavailable" {
				break
			}
			if got != "401 invalid_client" || n == 2*most-1 {
				t.Fatalf("guess %d: %s", n, got)
			}
		}
	}
	wantKind(t, "the secret that a person chose", try(app, app.Secret), "429 temporarily_unavailable")
	wantKind(t, "the secret that nobody can guess", try(made, made.Secret), "no error")
}

// The jti of one client blocks no assertion of another: it may be a counter.
func TestAssertionsOfTwoClientsWithOneJTI(t *testing.T) {
	f := begin(t)
	for _, app := range []keyed{f.keyed(), f.keyed()} {
		r := app.at("token", app.assertion(map[string]any{"jti": "1"}), "grant_type", policy.GrantClient)
		wantKind(t, app.Application.ClientID, f.send("token", r), "no error")
	}
}

// An application that somebody takes over while a person looks at the consent page is not overwritten by
// its metadata document.
func TestAttackDocumentOfAnApplicationThatWasTakenOver(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads)
	alice, bob := f.login("alice"), f.login("bob")
	app := site.serves("/c", `,"client_name":"Example"`)
	f.approved(t, app, alice)
	asked := f.ask(t, app, bob)
	a, err := f.Authorizations.Resume(t.Context(), asked.Ticket, bob)
	if err != nil || a.Refused != nil {
		t.Fatal(err, a.Refused)
	}
	row, err := f.Clients.Client(t.Context(), app.Application.ClientID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Clients.TakeOver(t.Context(), policy.Operator(), row.ID, f.version(row.ID))
	if err != nil {
		t.Fatal(err)
	}
	before, err := f.store.ApplicationByClientID(t.Context(), app.Application.ClientID)
	if err != nil {
		t.Fatal(err)
	}
	a.Application.RedirectURIs += "\nhttps://client.example/other"
	response, err := f.Authorizations.Approve(t.Context(), a, bob)
	if err != nil || queryOf(t, response.Location()).Get("error") != "access_denied" {
		t.Errorf("%v, %v", response.Location(), err)
	}
	after, err := f.store.ApplicationByClientID(t.Context(), app.Application.ClientID)
	if err != nil || after.RedirectURIs != before.RedirectURIs || after.Responsible != storage.ByOperator ||
		after.UpdatedAt != before.UpdatedAt {
		t.Errorf("%+v, %v", after, err)
	}
}

// A node that has read a document before its key changed does not put the old key back.
func TestNodeWithAnOlderDocument(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads)
	g, err := f.another(t, site)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(key crypto.Signer) *clients.Registered {
		return site.serves("/c", `,"token_endpoint_auth_method":"private_key_jwt","jwks":`+keySetOf(t, key, nil))
	}
	old, next := newKey(t), newKey(t)
	app := serve(old)
	alice := f.login("alice")
	f.approve(t, app, alice) // both nodes read the first document
	_ = g.authorize(app)
	h, err := f.another(t, site)
	if err != nil {
		t.Fatal(err)
	}
	serve(next)
	f.sql(fmt.Sprintf("UPDATE applications SET updated_at = %d", oauth.Now()+1))
	_ = h.authorize(app) // a node that has no copy stores the change
	g.forgetCopies()
	_ = g.authorize(app)
	row, err := g.store.ApplicationByClientID(t.Context(), app.Application.ClientID)
	public, wrong := jose.NewJWK(next.Public())
	if err != nil || wrong != nil || !strings.Contains(row.JWKS, public.ID) {
		t.Errorf("the row has the keys %s, want %s (%v, %v)", row.JWKS, public.ID, err, wrong)
	}
}

// keySetOf returns a key set with a key and, unless it is nil, a certificate for it.
func keySetOf(t *testing.T, key crypto.Signer, der []byte) string {
	t.Helper()
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if der != nil {
		public.Chain = []string{base64.StdEncoding.EncodeToString(der)}
	}
	set, err := json.Marshal(jose.JWKSet{Keys: []jose.JWK{public}})
	if err != nil {
		t.Fatal(err)
	}
	return string(set)
}

// CIMD-02 §8.2: a client whose document names its certificate pushes its first request with it.
func TestAttackDocumentPushesWithoutItsCertificate(t *testing.T) {
	site := newDocumentSite(t)
	f := begin(t, site.reads, func(c *Config) { c.ClientCertificates = true })
	issue := func(key crypto.Signer) *mtls.Certificate {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key.(*ecdsa.PrivateKey))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return &mtls.Certificate{Certificate: parsed}
	}
	key := newKey(t)
	own, other := issue(key), issue(newKey(t))
	app := site.serves(
		"/c", `,"token_endpoint_auth_method":"self_signed_tls_client_auth","jwks":`+keySetOf(t, key, own.Raw),
	)
	for name, test := range map[string]struct {
		shown *mtls.Certificate
		want  string
	}{"none": {nil, "401 invalid_client"}, "another": {other, "401 invalid_client"}, "its own": {own, "no error"}} {
		ctx := mtls.With(t.Context(), func() (*mtls.Certificate, error) { return test.shown, nil })
		r := post(f.query(app))
		r.URL.Path = "/o/par/"
		_, _, err := f.Authorizations.Push(ctx, r, "192.0.2.1")
		wantKind(t, name, err, test.want)
	}
}

// Whoever knows the client_id of a client with a certificate can send chains, and each is verified. The
// network that sends them gets no more verifications for this client, and nobody else notices.
//
// Resembles CVE-2018-16875 (crypto/x509: the verification of a chain keeps the processor busy).
func TestAttackWrongCertificatesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, strange := newKey(t), newKey(t)
		issue := func(by crypto.Signer, name string) *x509.Certificate {
			authority := &x509.Certificate{
				SerialNumber:          big.NewInt(1),
				Subject:               pkix.Name{CommonName: "Authority"},
				IsCA:                  true,
				BasicConstraintsValid: true,
				NotBefore:             time.Now(),
				NotAfter:              time.Now().Add(time.Hour),
			}
			made := authority
			if name != "" {
				made = &x509.Certificate{
					SerialNumber: big.NewInt(2),
					DNSNames:     []string{name},
					NotBefore:    time.Now(),
					NotAfter:     time.Now().Add(time.Hour),
					ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
				}
			}
			der, err := x509.CreateCertificate(rand.Reader, made, authority, by.Public(), by)
			if err == nil {
				made, err = x509.ParseCertificate(der)
			}
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		ours := x509.NewCertPool()
		ours.AddCert(issue(key, ""))
		f := begin(t, func(c *Config) { c.ClientCertificates, c.ClientAuthorities = true, ours })
		certified := func(r *clients.Registration) {
			r.GrantTypes, r.Authentication.Method, r.Authentication.CertificateSubject = []string{policy.GrantClient},
				clientauth.MethodCertificate, "tls_client_auth_san_dns=client.example"
		}
		one, other := f.app(certified), f.app(certified)
		present := func(app *clients.Registered, certificate *x509.Certificate, address string) error {
			shown := &mtls.Certificate{Certificate: certificate}
			ctx := mtls.With(t.Context(), func() (*mtls.Certificate, error) { return shown, nil })
			_, _, err := f.Grants.Token(ctx, post(values(
				"client_id", app.Application.ClientID, "grant_type", policy.GrantClient,
			)), address)
			return err
		}
		shows := func(app *clients.Registered, by crypto.Signer, address string) error {
			return present(app, issue(by, "client.example"), address)
		}
		for range 2 * limits.Of(limits.OfAddress).Tries { // those that are right use up nothing
			wantKind(t, "a right one", shows(one, key, athome), "no error")
		}
		for range limits.Of(limits.OfAddress).Tries {
			wantKind(t, "a wrong one", shows(one, strange, athome), "401 invalid_client")
		}
		if got := kind(shows(one, strange, athome)); !strings.HasPrefix(got, "429 ") {
			t.Error("one more:", got)
		}
		wantKind(t, "another client", shows(other, key, athome), "no error")
		wantKind(t, "another network", shows(one, key, abroad), "no error")
		attackFromTheSite(t, present, other, issue, key, strange)
	})
}

// attackFromTheSite uses up what the site of a client has. The client authenticates, in its network with a new
// certificate too. Elsewhere in the site, a certificate that nobody has seen has to wait.
func attackFromTheSite(
	t *testing.T,
	shows func(*clients.Registered, *x509.Certificate, string) error,
	client *clients.Registered,
	issue func(crypto.Signer, string) *x509.Certificate,
	ours, strange crypto.Signer,
) {
	t.Helper()
	const own, beside, strangers = "203.0.113.1", "203.0.113.2", "203.0.113.%d"
	usual := issue(ours, "client.example")
	wantKind(t, "before", shows(client, usual, own), "no error")
	wrong := issue(strange, "client.example")
	for i := range 10 * limits.Of(limits.OfAddress).Tries {
		if kind(shows(
			client, wrong, fmt.Sprintf(strangers, 10+i%10),
		))[:3] == "429" && i > 4*limits.Of(limits.OfAddress).Tries {
			break
		}
	}
	wantKind(t, "its certificate, beside", shows(client, usual, beside), "no error")
	wantKind(t, "a new certificate in its network", shows(client, issue(ours, "client.example"), own), "no error")
	if got := kind(shows(
		client, issue(ours, "client.example"), fmt.Sprintf(strangers, 99),
	)); !strings.HasPrefix(got, "429 ") {
		t.Error("control, a new certificate from elsewhere in the site:", got)
	}
	// What was verified for one client proves nothing for another name, and nothing after its end.
	wantKind(t, "another name", shows(client, issue(ours, "other.example"), own), "401 invalid_client")
	time.Sleep(2 * time.Hour)
	wantKind(t, "expired", shows(client, usual, own), "401 invalid_client")
}

// objectSite serves an object at every address, and hangs at those that begin with /hang.
func objectSite(t *testing.T) (web *httptest.Server, fetched func() int, arrived chan struct{}, goOn func()) {
	t.Helper()
	var mu sync.Mutex
	var once sync.Once
	n, done := 0, make(chan struct{})
	arrived, goOn = make(chan struct{}, 100), func() { once.Do(func() { close(done) }) }
	web = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		mu.Unlock()
		if len(r.URL.Path) > 5 && r.URL.Path[:5] == "/hang" {
			arrived <- struct{}{}
			<-done
		}
		w.Header().Set("Content-Type", "application/jwt")
		_, _ = w.Write([]byte("e30.e30.e30"))
	}))
	t.Cleanup(func() { goOn(); web.Close() })
	return web, func() int { mu.Lock(); defer mu.Unlock(); return n }, arrived, goOn
}

// reaches configures a provider that may read objects from a site.
func reaches(web *httptest.Server) func(*Config) {
	return func(c *Config) {
		(&documentSite{Server: web}).reads(c)
		c.Authorize.ObjectsByReference, c.Open.Clients = true, []string{clients.OpenRegistration}
	}
}

// RFC 9101 §10.4.1: the server calls no address that the client has not registered, not even one that it
// may call.
//
// Resembles CVE-2020-10770 (Keycloak): SSRF by request_uri.
func TestAttackRequestURIThatNobodyRegistered(t *testing.T) {
	web, fetched, _, _ := objectSite(t)
	f := begin(t, reaches(web))
	a := storage.Application{ClientID: "a", Responsible: storage.ByOperator, RequestURIs: web.URL + "/registered"}
	ctx := authorize.FromBrowser(t.Context(), "192.0.2.1", "")
	for _, uri := range []string{
		web.URL + "/other",
		web.URL + "/registered/",
		web.URL + "/registered?x",
		web.URL + "/Registered",
		web.URL + "/registered#x",
		web.URL,
	} {
		_, err := f.Clients.ObjectAt(ctx, a, uri)
		wantKind(t, uri, err, "400 invalid_request_uri")
	}
	if n := fetched(); n != 0 {
		t.Errorf("%d fetches", n)
	}
	object, err := f.Clients.ObjectAt(ctx, a, web.URL+"/registered")
	if err != nil || object == "" || fetched() != 1 {
		t.Errorf("the registered address: %v, %d fetches", err, fetched())
	}
}

// The request objects of strangers have places of their own, also after somebody has approved one of their
// applications. Those of the applications of people have others.
func TestAttackRequestObjectsOfStrangersTakeNoPlaces(t *testing.T) {
	mallory, yes, no := "mallory", true, false
	for name, attacker := range map[string]storage.Application{
		"stranger": {ClientID: "s", Responsible: storage.ByNobody, Origin: storage.FromRegistration, LastUsedAt: 1},
		"person": {
			ClientID:           "p",
			Responsible:        storage.ByOwner,
			OwnerID:            &mallory,
			OwnerActive:        &yes,
			OwnerAdministrator: &no,
		},
	} {
		t.Run(name, func(t *testing.T) { takesNoPlaces(t, attacker) })
	}
}

func takesNoPlaces(t *testing.T, attacker storage.Application) {
	web, _, arrived, goOn := objectSite(t)
	f := begin(t, reaches(web))
	ctx := authorize.FromBrowser(t.Context(), "192.0.2.1", "")
	var waiting sync.WaitGroup
	for i := range places.PerBoth { // from one host
		uri := fmt.Sprint(web.URL, "/hang", i)
		attacker.RequestURIs += uri + "\n"
		one := attacker
		waiting.Go(func() {
			_, err := f.Clients.ObjectAt(ctx, one, uri)
			if err != nil {
				t.Error(err)
			}
		})
		<-arrived
	}
	uri := web.URL + "/hang9"
	attacker.RequestURIs += uri
	_, err := f.Clients.ObjectAt(ctx, attacker, uri)
	if e, ok := errors.AsType[*oauth.Error](err); !ok || e.Status != http.StatusTooManyRequests {
		t.Errorf("control, one more of the attacker: %v", err)
	}
	trusted := storage.Application{ClientID: "t", Responsible: storage.ByOperator, RequestURIs: web.URL + "/good"}
	_, err = f.Clients.ObjectAt(ctx, trusted, web.URL+"/good")
	wantKind(t, "the object of an administrator's application", err, "no error")
	goOn()
	waiting.Wait()
}
