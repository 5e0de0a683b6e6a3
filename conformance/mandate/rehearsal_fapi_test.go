package mandate

import (
	"crypto/tls"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A rehearsal of the OpenID Foundation's plans for authorization servers,
// fapi2-security-profile-final-test-plan and fapi2-message-signing-final-test-plan. A test has the
// name of the module that it rehearses, without its prefix. Where the plans accept several errors,
// the tests require the one of this server.

// variant is a choice of the parameters of the plans.
type variant struct {
	name   string
	method string // client_auth_type: an authentication method of an application
	bound  string // sender_constrain: dpop or certificate
	openid bool   // openid: openid_connect, not plain_oauth
	signed bool   // fapi_request_method=signed_non_repudiation and fapi_response_mode=jarm
}

var (
	keyDPoP = variant{"private_key_jwt and DPoP", "private_key_jwt", "dpop", true, false}
	ownMTLS = variant{"self_signed_tls_client_auth and mTLS", "self_signed_tls_client_auth", "certificate",
		true, false}
	messageDPoP = variant{"private_key_jwt and DPoP, JAR and JARM", "private_key_jwt", "dpop", true, true}
	messageMTLS = variant{"tls_client_auth and mTLS, JAR and JARM", "tls_client_auth", "certificate", false, true}

	variants = []variant{keyDPoP, ownMTLS, messageDPoP, messageMTLS,
		{"private_key_jwt and DPoP, plain OAuth", "private_key_jwt", "dpop", false, false},
		{"private_key_jwt and mTLS", "private_key_jwt", "certificate", true, false},
		{"tls_client_auth and mTLS", "tls_client_auth", "certificate", true, false},
		{"tls_client_auth and DPoP", "tls_client_auth", "dpop", false, false},
		{"self_signed_tls_client_auth and mTLS, plain OAuth", "self_signed_tls_client_auth", "certificate", false, false},
	}
)

// rehearsal is a server with TLS, a listener for certificates, the sample API and one person.
type rehearsal struct {
	*server
	mutual string // the URL of the listener for certificates
	ours   *issuer
	alice  person
}

// pushLife is for how many seconds a pushed request can be opened. It is not the default.
const pushLife = 75

func newRehearsal(t testing.TB, db database, settings ...string) *rehearsal {
	t.Helper()
	ownProcesses(t)
	ours := newIssuer(t)
	s, mutual := withCertificates(t, db, ours, append(settings, "SAMPLE_API: true", "TRUSTED_PROXIES: [127.0.0.1]",
		"OAUTH2_PROVIDER: {OIDC_ENABLED: true, "+openidScopes+", RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0, "+
			"PUSHED_REQUEST_EXPIRE_SECONDS: "+strconv.Itoa(pushLife)+"}")...)
	return &rehearsal{s, mutual, ours, s.somebody(t, "alice")}
}

// party is a client of the plans.
type party struct {
	keyHolder
	variant
	rehearsal   *rehearsal
	at          *server          // the server at the address and with the certificate that the client uses
	certificate *tls.Certificate // nil: it has none
	proves      *holder          // nil: its tokens are not bound to a key
	person      *browser
	scope       string
}

// party registers a client. args are more flags. The plans register the second client with a query
// in its redirect URI.
func (r *rehearsal) party(t testing.TB, v variant, name, redirect string, args ...string) *party {
	t.Helper()
	p := &party{variant: v, rehearsal: r, at: r.server, scope: "read write",
		keyHolder: keyHolder{keys: newStatementIssuer(t, name)}}
	if v.openid {
		p.scope = "openid email read"
	}
	profile := "fapi2"
	if v.signed {
		profile = "fapi2-message-signing"
	}
	set := p.keys.keySet(t)
	flags := []string{"--name", name, "--grant", "authorization_code", "--redirect-uri", redirect, "--profile", profile,
		"--sender-constraint", v.bound, "--may-introspect"}
	if v.method != "private_key_jwt" || v.bound == "certificate" {
		own := r.ours.client(t, name+".example")
		if v.method == "self_signed_tls_client_auth" {
			own = selfSigned(t, name+".example")
			set = setOf(t, certificateKey(t, own, "certificate"))
		}
		p.certificate, p.at = &own, r.reached(r.mutual, &own)
	}
	if v.method == "tls_client_auth" {
		flags = append(flags, "--certificate-subject", "san_dns="+name+".example")
	} else {
		flags = append(flags, "--auth-method", v.method)
	}
	if v.bound == "dpop" {
		p.proves = newHolder(t)
	}
	p.application = r.application(t, append(append(flags, "--jwks", keysFile(t, set)), args...)...)
	p.person = r.signedIn(t, r.alice)
	return p
}

// pair registers the two clients that each plan needs, with keys and certificates of their own.
func (r *rehearsal) pair(t testing.TB, v variant) (*party, *party) {
	t.Helper()
	return r.party(t, v, "first", "https://suite.example/test/a/mandate/callback"),
		r.party(t, v, "second", "https://suite.example/test/a/mandate/callback?"+dummy)
}

const dummy = "dummy1=lorem&dummy2=ipsum"

// reached returns the server at another address of it, to clients with this certificate.
func (r *rehearsal) reached(address string, certificate *tls.Certificate) *server {
	config := r.options.tls.Clone()
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	return &server{URL: address, BaseURL: r.BaseURL, Issuer: r.Issuer, dir: r.dir, config: r.config, secrets: r.secrets,
		options: r.options,
		client: &http.Client{Timeout: time.Minute,
			Transport:     &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// authenticates authenticates the client. claims and header change its assertion.
func (p *party) authenticates(t testing.TB, claims, header member) auth {
	if p.method == "private_key_jwt" {
		return asserting(p.at.assert(t, p.keyHolder, claims, header))
	}
	return p.auth()
}

// as authenticates the client, and proves its key.
func (p *party) as(t testing.TB) auth { return p.proving(t, p.authenticates(t, nil, nil)) }

// proving adds what the tokens of the client are bound to. Its connection has the certificate.
func (p *party) proving(t testing.TB, as auth) auth {
	if p.proves == nil {
		return as
	}
	return p.proves.proving(t, as)
}

// asks returns the parameters of a good request, and the verifier. more replaces parameters.
func (p *party) asks(t testing.TB, more ...string) (url.Values, string) {
	t.Helper()
	usual := []string{"scope", p.scope, "state", "the state"}
	if p.openid {
		usual = append(usual, "nonce", "the nonce")
	}
	form, verifier := p.rehearsal.requestFor(t, p.application, usual...)
	if p.signed {
		form.Set("response_mode", "jwt")
	}
	return with(form, more...), verifier
}

// encloses puts the parameters into a request object, if the plan signs requests.
func (p *party) encloses(t testing.TB, form url.Values) url.Values {
	t.Helper()
	if !p.signed {
		return form
	}
	return params("request", p.at.object(t, p.keyHolder, form, nil, nil))
}

// pushes pushes a request.
func (p *party) pushes(t testing.TB, as auth, form url.Values) answer {
	t.Helper()
	return p.at.post(t, "/o/par/", afar(as), p.encloses(t, form))
}

// pushed pushes a request, and returns the address that opens it.
func (p *party) pushed(t testing.TB, as auth, form url.Values) string {
	t.Helper()
	a := p.pushes(t, as, form)
	if a.Status != http.StatusCreated {
		t.Fatalf("push: %d %s", a.Status, a.Body)
	}
	return p.rehearsal.opening(p.application, a.JSON(t)["request_uri"].(string))
}

// answered opens an address, decides as the person, and returns the response.
func (p *party) answered(t testing.TB, address, decision string) url.Values {
	t.Helper()
	return p.responds(t, p.person.authorize(t, address, p.rehearsal.alice, decision))
}

// responds verifies a response, and returns its parameters.
func (p *party) responds(t testing.TB, back *url.URL) url.Values {
	t.Helper()
	at, query, _ := strings.Cut(p.RedirectURI, "?")
	got := back.Query()
	registered, err := url.ParseQuery(query)
	if err != nil || back.Fragment != "" || !strings.HasPrefix(back.String(), at+"?"+query) {
		t.Errorf("the response is at %s", back)
	}
	for name := range registered {
		got.Del(name)
	}
	if p.signed {
		return p.rehearsal.response(t, p.application, "PS256", got)
	}
	// RFC 9207 §2
	if got.Get("iss") != p.rehearsal.Issuer {
		t.Errorf("iss is %q in %s", got.Get("iss"), back)
	}
	got.Del("iss")
	return got
}

// code gets a code, and returns the form that exchanges it. more replaces parameters of the request.
func (p *party) code(t testing.TB, more ...string) url.Values {
	t.Helper()
	form, verifier := p.asks(t, more...)
	return p.codeOf(t, p.authenticates(t, nil, nil), form, verifier)
}

// codeOf is code for a request with these parameters, pushed with this authentication.
func (p *party) codeOf(t testing.TB, as auth, form url.Values, verifier string) url.Values {
	t.Helper()
	got := p.answered(t, p.pushed(t, as, form), "approve")
	if len(got.Get("code")) < 43 || len(got) > 2 || got.Get("state") != form.Get("state") {
		t.Fatalf("the response is %v", got)
	}
	return grantForm(p.application, got.Get("code"), verifier)
}

// tokens exchanges a code or a refresh token. The answer must be 200.
func (p *party) tokens(t testing.TB, form url.Values) tokens {
	t.Helper()
	got := p.at.mustToken(t, p.as(t), form)
	kind := "Bearer"
	if p.bound == "dpop" {
		kind = "DPoP"
	}
	if got.TokenType != kind || got.ExpiresIn <= 0 || len(got.AccessToken) < 43 ||
		(got.IDToken != "") != (p.openid && form.Get("grant_type") != "client_credentials") {
		t.Errorf("the tokens are %s for %d seconds, ID token %t", got.TokenType, got.ExpiresIn, got.IDToken != "")
	}
	return got
}

// presents presents an access token.
func (p *party) presents(t testing.TB, token string) auth {
	if p.proves == nil {
		return bearer(token)
	}
	return p.proves.dpop(t, token)
}

// usable requires that the sample API accepts an access token.
func (p *party) usable(t testing.TB, token string) {
	t.Helper()
	a := p.at.get(t, "/resource", p.presents(t, token))
	if a.Status != http.StatusOK || a.Header.Get("Date") == "" {
		t.Errorf("the API: %d, Date %q: %s", a.Status, a.Header.Get("Date"), a.Body)
	}
}

// refuses requires that the token endpoint refuses a request.
func (p *party) refuses(t testing.TB, what string, as auth, form url.Values, status int, code string) {
	t.Helper()
	err := p.at.post(t, "/o/token/", afar(as), form).refused(status, code)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// beside sends more parameters than an authentication.
func beside(as auth, more url.Values) auth {
	return func(r *http.Request, form url.Values) {
		as(r, form)
		maps.Copy(form, more)
	}
}
