package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/storage/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// The clock of these tests: the storage is told the time and never asks.
const (
	at    = 1_700_000_000
	later = at + 1_000
)

// world is an empty database, migrated, and the Store that is open on it.
type world struct {
	*Store
	url string
}

// each proves a rule on SQLite and on PostgreSQL.
func each(t *testing.T, rule func(t *testing.T, w world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { rule(t, migrated(t, sqliteURL(t))) })
	t.Run("postgres", func(t *testing.T) { rule(t, migrated(t, postgrestest.URL(t))) })
}

// eachIsolation adds a PostgreSQL whose transactions are serializable, as those
// of a distributed one are: it ends some of them and wants them run again.
func eachIsolation(t *testing.T, rule func(t *testing.T, w world)) {
	t.Helper()
	each(t, rule)
	t.Run("serializable", func(t *testing.T) {
		rule(t, migrated(t, serializableURL(t)))
	})
}

// eachEmpty gives the address of a database without a schema.
func eachEmpty(t *testing.T, rule func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { rule(t, sqliteURL(t)) })
	t.Run("postgres", func(t *testing.T) { rule(t, postgrestest.URL(t)) })
}

func sqliteURL(t testing.TB) string {
	return "sqlite:///" + filepath.Join(t.TempDir(), "mandate.db")
}

func opened(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func migrated(t testing.TB, url string) world {
	t.Helper()
	s := opened(t, url)
	_, err := s.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return world{s, url}
}

// pair is this Store and a second one on the same database, as two nodes are:
// on SQLite another handle of the file, on PostgreSQL another pool.
func (w world) pair(t testing.TB) []*Store {
	t.Helper()
	return []*Store{w.Store, opened(t, w.url)}
}

// race starts n at once and gives the error of each.
func race(n int, run func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = run(i)
		})
	}
	close(start)
	all.Wait()
	return errs
}

// oneWins gives the winner of a race whose losers must have got ErrSpent.
func oneWins(t *testing.T, errs []error) int {
	t.Helper()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("both %d and %d won", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, ErrSpent):
			t.Fatalf("loser %d got %v", i, err)
		}
	}
	if winner < 0 {
		t.Fatal("nobody won")
	}
	return winner
}

// must stops the test where a step that only sets the scene failed.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}

func count(t *testing.T, s *Store, query string, args ...any) int {
	t.Helper()
	var n int
	must(t, s.write.GetContext(t.Context(), &n, query, args...))
	return n
}

// counts says how many rows each table has.
func counts(t *testing.T, s *Store) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for _, table := range []string{"users", "groups", "memberships", "sessions", "applications", "consents", "grants", "tokens", "logins"} {
		rows[table] = count(t, s, `SELECT COUNT(*) FROM `+table)
	}
	return rows
}

func newUser(name string) User {
	return User{ID: rand.Text(), Username: name, UsernameKey: strings.ToLower(name), Email: name + "@example.com",
		FirstName: "First" + name, LastName: "Last" + name, Password: "hash of " + name, Active: true, CreatedAt: at}
}

// person adds somebody and reads them back.
func (w world) person(t *testing.T, name string, groups ...string) User {
	t.Helper()
	u := newUser(name)
	must(t, w.AddUser(t.Context(), u, groups))
	u, err := w.UserByID(t.Context(), u.ID)
	must(t, err)
	return u
}

func newApplication(name string) Application {
	return Application{ID: rand.Text(), ClientID: rand.Text(), Name: name, ClientType: "confidential", GrantTypes: "authorization_code refresh_token",
		RedirectURIs: "https://a.example/\nhttps://b.example/", Scopes: "read write", HashClientSecret: true, Secret: "secret of " + name,
		CreatedAt: at, UpdatedAt: at, Responsible: ByOperator}
}

func (w world) application(t *testing.T, name string) Application {
	t.Helper()
	a := newApplication(name)
	must(t, w.AddApplication(t.Context(), a, 0))
	return a
}

func newGrant(userID, applicationID string) Grant {
	code := rand.Text()
	return Grant{ID: rand.Text(), GrantType: "authorization_code", ApplicationID: applicationID, UserID: userID, SessionID: "session of " + userID, Scope: "read write",
		AuthTime: at - 10, CreatedAt: at, ExpiresAt: at + 60, CodeDigest: &code, CodeExpiresAt: at + 60, CodeChallenge: "challenge",
		RedirectURI: "https://a.example/", RedirectSent: true}
}

// newPair is an access and a refresh token of a family.
func newPair(grantID string) []Token {
	return []Token{
		{Digest: "access " + rand.Text(), GrantID: &grantID, Scope: "read", IssuedAt: at, ExpiresAt: later},
		{Digest: "refresh " + rand.Text(), Refresh: true, GrantID: &grantID, Scope: "read", IssuedAt: at, ExpiresAt: later + 1},
	}
}

// addGrant stores a grant, in a session that goes on.
func (w world) addGrant(t *testing.T, g Grant) {
	t.Helper()
	w.goesOn(t, g.SessionID, g.UserID)
	must(t, w.AddGrant(t.Context(), g, ""))
}

// goesOn stores a session of that name, unless it is there.
func (w world) goesOn(t *testing.T, id, userID string) {
	t.Helper()
	_, err := w.write.ExecContext(t.Context(), `INSERT INTO sessions (id, digest, user_id, auth_time, seen_at, expires_at, user_agent, address)
		VALUES ($1, $1, $2, $3, $3, $4, '', '') ON CONFLICT (id) DO NOTHING`, id, userID, at, later)
	must(t, err)
}

// keepConsent remembers a consent that was given in the session of the families.
func (w world) keepConsent(t *testing.T, c Consent) {
	t.Helper()
	session := "session of " + c.UserID
	w.goesOn(t, session, c.UserID)
	must(t, w.KeepConsent(t.Context(), c, session))
}

// family is a grant whose code was redeemed for the two tokens.
type family struct {
	Grant
	access, refresh string
}

func (w world) family(t *testing.T, userID, applicationID string) family {
	t.Helper()
	g := newGrant(userID, applicationID)
	pair := newPair(g.ID)
	w.addGrant(t, g)
	must(t, w.RedeemCode(t.Context(), g.ID, at, later, pair))
	return family{g, pair[0].Digest, pair[1].Digest}
}

// scene is a person, an application and a family between them.
func (w world) scene(t *testing.T, name string) (User, Application, family) {
	t.Helper()
	u, a := w.person(t, name), w.application(t, "App of "+name)
	return u, a, w.family(t, u.ID, a.ID)
}

func (w world) session(t *testing.T, userID string) Session {
	t.Helper()
	n := newSession(userID)
	must(t, w.AddSession(t.Context(), n, "", proof(w.Store, n.UserID), 0))
	return n
}

// proof is the hash of a person's password.
func proof(s *Store, userID string) string {
	u, _ := s.UserByID(context.Background(), userID)
	return u.Password
}

func newSession(userID string) Session {
	return Session{ID: rand.Text(), Digest: rand.Text(), UserID: userID, AuthTime: at, SeenAt: at, ExpiresAt: later, UserAgent: "browser", Address: "192.0.2.1"}
}

// live says of each token, by its name here, whether it is one.
func live(t *testing.T, s *Store, tokens map[string]string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for name, digest := range tokens {
		_, err := s.TokenByDigest(context.WithoutCancel(t.Context()), digest)
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		found[name] = err == nil
	}
	return found
}

func postgresURL(t testing.TB) string { return postgrestest.URL(t) }

func serializableURL(t testing.TB) string {
	t.Helper()
	return withParameter(t, postgresURL(t), "default_transaction_isolation", "serializable")
}

// withParameter sets a parameter of a PostgreSQL URL, or removes it where value is empty.
func withParameter(t testing.TB, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	q := u.Query()
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// waitForLock returns once a statement on this PostgreSQL waits for another's row.
func waitForLock(t *testing.T, s *Store) {
	t.Helper()
	eventually(t, "a statement waits for a row", func() bool {
		return count(t, s, `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	})
}

// eventually waits for what comes by itself.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute still not: %s", what)
		}
	}
}
