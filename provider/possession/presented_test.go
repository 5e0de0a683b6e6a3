package possession

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mandate/provider/dpop"
	"mandate/provider/jose"
	"mandate/provider/mtls"
	"mandate/provider/oauth/oauthtest"
	"mandate/storage"
	"mandate/storage/storagetest"
)

const base = "https://server.example/o"

// begin makes the component with a database.
func begin(t *testing.T) *Checks {
	t.Helper()
	store, _ := storagetest.Open(t)
	checks, err := New(Config{Bases: []string{base}}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	return checks
}

func newKey(t *testing.T) (crypto.Signer, string) {
	t.Helper()
	key, err := jose.Generate("EC")
	if err != nil {
		t.Fatal(err)
	}
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key, public.Thumbprint()
}

// presents returns a request to UserInfo with a proof for a token.
func presents(t *testing.T, key crypto.Signer, token string) *http.Request {
	t.Helper()
	proof, err := dpop.Make("ES256", key,
		map[string]any{"htm": http.MethodGet, "htu": base + "/userinfo/", "ath": dpop.TokenHash(token)})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/o/userinfo/", nil)
	r.Header.Set("DPoP", proof)
	return r
}

// certificate returns a context with a new certificate, and its thumbprint.
func certificate(t *testing.T) (context.Context, string) {
	t.Helper()
	key, _ := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	shown := &mtls.Certificate{Certificate: parsed}
	return mtls.With(t.Context(), func() (*mtls.Certificate, error) { return shown, nil }), shown.Thumbprint()
}

// RFC 9449 §11.1: a proof at an API works once, as one at the token endpoint does.
//
// Resembles CVE-2020-15222 (fosite), for proofs.
func TestAttackReplayedProofAtAnAPI(t *testing.T) {
	checks := begin(t)
	key, thumbprint := newKey(t)
	r := presents(t, key, "mat_x")
	oauthtest.Want(t, checks.CheckPresented(t.Context(), r, toKey(thumbprint), "DPoP", "mat_x"), "no error")
	oauthtest.Want(t, checks.CheckPresented(t.Context(), r, toKey(thumbprint), "DPoP", "mat_x"), "401 invalid_dpop_proof")
	oauthtest.Want(t, checks.CheckPresented(t.Context(), presents(t, key, "mat_x"), toKey(thumbprint), "DPoP", "mat_x"),
		"no error")
}

// RFC 9449 §7.1, RFC 8705 §3: the binding of the token decides what a request must prove, and a binding
// that this server does not know proves nothing.
func TestAttackPresentedWithoutPossession(t *testing.T) {
	checks := begin(t)
	key, thumbprint := newKey(t)
	other, _ := newKey(t)
	shown, own := certificate(t)
	another, _ := certificate(t)
	none, plain := t.Context(), httptest.NewRequest(http.MethodGet, "/o/userinfo/", nil)
	for name, test := range map[string]struct {
		ctx    context.Context
		r      *http.Request
		bound  Binding
		scheme string
		want   string
	}{
		"a bearer token":         {none, plain, "", "Bearer", "no error"},
		"a bearer token as DPoP": {none, presents(t, key, "mat_x"), "", "DPoP", "401 invalid_token"},
		"a token of a key as a bearer token": {none, presents(t, key, "mat_x"), toKey(thumbprint), "Bearer",
			"401 invalid_token"},
		"a token of a key without a proof": {none, plain, toKey(thumbprint), "DPoP", "401 invalid_dpop_proof"},
		"a proof by another key": {none, presents(t, other, "mat_x"), toKey(thumbprint), "DPoP",
			"401 invalid_dpop_proof"},
		"a proof for another token": {none, presents(t, key, "mat_y"), toKey(thumbprint), "DPoP",
			"401 invalid_dpop_proof"},
		"a certificate":                             {shown, plain, toCertificate(own), "Bearer", "no error"},
		"another certificate":                       {another, plain, toCertificate(own), "Bearer", "401 invalid_token"},
		"no certificate":                            {none, plain, toCertificate(own), "Bearer", "401 invalid_token"},
		"a certificate in place of a key":           {shown, plain, toKey(thumbprint), "Bearer", "401 invalid_token"},
		"a binding of a newer version":              {shown, plain, "new:x", "Bearer", "401 invalid_token"},
		"a binding of a newer version with a proof": {none, presents(t, key, "mat_x"), "new:x", "DPoP", "401 invalid_token"},
	} {
		if got := oauthtest.Kind(checks.CheckPresented(test.ctx, test.r, test.bound, test.scheme,
			"mat_x")); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// What a token request becomes bound to follows from the registration of the application, and what it sends.
func TestBindingOfATokenRequest(t *testing.T) {
	checks := begin(t)
	key, thumbprint := newKey(t)
	shown, own := certificate(t)
	proof, err := dpop.Make("ES256", key, map[string]any{"htm": http.MethodPost, "htu": base + "/token/"})
	if err != nil {
		t.Fatal(err)
	}
	plain, proving := httptest.NewRequest(http.MethodPost, "/o/token/", nil),
		httptest.NewRequest(http.MethodPost, "/o/token/", nil)
	proving.Header.Set("DPoP", proof)
	for name, test := range map[string]struct {
		ctx        context.Context
		r          *http.Request
		constraint string
		want       string
		bound      Binding
	}{
		"nothing":                              {t.Context(), plain, "", "no error", ""},
		"a certificate that nobody asks for":   {shown, plain, "", "no error", ""},
		"a proof":                              {t.Context(), proving, "", "no error", toKey(thumbprint)},
		"dpop and a proof":                     {t.Context(), proving, DPoP, "no error", toKey(thumbprint)},
		"dpop without a proof":                 {shown, plain, DPoP, "400 invalid_dpop_proof", ""},
		"certificate and one":                  {shown, plain, Certificate, "no error", toCertificate(own)},
		"certificate without one":              {t.Context(), plain, Certificate, "400 invalid_request", ""},
		"certificate and a proof in its place": {t.Context(), proving, Certificate, "400 invalid_request", ""},
		"certificate, and a proof beside it":   {shown, proving, Certificate, "400 invalid_request", ""},
	} {
		bound, _, err := checks.OfTokenRequest(test.ctx, test.r, storage.Application{SenderConstraint: test.constraint})
		if got := oauthtest.Kind(err); got != test.want || err == nil && bound != test.bound {
			t.Errorf("%s: %s, bound to %q, want %s and %q", name, got, bound, test.want, test.bound)
		}
	}
}
