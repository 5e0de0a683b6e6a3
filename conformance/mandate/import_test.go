package mandate

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// importedHashes are those of provider/password/testdata, which other programs made: one of each scheme.
func importedHashes(t testing.TB, password string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../provider/password/testdata/imported.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if parts[1] == password {
			found[strings.ReplaceAll(parts[0], " ", "-")] = parts[2]
		}
	}
	return found
}

// People come with the hashes of other programs. Their passwords work, and the hash is ours after the first sign-in.
func TestImportedPeopleSignIn(t *testing.T) {
	const words = "correct horse battery staple"
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		hashes := importedHashes(t, words)
		if len(hashes) < 16 {
			t.Fatalf("%d schemes", len(hashes))
		}
		var list strings.Builder
		list.WriteString("username,email,password_hash,subject\n")
		for scheme, hash := range hashes {
			v.secret(hash)
			fmt.Fprintf(&list, "%s,%s@example.com,\"%s\",of-%s\n", scheme, strings.ToLower(scheme), hash, scheme)
		}
		if got := v.mustCLI(t, list.String(), "user", "import", "-"); !strings.HasPrefix(got,
			fmt.Sprintf("Added %d people.", len(hashes))) {
			t.Fatal(got)
		}
		stored := func(name string) string {
			t.Helper()
			var hash string
			behind(t, db, `SELECT password FROM users WHERE username = '`+name+`'`, &hash)
			return hash
		}
		for scheme, hash := range hashes {
			if scheme != "bcrypt-2y" && scheme != "Django-pbkdf2_sha256" && scheme != "argon2-cffi-short" &&
				scheme != "passlib-scrypt" {
				continue // the leaf package verifies each; here one of each kind is enough
			}
			b := v.browser(t)
			b.open(t, "/login/?next=/account/")
			b.submit(t, "Sign in", params("username", scheme, "password", "correct horse battery stapl"))
			if b.Status != http.StatusUnprocessableEntity || stored(scheme) != hash {
				t.Errorf("%s: a wrong password: %d", scheme, b.Status)
			}
			b.submit(t, "Sign in", params("username", scheme, "password", words))
			if b.URL.Path != "/account/" {
				t.Fatalf("%s: %d %s\n%s", scheme, b.Status, b.URL, b.Body)
			}
			first := stored(scheme)
			if !strings.HasPrefix(first, "$argon2id$v=19$m=7168,t=5,p=1$") || first == hash {
				t.Errorf("%s is stored as %s", scheme, first)
			}
			v.signedIn(t, person{scheme, words})
			if stored(scheme) != first {
				t.Errorf("%s: the second sign-in has replaced the hash again", scheme)
			}
			// The session that began with the imported hash is still valid.
			if !b.isSignedIn(t) {
				t.Errorf("%s: the first session has ended", scheme)
			}
		}
		// The password grant verifies an imported hash too, and so does the form that changes the password.
		if _, got := v.token(t, v.web.auth(), params("grant_type", "password", "username", "bcrypt-2a", "password", words,
			"scope", "read")); got.Status != http.StatusOK {
			t.Errorf("the password grant: %d", got.Status)
		}
		if !strings.HasPrefix(stored("bcrypt-2a"), "$argon2id$") {
			t.Errorf("after the password grant: %s", stored("bcrypt-2a"))
		}
		checkEqual(t, "the subject", v.userID(t, "bcrypt-2b"), "of-bcrypt-2b")
	})
}

// Several sign-ins with an imported hash at the same moment, on two nodes: each succeeds.
func TestImportedPersonSignsInTwiceAtOnce(t *testing.T) {
	ownProcesses(t)
	const words = "correct horse battery staple"
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		nodes := []*server{s, s.node(t)}
		s.mustCLI(t, "username,password_hash\nann,\""+s.secret(importedHashes(t, words)["bcrypt-2b"])+"\"\n", "user",
			"import", "-")
		for i, got := range parallel(t, 4, func(i int) (answer, error) {
			return nodes[i%2].tryPost("/login/", ownForm, params("username", "ann", "password", words))
		}) {
			if got.Status != http.StatusSeeOther {
				t.Errorf("sign-in %d: %d", i, got.Status)
			}
		}
		s.signedIn(t, person{"ann", words})
	})
}

// A person without a hash cannot sign in with any password, and sets one by a link.
func TestImportedPersonWithoutPassword(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	s.mustCLI(t, "username,password_hash,active\nann,,\nbob,!unusable,\ncarol,,false\n", "user", "import", "-")
	for _, name := range []string{"ann", "bob", "carol"} {
		for _, password := range []string{"!unusable", "unusable", "!", " "} {
			if got := s.post(t, "/login/", ownForm,
				params("username", name, "password", password)); got.Status != http.StatusUnprocessableEntity {
				t.Errorf("%s with %q: %d", name, password, got.Status)
			}
		}
	}
	link := strings.TrimPrefix(strings.TrimSpace(s.mustCLI(t, "", "user", "reset-password-link", "ann")), s.BaseURL)
	s.secret(strings.Split(link, "/")[3])
	b := s.browser(t)
	b.open(t, link)
	b.submit(t, "Set the password", params("new_password", s.secret("some new words in a row")))
	s.signedIn(t, person{"ann", "some new words in a row"})
	if r := s.cli(t, "", "user", "reset-password-link", "carol"); r.code != 1 {
		t.Error("a link for somebody who is disabled")
	}
}

// A file wants to make somebody an administrator, to take over a person, or to make sign-ins slow.
func TestAttackHostileImport(t *testing.T) {
	attack(t, "mass assignment and resource exhaustion by a file (CWE-915, CWE-400)", "")
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		const good = "$2b$10$3.3d1jodGHbXkMCIdFBxfOO45IUYymWULvE/Bey8AFA9ioR.Buy0."
		before := len(v.people(t))
		for what, list := range map[string]string{
			"an administrator":        "username,administrator\neve,true\n",
			"somebody's password":     "username,password,password_hash\nalice,x," + good + "\n",
			"an application's client": "username,subject\neve," + v.web.ClientID + "\n",
			"a person's subject":      "username,subject\neve," + v.userID(t, "alice") + "\n",
			"another subject":         "username,subject\nalice,eve\n",
			"much memory":             "username,password_hash\neve,\"$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHQ$DBBf2J3clQuHA/3vcJiFRLFjPfxI3xJ9N+EnSBM16JY\"\n",
			"much time":               "username,password_hash\neve,$2b$31$3.3d1jodGHbXkMCIdFBxfOO45IUYymWULvE/Bey8AFA9ioR.Buy0.\n",
			"a name of two lines":     "username\n\"ro\not\"\n",
			"two lines of an address": "username,email\neve,\"eve@example.com\r\nBcc: x@example.com\"\n",
			"too many":                "username\n" + strings.Repeat("x\n", 100_001),
		} {
			r := v.cli(t, list, "user", "import", "-")
			if r.code != 1 {
				t.Errorf("%s: %d\n%s%s", what, r.code, r.stdout, r.stderr)
			}
		}
		// An existing person is skipped: nothing about them changes.
		if got := v.mustCLI(t, "username,email,first_name,groups,password_hash,active\nALICE,eve@example.com,Eve,,"+good+
			",false\n", "user", "import", "-"); !strings.HasPrefix(got, "Added 0 people. Skipped 1 ") {
			t.Error(got)
		}
		v.signedIn(t, v.alice)
		checkEqual(t, "people", len(v.people(t)), before)
	})
}
