package mandate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Two releases on one database. The newer release is this one with one more migration:
// its binary is built from the same sources plus one file. So this release is the older
// one.

// release builds the binary with one more migration.
func release(t *testing.T, migration string) string {
	t.Helper()
	built(t, binary) // says what is wrong with the sources themselves
	folder, err := filepath.Abs(filepath.Join("..", "..", "storage", "migrations"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := filepath.Glob(filepath.Join(folder, "*.sql"))
	if err != nil || len(steps) == 0 {
		t.Fatalf("no migrations in %s: %v", folder, err)
	}
	dir := t.TempDir()
	file, overlay, path := filepath.Join(dir, "next.sql"), filepath.Join(dir, "overlay.json"),
		filepath.Join(dir, "mandate")
	// it cannot fail
	over, _ := json.Marshal(
		map[string]map[string]string{"Replace": {filepath.Join(folder, fmt.Sprintf("%04d_next.sql", len(steps)+1)): file}})
	for name, text := range map[string]string{file: migration, overlay: string(over)} {
		err = os.WriteFile(name, []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "build", "-overlay", overlay, "-o", path, "mandate/cmd/mandate").CombinedOutput()
	if err != nil {
		t.Fatalf("build the next release: %v\n%s", err, out)
	}
	return path
}

// onlyAdds is a migration as every one should be: an older program does not need and
// does not notice what it adds.
const onlyAdds = `
CREATE TABLE next_release (id TEXT PRIMARY KEY, note TEXT NOT NULL);
ALTER TABLE tokens ADD COLUMN next_release TEXT;
ALTER TABLE applications ADD COLUMN next_release BIGINT NOT NULL DEFAULT 7;
CREATE INDEX tokens_next_release ON tokens (next_release);`

func TestReleases(t *testing.T) {
	next := release(t, onlyAdds)
	forEachDatabaseInTurn(t, func(t *testing.T, db database) {
		c := newCluster(t, options{database: db})
		c.web = c.client(t)
		tab := c.signedIn(t, c.admin)
		older := c.server
		before := tab.family(t, c.web, c.admin, "scope", "openid read")
		if r := runProgram(t, older.dir, environment(), "", next, "migrate", "--config", older.config); r.code != 0 ||
			!strings.Contains(r.stdout, "_next") {
			t.Fatalf("migrate by the next release: %d %s%s", r.code, r.stdout, r.stderr)
		}
		newer := newServer(t, older.options, older.BaseURL, older.key, older.secrets)
		newer.program = next
		newer.start(t)
		family := before
		for round, name := range []string{"the older goes on", "the older starts again"} {
			if round == 1 {
				older.stop(t)
				older.start(t)
			}
			for _, from := range []*server{older, newer} {
				for _, to := range []*server{newer, older} {
					if !to.active(t, c.asker.auth(), c.mustTokenAt(t, from)) {
						t.Errorf("%s: a token of one release is none for the other", name)
					}
				}
				family = from.mustToken(t, c.web.auth(), refreshForm(family.RefreshToken))
			}
			if later := tab.family(t, c.web, c.admin, "scope", "openid read"); !newer.active(t, c.asker.auth(),
				later.AccessToken) {
				t.Errorf("%s: a login at the older one is none for the newer", name)
			}
			c.application(t, "--name", "Registered by the older", "--grant", "client_credentials")
		}
		// Each node receives the notifications of the other.
		c.other = newer
		c.hears(t, everyNews[:2])
		if out := older.mustCLI(t, "", "migrate"); !strings.Contains(out, "up to date") {
			t.Errorf("migrate by the older release: %s", out)
		}
	})
}

func (c *cluster) mustTokenAt(t testing.TB, s *server) string {
	t.Helper()
	return s.mustToken(t, c.web.auth(), params("grant_type", "client_credentials", "scope", "read")).AccessToken
}
