package mandate

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"image"
	"image/jpeg"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	_ "github.com/lib/pq"
)

// OIDC Core §10.1.1, RFC 7517 §9.2: a private key that the server got or made can be
// read nowhere: not as a whole, not as its numbers, and in no encoding.
func TestRFC7517PrivateKeysAreNowhere(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		given := newGivenKeys(t)
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true", "LOG_LEVEL: debug"},
			provider: []string{"OIDC_ENABLED: true", openidScopes, "OIDC_RSA_PRIVATE_KEY_FILE: " + quote(given.active),
				"OIDC_RSA_PRIVATE_KEYS_INACTIVE_FILE: " + quote(given.inactive)}})
		alice, root := s.somebody(t, "alice"), s.person(t, "root", "--admin")
		said := map[string]string{}
		for _, text := range given.imported {
			for range 2 { // the second time it is there already
				r := s.cli(t, text, "keys", "import", "--now")
				said["keys import"] += r.stdout + r.stderr
			}
		}
		for _, args := range [][]string{{"keys", "list"}, {"keys", "list", "--json"}, {"config", "print"},
			{"config", "check"}, {"keys", "retire", "none"}, {"keys", "rotate"}} {
			r := s.cli(t, "", args...)
			said[strings.Join(args, " ")] = r.stdout + r.stderr
		}
		n := s.node(t) // a node that decrypts all stored keys
		for _, algorithm := range []string{"RS256", "PS256", "ES256", "EdDSA"} {
			app := n.relyingParty(t, "--algorithm", algorithm)
			n.verified(t, app, algorithm, n.browser(t).signsIn(t, app, alice).IDToken)
		}
		n.look(t, root, said)
		n.stop(t)
		s.stop(t) // so that the database file contains all rows
		said["the logs"] = s.log.String() + n.log.String()
		for name, content := range stored(t, db) {
			said[name] = content
		}
		for where, text := range said {
			if text == "" {
				t.Errorf("%s is empty", where)
			}
			for what, needle := range given.needles {
				if strings.Contains(text, needle) {
					t.Errorf("%s: there is %s", where, what)
				}
			}
		}
	})
}

// look adds the pages and answers that concern keys, and some errors.
func (s *server) look(t *testing.T, root person, said map[string]string) {
	t.Helper()
	b := s.signIn(t, root, "/account/")
	app := s.relyingParty(t)
	for _, path := range append([]string{"/", "/account/", "/o/applications/", "/o/applications/register/",
		"/o/applications/" + app.ID + "/", "/o/applications/" + app.ID + "/update/",
		"/admin/users/", "/admin/groups/", "/admin/resources/", "/admin/resources/new/", "/o/.well-known/jwks.json",
		"/o/.well-known/jwks.json?kid=1", "/o/.well-known/", "/o/keys/", "/healthz", "/readyz", "/o/userinfo/",
		"/o/authorize/?client_id=" + app.ClientID + "&id_token_hint=x.y.z&prompt=none", "/o/authorize/?id_token_hint=%00"},
		discoveryPaths...) {
		b.open(t, path)
		said["the page "+path] = b.Body + strings.Join(b.Header.Values("Location"), " ") + "."
	}
	for _, path := range []string{"/o/token/", "/o/introspect/", "/o/revoke_token/", "/o/userinfo/",
		"/o/.well-known/jwks.json"} {
		said["the answer of "+path] = s.post(t, path, app.auth(), params("token", "x", "kid", "x")).Body + "."
	}
}

// givenKeys are an operator's keys and their parts that must appear nowhere.
type givenKeys struct {
	active, inactive string   // files
	imported         []string // PEM
	needles          map[string]string
}

func newGivenKeys(t testing.TB) givenKeys {
	t.Helper()
	g := givenKeys{needles: map[string]string{}}
	g.needles["a header of PEM"] = "PRIVATE KEY-----"
	// The first bytes of PKCS #8 (RFC 5208 §5), to find keys that the server made as
	// well.
	for what, start := range map[string]string{
		"an Ed25519 key": "302e020100300506032b657004220420",
		"a P-256 key":    "308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420",
		"an RSA key":     "020100300d06092a864886f70d0101010500",
	} {
		raw, err := hex.DecodeString(start)
		if err != nil {
			t.Fatal(err)
		}
		g.add(what, raw)
	}
	files := []string{}
	for i := range 3 {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		der := x509.MarshalPKCS1PrivateKey(key)
		text := g.encode("RSA PRIVATE KEY", der)
		for what, number := range map[string][]byte{"d": key.D.Bytes(), "p": key.Primes[0].Bytes(),
			"q": key.Primes[1].Bytes(), "dp": key.Precomputed.Dp.Bytes()} {
			g.add("an RSA key's "+what, number)
		}
		g.needles["an RSA key's d in decimals"] = key.D.String()
		if i == 2 {
			g.imported = append(g.imported, text)
			continue
		}
		files = append(files, filepath.Join(t.TempDir(), "key.pem"))
		err = os.WriteFile(files[i], []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	g.active, g.inactive = files[0], files[1]
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := curve.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	g.add("an EC key's d", scalar)
	der, err := x509.MarshalECPrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	g.imported = append(g.imported, g.encode("EC PRIVATE KEY", der))
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	g.add("an Ed25519 key's seed", edwards.Seed())
	der, err = x509.MarshalPKCS8PrivateKey(edwards)
	if err != nil {
		t.Fatal(err)
	}
	g.imported = append(g.imported, g.encode("PRIVATE KEY", der))
	return g
}

// encode writes a key, and adds its inner lines to the search.
func (g givenKeys) encode(kind string, der []byte) string {
	text := string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	lines := strings.Split(text, "\n")
	g.needles["a line of "+kind+" "+lines[1][:6]] = lines[1]
	return text
}

// add searches for bytes in each encoding that a program may use, from the first byte
// on.
func (g givenKeys) add(what string, raw []byte) {
	whole := raw[:len(raw)/3*3] // that many are the same in base64 whatever follows
	g.needles[what] = string(raw)
	for form, text := range map[string]string{
		"hexadecimal": hex.EncodeToString(raw), "HEXADECIMAL": strings.ToUpper(hex.EncodeToString(raw)),
		"base64": base64.StdEncoding.EncodeToString(whole), "base64url": base64.RawURLEncoding.EncodeToString(whole),
	} {
		g.needles[what+" in "+form+" "+hex.EncodeToString(raw[:2])] = text
	}
}

// stored returns all content of a database: the files of SQLite, or every row of
// PostgreSQL.
func stored(t testing.TB, db database) map[string]string {
	t.Helper()
	all := map[string]string{}
	if path, ok := strings.CutPrefix(db.url, "sqlite:///"); ok {
		files, err := filepath.Glob(path + "*")
		if err != nil || len(files) == 0 {
			t.Fatalf("no files of the database: %v", err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all["the file "+filepath.Base(file)] = string(content)
		}
		if content := all["the file "+filepath.Base(path)]; !strings.Contains(content, "alice@example.org") ||
			!bytes.HasPrefix([]byte(content), []byte("SQLite format 3")) {
			t.Error("the file of the database is not one that can be read")
		}
		return all
	}
	pool, err := sql.Open("postgres", db.url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	rows, err := pool.Query(`SELECT table_name, (query_to_xml(format('SELECT * FROM %I', table_name), true,
		true, ''))::text
		FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, content string
		err = rows.Scan(&name, &content)
		if err != nil {
			t.Fatal(err)
		}
		all["the table "+name] = content + "." // as one may have no rows
	}
	if rows.Err() != nil || !strings.Contains(all["the table users"], "alice@example.org") ||
		!strings.Contains(all["the table keys"], "OKP") {
		t.Errorf("the tables are not such that can be read: %v", rows.Err())
	}
	return all
}

// wrongFiles returns files that an operator may mistake for a signing key, with the
// expected message for each.
func wrongFiles(t testing.TB) map[string][2]string {
	t.Helper()
	must := func(der []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	exchange, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "auth.example"},
		NotAfter: time.Now().Add(time.Hour)}
	certificate := must(x509.CreateCertificate(rand.Reader, template, template, public, private))
	key := must(x509.MarshalPKCS8PrivateKey(private))
	var picture bytes.Buffer
	err = jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8)), nil)
	if err != nil {
		t.Fatal(err)
	}
	legacy := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: key,
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00112233445566778899AABBCCDDEEFF"}}
	return map[string][2]string{
		"RSA-1024": {block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(short)),
			"is an RSA key of 1024 bits: use at least 2048"},
		"RSA-1024 in PKCS #8": {block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(short))),
			"is an RSA key of 1024 bits: use at least 2048"},
		"P-384": {block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(wide))),
			"is an EC key with a curve other than P-256"},
		"P-384 in PKCS #8": {block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(wide))),
			"is an EC key with a curve other than P-256"},
		"X25519": {block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(exchange))),
			"is a private key that cannot sign"},
		"an encrypted key": {block("ENCRYPTED PRIVATE KEY", key),
			`is a PEM block "ENCRYPTED PRIVATE KEY": it must be an unencrypted private key`},
		"one of an old OpenSSL": {string(pem.EncodeToMemory(legacy)), "is encrypted"},
		"an SSH key":            {block("OPENSSH PRIVATE KEY", key), `is a PEM block "OPENSSH PRIVATE KEY"`},
		"a public key": {block("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(public))),
			`is a PEM block "PUBLIC KEY"`},
		"a certificate":     {block("CERTIFICATE", certificate), `is a PEM block "CERTIFICATE"`},
		"a key cut off":     {block("PRIVATE KEY", key[:len(key)-8]), "is a PEM block that contains no private key"},
		"a key without PEM": {string(key), "is not a private key in PEM"},
		"a JPEG":            {picture.String(), "is not a private key in PEM"},
		"a JWK": {`{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}`,
			"is not a private key in PEM"},
	}
}

// RFC 7518 §3: a key that the server cannot sign with is refused. The message names the
// reason and contains nothing of the key.
func TestRFC7518WrongKeys(t *testing.T) {
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	before := s.mustCLI(t, "", "keys", "list", "--json")
	file := filepath.Join(t.TempDir(), "key")
	wrong := wrongFiles(t)
	for what, test := range wrong {
		for _, flags := range [][]string{nil, {"--now"}} {
			r := s.cli(t, test[0], append([]string{"keys", "import"}, flags...)...)
			if r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "the private key on standard input: "+test[1]) ||
				strings.Contains(r.stderr, "panic") {
				t.Errorf("import of %s: %d %q %q", what, r.code, r.stdout, r.stderr)
			}
		}
	}
	if after := s.mustCLI(t, "", "keys", "list", "--json"); after != before {
		t.Errorf("the keys were\n%s\nand are\n%s", before, after)
	}
	// In the configuration, a valid key of another kind is wrong too.
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	good := []string{string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}))}
	wrong["an Ed25519 key"] = [2]string{good[0], "is not an RSA key"}
	wrong["an EC key"] = [2]string{good[1], "is not an RSA key"}
	for what, test := range wrong {
		if !utf8.ValidString(test[0]) {
			test[1] = "the file does not contain UTF-8 text" // YAML does not allow it either
		}
		err := os.WriteFile(file, []byte(test[0]), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"OIDC_RSA_PRIVATE_KEY", "OIDC_RSA_PRIVATE_KEYS_INACTIVE"} {
			for _, command := range [][]string{{"config", "check"}, {"serve"}} {
				r := run(t, s.dir, []string{"MANDATE_" + name + "_FILE=" + file}, "", append(command, "--config", s.config)...)
				if r.code != 1 || !strings.Contains(r.stderr, name) || strings.Contains(r.stderr, "panic") ||
					name == "OIDC_RSA_PRIVATE_KEY" && !strings.Contains(r.stderr, test[1]) {
					t.Errorf("%s with %s as %s: %d %q", command[0], what, name, r.code, r.stderr)
				}
			}
		}
	}
	for _, text := range good {
		s.mustCLI(t, text, "keys", "import", "--now")
	}
	var keys []any
	err = json.Unmarshal([]byte(s.mustCLI(t, "", "keys", "list", "--json")), &keys)
	if err != nil || len(keys) != 5 {
		t.Errorf("%d keys after two good ones, %v", len(keys), err)
	}
}
