package jose

import (
	"maps"
	"strings"
	"testing"
)

// A key that is written and read again signs, and its public part verifies that.
func TestKeys(t *testing.T) {
	for _, algorithm := range Algorithms() {
		made := NewKey(algorithm)
		read, err := ReadKey(made.Private())
		if err != nil {
			t.Fatalf("%s: %v", algorithm, err)
		}
		j, err := Read(read.Sign(map[string]any{"typ": "x", "kid": made.ID}, map[string]any{"sub": "a"}))
		if err != nil || j.Header["typ"] != "x" || j.Header["alg"] != algorithm || j.Text("sub") != "a" {
			t.Fatalf("%s: %v %v", algorithm, j, err)
		}
		public := made.Public()
		text := func(name string) string { value, _ := public[name].(string); return value }
		key := JWK{Type: text("kty"), Curve: text("crv"), X: text("x"), Y: text("y"), N: text("n"), E: text("e"),
			ID: text("kid")}
		if err := j.Verify([]JWK{key}, ""); err != nil || public["d"] != nil {
			t.Errorf("%s: %v, %v", algorithm, err, public)
		}
		other, _ := Read(NewKey(algorithm).Sign(map[string]any{"kid": made.ID}, map[string]any{"sub": "a"}))
		if other.Verify([]JWK{key}, "") == nil {
			t.Errorf("%s: another key verifies", algorithm)
		}
		for _, misused := range made.Misused() {
			if !strings.HasPrefix(misused.Algorithm, "HS") || misused.ID != made.ID {
				t.Errorf("%s: %+v", algorithm, misused)
			}
		}
	}
}

func TestReadKeyMistakes(t *testing.T) {
	ec, rsa := NewKey("ES256").Private(), NewKey("PS256").Private()
	with := func(of map[string]any, name string, value any) map[string]any {
		changed := maps.Clone(of)
		changed[name] = value
		return changed
	}
	for _, row := range []struct {
		jwk  map[string]any
		want string
	}{
		{map[string]any{}, `kty is "": use EC, OKP or RSA`},
		{with(ec, "kty", "oct"), `kty is "oct"`},
		{with(ec, "d", nil), "d is missing: name the private key"},
		{with(rsa, "alg", nil), "alg is missing: add the algorithm, such as PS256"},
		{with(ec, "alg", "HS256"), `alg "HS256" is not supported: use ES256, `},
		{with(ec, "alg", "RS256"), "alg RS256 does not fit a key of the type EC P-256"},
		{with(ec, "alg", "ES384"), "alg ES384 does not fit a key of the type EC P-256"},
		{with(ec, "d", NewKey("ES256").Private()["d"]), "d is not the private key of x and y"},
		{with(NewKey("EdDSA").Private(), "d", "AAAA"), "d is not the private key of x"},
		{with(rsa, "p", nil), "name all three"},
		{with(rsa, "n", ""), "n and e are not those of an RSA key"},
	} {
		_, err := ReadKey(row.jwk)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
	if k, err := ReadKey(with(ec, "alg", nil)); err != nil || k.Algorithm != "ES256" {
		t.Errorf("a curve has one algorithm: %v", err)
	}
}

// RFC 8037 §A.2, §A.3 have a key and its thumbprint.
func TestThumbprint(t *testing.T) {
	k, err := ReadKey(map[string]any{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "a",
		"d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})
	if err != nil || k.Thumbprint() != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Errorf("%v: %s", err, k.Thumbprint())
	}
	for algorithm, want := range map[string]int{"ES256": 4, "EdDSA": 3, "PS256": 3} {
		if bare := NewKey(algorithm).Bare(); len(bare) != want || bare["d"] != nil {
			t.Errorf("%s: %v", algorithm, bare)
		}
	}
}
