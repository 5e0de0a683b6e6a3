package mandate

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Who may change an application, and what an application may do, depending on who is
// responsible for it. The test checks each cell of the tables in
// docs/register-applications.md with a request to a running server.

// docsTable returns the table of that page whose first row begins with this cell, by
// row and column.
func docsTable(t testing.TB, first string) (columns []string, cells map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "register-applications.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n| "+first)
	if !found {
		t.Fatalf("docs/register-applications.md has no table that begins with %q", first)
	}
	table, _, _ = strings.Cut("| "+first+table, "\n\n")
	cells = map[string][]string{}
	for i, line := range strings.Split(table, "\n") {
		var row []string
		for cell := range strings.SplitSeq(line, "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		switch {
		case i == 0:
			columns = row[2 : len(row)-1]
		case len(row) == len(columns)+3 && !strings.HasPrefix(line, "|---"):
			cells[row[1]] = row[2 : len(row)-1]
		}
	}
	return columns, cells
}

// register is the database of a server, and its people.
type register struct {
	*server
	documents *documentHost
	pool      *sql.DB
	tabs      map[string]*browser
}

// field returns a column of an application, or "" if the application was deleted.
func (g *register) field(t testing.TB, id, column string) string {
	t.Helper()
	var value sql.NullString
	err := g.pool.QueryRowContext(t.Context(), "SELECT CAST("+column+" AS TEXT) FROM applications WHERE id = '"+id+
		"'").Scan(&value)
	if err != nil && err != sql.ErrNoRows {
		t.Fatal(err)
	}
	return value.String
}

// record returns all columns of an application, or "" if it was deleted.
func (g *register) record(t testing.TB, id string) string {
	t.Helper()
	found, err := g.pool.QueryContext(t.Context(), "SELECT * FROM applications WHERE id = '"+id+"'")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	names, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if !found.Next() {
		return ""
	}
	err = found.Scan(into...)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(values)
}

func (g *register) set(t testing.TB, id, assignments string) {
	t.Helper()
	_, err := g.pool.ExecContext(t.Context(), "UPDATE applications SET "+assignments+" WHERE id = '"+id+"'")
	if err != nil {
		t.Fatal(err)
	}
}

// made registers an application and sets who is responsible for it.
func (g *register) made(t testing.TB, standing string) application {
	t.Helper()
	by, more := "owner", []string{"grant_type", "authorization_code", "redirect_uris", "https://own.example/cb",
		"scope", "read"}
	switch standing {
	case "administrator":
		by = "root"
	case "open", "registered", "document":
		more = append(more, "client_type", "public")
	}
	app := g.tabs[by].registered(t, more...)
	switch standing {
	case "vouched":
		g.set(t, app.ID, "responsible = 'operator'")
	case "open":
		g.set(t, app.ID, "responsible = 'nobody', owner_id = NULL")
	case "registered":
		g.set(t, app.ID, "responsible = 'nobody', owner_id = NULL, origin = 'registration'")
	case "document":
		app.ClientID = g.documents.client("/"+app.ID, app.RedirectURI, nil).ClientID
		g.set(t, app.ID, "responsible = 'nobody', owner_id = NULL, origin = 'document', client_id = '"+app.ClientID+"'")
	}
	return app
}

func newRegister(t testing.TB, db database) *register {
	t.Helper()
	documents := newDocumentHost(t)
	s := startServer(t, documents.options(options{database: db,
		provider: []string{"GRANTS_BY_ADMINISTRATOR: [client_credentials]", "SCOPES_BY_ADMINISTRATOR: [write]",
			"SCOPES: {read: Read, write: Write, introspection: Introspect}", "PERSON_MAX_APPLICATIONS: 0"}}))
	g := &register{s, documents, db.open(t), map[string]*browser{"nobody": s.browser(t)}}
	for name, flags := range map[string][]string{"owner": nil, "other": nil, "root": {"--admin"}, "admin": {"--admin"}} {
		g.tabs[name] = s.signedIn(t, s.person(t, name, flags...))
	}
	return g
}

// actors are the columns of the table: who acts, and who is responsible for the
// application.
var actors = map[string]struct{ who, standing string }{
	"the owner, standing `person`":               {"owner", "person"},
	"the owner, if the operator is responsible":  {"owner", "vouched"},
	"another person":                             {"other", "person"},
	"an administrator, standing `administrator`": {"admin", "administrator"},
	"an administrator, standing `person`":        {"admin", "person"},
	"an administrator, standing `open`":          {"admin", "open"},
	"not signed in":                              {"nobody", "person"},
}

// deeds are the rows: the column of the database that changes, and the form that
// changes it. A form of the update page is added to the registered values.
var deeds = map[string]struct {
	column, path string
	form         url.Values
}{
	"rename it": {"name", "update/", params("name", "New")},
	"add a redirect URI": {"redirect_uris", "update/",
		params("redirect_uris", "https://own.example/cb\nhttps://own.example/new")},
	"add the password grant": {"grant_types", "update/",
		params("grant_type", "authorization_code", "grant_type", "password")},
	"add a grant of `GRANTS_BY_ADMINISTRATOR`": {"grant_types", "update/",
		params("grant_type", "authorization_code", "grant_type", "client_credentials")},
	"add a scope of `SCOPES_BY_ADMINISTRATOR`": {"scopes", "update/", params("scope", "read", "scope", "write")},
	"shorten its lifetimes": {"access_token_lifetime", "update/",
		params("access_token_lifetime", "60", "refresh_token_lifetime", "60")},
	"lengthen them beyond the server's": {"access_token_lifetime", "update/",
		params("access_token_lifetime", "36001")},
	"let it introspect":          {"may_introspect", "update/", params("may_introspect", "on")},
	"let it skip consent":        {"skip_consent", "update/", params("skip_consent", "on")},
	"let it omit PKCE":           {"pkce_exempt", "update/", params("pkce", "if-sent")},
	"replace its secret":         {"secret", "rotate/", params("overlap", "0")},
	"take it over":               {"COALESCE(owner_id, '')", "owner/", params("take_over", "on")},
	"assign it to somebody":      {"COALESCE(owner_id, '')", "owner/", params("owner", "other")},
	"revoke everything it holds": {"generation", "revoke/", params()},
	"delete it":                  {"id", "delete/", params()},
}

func TestStanding(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		g := newRegister(t, db)
		t.Run("actors", g.actors)
		t.Run("applications", g.applications)
	})
}

func (g *register) actors(t *testing.T) {
	columns, cells := docsTable(t, "Who may")
	there, asRegistered := map[string]application{}, map[string]string{}
	for row, want := range cells {
		for i, column := range columns {
			actor, known := actors[column]
			if !known {
				t.Fatalf("nobody is %q", column)
			}
			// An application that was not changed is used again for the next row.
			app := there[actor.standing]
			if app.ID == "" || g.record(t, app.ID) != asRegistered[app.ID] {
				app = g.made(t, actor.standing)
				there[actor.standing], asRegistered[app.ID] = app, g.record(t, app.ID)
			}
			if got := g.does(t, row, actor.who, app); got != want[i] {
				b := g.tabs[actor.who]
				t.Errorf("%s, %s: %s, want %s (%d %s)", row, column, got, want[i], b.Status, b.URL)
			}
			if want[i] == "no" && g.record(t, app.ID) != asRegistered[app.ID] {
				t.Errorf("%s, %s: it is refused, and something has changed", row, column)
			}
		}
	}
	if len(cells) != len(deeds)+1 {
		t.Errorf("the table has %d rows, and %d deeds are known", len(cells), len(deeds)+1)
	}
}

// does tries a row's action and returns whether it was done: "yes" or "no".
func (g *register) does(t testing.TB, row, who string, app application) string {
	t.Helper()
	b, path := g.tabs[who], "/o/applications/"+app.ID+"/"
	if row == "see it" {
		b.open(t, path)
		return yesOrNo(b.Status == http.StatusOK && strings.Contains(b.Body, app.ClientID))
	}
	deed, known := deeds[row]
	if !known {
		t.Fatalf("nobody does %q", row)
	}
	form := url.Values{}
	if deed.path == "update/" {
		form = url.Values{"name": {"Own"}, "client_type": {g.field(t, app.ID, "client_type")},
			"grant_type": {"authorization_code"}, "redirect_uris": {"https://own.example/cb"},
			"scope": {"read"}, "hash_client_secret": {"on"}, "access_token_format": {"opaque"}, "algorithm": {"RS256"}}
	}
	if deed.path == "owner/" || deed.path == "update/" {
		form.Set("version", g.field(t, app.ID, "version"))
	}
	for name, values := range deed.form {
		form[name] = values
	}
	before := g.field(t, app.ID, deed.column)
	b.send(t, path+deed.path, form)
	return yesOrNo(g.field(t, app.ID, deed.column) != before)
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// What an application itself may do, although everything possible is registered for it.
func (g *register) applications(t *testing.T) {
	columns, cells := docsTable(t, "| `administrator`")
	if !slices.Equal(columns, []string{"`administrator`", "`person`", "`open`"}) || len(cells) != 15 {
		t.Fatalf("the table of standings is another one than is tested: %q, %d rows", columns, len(cells))
	}
	victim := g.person(t, "victim")
	asked := g.mustToken(t, g.application(t, "--name", "Asked", "--grant", "client_credentials").auth(),
		params("grant_type", "client_credentials")).AccessToken
	for standing, want := range map[string]string{
		"administrator": "machine 200, password 200, device 200, code query, life 86400, scope read write, introspects 200",
		"person":        "machine 400, password 200, device 200, code consent, life 36000, scope read, introspects 403",
		"open":          "machine 400, password 400, device 400, code consent, life 3600, scope read, introspects 403",
		// The two ways in which an application comes by itself.
		"registered": "machine 400, password 400, device 400, code consent, life 3600, scope read, introspects 403",
		"document":   "machine 400, password 400, device 400, code consent, life 3600, scope read, introspects 403",
	} {
		app := g.made(t, standing)
		g.set(t, app.ID, "grant_types = 'authorization_code client_credentials password "+deviceGrant+
			"', scopes = '', may_introspect = TRUE, skip_consent = TRUE, pkce_exempt = TRUE, access_token_lifetime = 86400, "+
			"refresh_token_lifetime = 86400")
		machine, a := g.token(t, app.auth(), params("grant_type", "client_credentials"))
		_, b := g.token(t, app.auth(), params("grant_type", "password", "username", victim.Name, "password", victim.Password))
		d := g.post(t, "/o/device_authorization/", app.auth(), params())
		tab := g.signedIn(t, victim)
		address, verifier := g.authorizeURL(app)
		tab.open(t, address)
		way := "query"
		if tab.Away == nil {
			way = "consent"
			tab.decide(t, "approve")
		}
		got := g.redeem(t, app, tab.Away.Query().Get("code"), verifier)
		if machine.AccessToken != "" && machine.Scope != got.Scope {
			t.Errorf("%s: for itself %q, for a person %q", standing, machine.Scope, got.Scope)
		}
		c := g.post(t, "/o/introspect/", app.auth(), params("token", asked))
		if line := fmt.Sprintf("machine %d, password %d, device %d, code %s, life %d, scope %s, introspects %d", a.Status,
			b.Status, d.Status, way, got.ExpiresIn, got.Scope, c.Status); line != want {
			t.Errorf("%s:\n got %s\nwant %s", standing, line, want)
		}
		// RFC 9700 §2.1.1: every client needs PKCE, except confidential clients for which an
		// administrator is responsible.
		address, _ = g.authorizeURL(app, "code_challenge", "", "code_challenge_method", "")
		tab.open(t, address)
		if omitted := tab.Away != nil && tab.Away.Query().Get("code") != ""; omitted != (standing == "administrator") {
			t.Errorf("%s: without PKCE it gets a code: %t", standing, omitted)
		}
	}
}
