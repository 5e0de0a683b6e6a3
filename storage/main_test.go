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
	"mandate/testkit"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// The times of these tests. The storage receives the time from its caller and has no
// clock.
const (
	at    = 1_700_000_000
	later = at + 1_000
)

// world is an empty, migrated database and the Store that uses it.
type world struct {
	*Store
	url string
}

// each runs a test on SQLite and on PostgreSQL.
func each(t *testing.T, rule func(t *testing.T, w world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "mandate.db")
		current.Copy(t, path)
		rule(t, in(t, "sqlite:///"+path))
	})
	t.Run("postgres", func(t *testing.T) { rule(t, in(t, postgresURL(t))) })
}

// current is a SQLite database with the current schema.
var current = testkit.Copied{Make: func(path string) error { return migrate("sqlite:///" + path) }}

func migrate(url string) error {
	s, err := Open(context.Background(), url)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Migrate(context.Background())
	return err
}

func in(t testing.TB, url string) world { return world{opened(t, url), url} }

// eachIsolation runs a test on the databases of each, and on a PostgreSQL with
// serializable transactions. Distributed databases use these: they abort some
// transactions, which must then run again.
func eachIsolation(t *testing.T, rule func(t *testing.T, w world)) {
	t.Helper()
	each(t, rule)
	t.Run("serializable", func(t *testing.T) {
		rule(t, in(t, serializableURL(t)))
	})
}

// eachEmpty runs a test with the address of a database without a schema.
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
	must(t, migrate(url))
	return in(t, url)
}

// pair returns this Store and a second one on the same database, like two nodes. The
// second one is another handle of the SQLite file, or another pool on PostgreSQL.
func (w world) pair(t testing.TB) []*Store {
	t.Helper()
	return []*Store{w.Store, opened(t, w.url)}
}

// race runs n calls at the same time and returns their errors.
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

// oneWins returns the index of the one call that succeeded. All others must have
// returned ErrSpent.
func oneWins(t *testing.T, errs []error) int {
	t.Helper()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("both %d and %d succeeded", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, ErrSpent):
			t.Fatalf("the refused call %d got %v", i, err)
		}
	}
	if winner < 0 {
		t.Fatal("no call succeeded")
	}
	return winner
}

// must stops the test if a step of its preparation failed.
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

// counts returns the number of rows of each table.
func counts(t *testing.T, s *Store) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for _, table := range []string{"users", "groups", "memberships", "sessions", "applications", "consents", "grants",
		"tokens", "logins", "devices"} {
		rows[table] = count(t, s, `SELECT COUNT(*) FROM `+table)
	}
	return rows
}

func newUser(name string) User {
	return User{ID: rand.Text(), Username: name, UsernameKey: strings.ToLower(name), Email: name + "@example.com",
		FirstName: "First" + name, LastName: "Last" + name, Password: "hash of " + name, Active: true, CreatedAt: at}
}

// person adds a person and reads the row back.
func (w world) person(t *testing.T, name string, groups ...string) User {
	t.Helper()
	u := newUser(name)
	must(t, w.AddUser(t.Context(), u, groups))
	u, err := w.UserByID(t.Context(), u.ID)
	must(t, err)
	return u
}

func newApplication(name string) Application {
	return Application{ID: rand.Text(), ClientID: rand.Text(), Name: name, ClientType: "confidential",
		GrantTypes:   "authorization_code refresh_token",
		RedirectURIs: "https://a.example/\nhttps://b.example/", Scopes: "read write", HashClientSecret: true,
		Secret:    "secret of " + name,
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
	return Grant{ID: rand.Text(), GrantType: "authorization_code", ApplicationID: applicationID, UserID: userID,
		SessionID: "session of " + userID, Scope: "read write",
		AuthTime: at - 10, CreatedAt: at, ExpiresAt: at + 60, CodeDigest: &code, CodeExpiresAt: at + 60,
		CodeChallenge: "challenge", AMR: "pwd otp", ACR: "urn:mandate:acr:mfa",
		RedirectURI: "https://a.example/", RedirectSent: true}
}

// newPair returns an access token and a refresh token of a token family.
func newPair(grantID string) []Token {
	return []Token{
		{Digest: "access " + rand.Text(), GrantID: &grantID, Scope: "read", IssuedAt: at, ExpiresAt: later},
		{Digest: "refresh " + rand.Text(), Refresh: true, GrantID: &grantID, Scope: "read", IssuedAt: at,
			ExpiresAt: later + 1},
	}
}

// addGrant stores a grant in a session that has not ended.
func (w world) addGrant(t *testing.T, g Grant) {
	t.Helper()
	w.goesOn(t, g.SessionID, g.UserID)
	must(t, w.AddGrant(t.Context(), g, "", ""))
}

// goesOn stores a session with this id if there is none.
func (w world) goesOn(t *testing.T, id, userID string) {
	t.Helper()
	_, err := w.write.ExecContext(t.Context(), `INSERT INTO sessions (id, digest, user_id, auth_time, seen_at, expires_at,
		user_agent, address)
		VALUES ($1, $1, $2, $3, $3, $4, '', '') ON CONFLICT (id) DO NOTHING`, id, userID, at, later)
	must(t, err)
}

// keepConsent stores a consent that was given in the session of the token families.
func (w world) keepConsent(t *testing.T, c Consent) {
	t.Helper()
	session := "session of " + c.UserID
	w.goesOn(t, session, c.UserID)
	must(t, w.KeepConsent(t.Context(), c, session, replace))
}

// family is a token family: a grant and the digests of its two tokens. Its code is
// used.
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

// scene stores a person, an application and a token family of the two.
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

// renewal renews a session and keeps its cookie, so that the session can be used again.
func renewal(n Session) Renewal { return Renewal{ID: n.ID, Was: n.Digest, Session: n} }

// proof returns the password hash of a person.
func proof(s *Store, userID string) string {
	u, _ := s.UserByID(context.Background(), userID)
	return u.Password
}

func newSession(userID string) Session {
	return Session{ID: rand.Text(), Digest: rand.Text(), UserID: userID, AuthTime: at, SeenAt: at, ExpiresAt: later,
		UserAgent: "browser", Address: "192.0.2.1", AMR: "pwd"}
}

// live reports, for each token by its name in the test, whether it is valid.
func live(t *testing.T, s *Store, tokens map[string]string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for name, digest := range tokens {
		token, err := s.TokenByDigest(context.WithoutCancel(t.Context()), digest, at)
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		found[name] = err == nil
		_, err = s.RefreshTokenByDigest(context.WithoutCancel(t.Context()), digest, at)
		if (err == nil) != (found[name] && token.Refresh) {
			t.Errorf("%s: RefreshTokenByDigest returns %v, TokenByDigest finds it: %t", name, err, found[name])
		}
	}
	return found
}

// postgresURL returns the address of a PostgreSQL database with the current schema.
func postgresURL(t testing.TB) string { return postgrestest.Filled(t, migrate) }

func serializableURL(t testing.TB) string {
	t.Helper()
	return withParameter(t, postgresURL(t), "default_transaction_isolation", "serializable")
}

// withParameter sets a parameter of a PostgreSQL URL. An empty value removes it.
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

// waitForLock returns when a statement on this PostgreSQL waits for a row lock.
func waitForLock(t *testing.T, s *Store) {
	t.Helper()
	eventually(t, "a statement waits for a row", func() bool {
		return count(t, s, `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()
			AND wait_event_type = 'Lock'`) > 0
	})
}

// eventually waits until a condition becomes true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute, this has not happened: %s", what)
		}
	}
}

// replace stores what is approved now, whatever was approved before.
func replace(_, now Consent) Consent { return now }
