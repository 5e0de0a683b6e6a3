package provider

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/dpop"
	"mandate/provider/oauth"
)

// RFC 9449 §11.1: a proof works once as long as it is accepted. It is checked, and then used a
// moment later, and the clocks of the nodes are not the same.
func TestProofIsRememberedLongerThanItIsAccepted(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for what, since := range map[string]func(f *fixture){
		"a slow request": func(*fixture) { time.Sleep(200 * time.Millisecond) },
		"another node whose clock is ahead deletes old rows": func(f *fixture) {
			_, err := f.store.Sweep(f.t.Context(), oauth.Now()+30, 100)
			if err != nil {
				f.t.Error(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { useTwice(t, key, since) })
		})
	}
}

// useTwice uses a proof at the first and at the last moment in which it is accepted.
func useTwice(t *testing.T, key crypto.Signer, since func(*fixture)) {
	f := begin(t)
	text, err := dpop.Make("ES256", key, map[string]any{"htm": http.MethodPost, "htu": f.config.Issuer + "/token"})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/o/token/", nil)
	r.Header.Set("DPoP", text)
	checked := func() dpop.Proof {
		proof, err := f.Proofs.Verify(r)
		if err != nil {
			t.Fatal(err)
		}
		return proof
	}
	first := checked()
	err = f.Proofs.Use(t.Context(), &first)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(60*time.Second + 900*time.Millisecond)
	again := checked()
	since(f)
	err = f.Proofs.Use(t.Context(), &again)
	if err == nil {
		t.Error("a proof was used twice")
	}
}
