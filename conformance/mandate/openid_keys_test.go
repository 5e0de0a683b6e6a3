package mandate

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// RFC 7517 §4, RFC 7638 §3: the published keys contain no private part.
func TestRFC7517Keys(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		kinds := map[string]int{}
		for id, key := range s.keys(t) {
			kinds[key.Type+" "+key.Alg]++
			if key.name() != id || key.Use != "sig" {
				t.Errorf("%+v", key)
			}
		}
		checkEqual(t, "kinds", kinds, map[string]int{"RSA RS256": 1, "RSA PS256": 1, "EC ES256": 1, "OKP EdDSA": 1})
		var set struct {
			Keys []map[string]any `json:"keys"`
		}
		s.get(t, "/o/.well-known/jwks.json", nobody).decode(t, &set)
		if set.Keys[0]["alg"] != "RS256" {
			t.Errorf("the first key is %v", set.Keys[0])
		}
		for _, key := range set.Keys {
			// RFC 7518 §6: the private members.
			for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
				if key[name] != nil {
					t.Errorf("the key %v shows %s", key["kid"], name)
				}
			}
		}
		// All nodes use the same keys.
		checkEqual(t, "the keys of a second node", s.node(t).keys(t), s.keys(t))
	})
}

// OIDC Core §10.1.1: a new key is published before it signs, and an old one as long as
// its signatures are valid.
func TestOIDCCore10Rotation(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t, "--algorithm", "ES256")
		b := s.browser(t)
		old := b.signsIn(t, app, alice).IDToken
		before := keyID(t, old)
		s.mustCLI(t, "", "keys", "rotate", "--kind", "EC")
		n := s.node(t) // whose cache is empty
		if keys := n.keys(t); len(keys) != 5 {
			t.Errorf("%d keys, want the new one too", len(keys))
		}
		if now := keyID(t, n.browser(t).signsIn(t, app, alice).IDToken); now != before {
			t.Error("the new key signs before others could read it")
		}
		s.mustCLI(t, "", "keys", "rotate", "--kind", "EC", "--now")
		n = s.node(t)
		fresh := n.browser(t).signsIn(t, app, alice).IDToken
		if keyID(t, fresh) == before {
			t.Error("the old key signs")
		}
		n.verified(t, app, "ES256", fresh)
		n.verified(t, app, "ES256", old)
		// A thumbprint may begin with a dash, like a flag.
		retired := run(t, s.dir, nil, "", "--config", s.config, "keys", "retire", "--", before)
		if retired.code != 0 {
			t.Fatalf("keys retire: exit code %d\n%s", retired.code, retired.stderr)
		}
		if _, there := s.node(t).keys(t)[before]; there {
			t.Error("a retired key is published")
		}
	})
}

func keyID(t testing.TB, text string) string {
	t.Helper()
	var header struct{ Kid string }
	err := json.Unmarshal(b64(strings.Split(text, ".")[0]), &header)
	if err != nil || header.Kid == "" {
		t.Fatalf("the header of %s: %v", text, err)
	}
	return header.Kid
}

// An operator's own key signs, earlier keys are published, and no private key can be
// read.
func TestOIDCCore10OwnKeys(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		dir := t.TempDir()
		var files []string
		for _, name := range []string{"active", "inactive"} {
			key, err := rsa.GenerateKey(rand.Reader, 2048)
			if err != nil {
				t.Fatal(err)
			}
			text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
			files = append(files, filepath.Join(dir, name))
			err = os.WriteFile(files[len(files)-1], []byte(text), 0o600)
			if err != nil {
				t.Fatal(err)
			}
		}
		s := openidServer(t, db, "OIDC_RSA_PRIVATE_KEY_FILE: "+quote(files[0]), "OIDC_RSA_PRIVATE_KEYS_INACTIVE_FILE: "+
			quote(files[1]))
		if keys := s.keys(t); len(keys) != 8 {
			t.Errorf("%d keys, want ours, the operator's and their last one, each RSA key for two algorithms", len(keys))
		}
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		s.verified(t, app, "RS256", s.browser(t).signsIn(t, app, alice).IDToken)
		shown := s.mustCLI(t, "", "keys", "list") + s.mustCLI(t, "", "keys", "list", "--json") +
			s.mustCLI(t, "", "config", "print") +
			s.get(t, "/o/.well-known/jwks.json", nobody).Body + s.log.String()
		for _, word := range []string{"PRIVATE KEY", "sealed"} {
			if strings.Contains(shown, word) {
				t.Errorf("something shows %q", word)
			}
		}
	})
}
