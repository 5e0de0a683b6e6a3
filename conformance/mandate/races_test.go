package mandate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
)

// TestRaces has several people at the pages of one server with the race detector, while clients get tokens and an
// operator gives commands. The log of the server must not report a race. The package conformance does the same for all
// requests of clients: there the rules of each document run on a server with the race detector, many at the same time.
func TestRaces(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, watched: true})
		if refused := v.serveClients(t, 1); refused > 0 {
			t.Fatalf("%d requests were refused before anybody changed something", refused)
		}
		var work sync.WaitGroup
		for i, p := range []person{v.admin, v.admin, v.alice, v.bob} {
			b := v.signedIn(t, p)
			work.Go(func() { b.wander(t, i%2 == 0) })
		}
		for range 3 {
			work.Go(func() { v.serveClients(t, 10) })
		}
		work.Go(func() { v.rotate(t) })
		work.Wait()
	})
}

// serveClients gets and uses tokens some times, and returns how many requests were refused: visitors change people and
// applications.
func (v *fixture) serveClients(t testing.TB, times int) (refused int) {
	send := func(path string, app application, form url.Values) (got tokens) {
		a, err := v.tryPost(path, app.auth(), form)
		if err != nil || a.Status >= http.StatusInternalServerError {
			t.Errorf("%s %v: %v, %d %s", path, form, err, a.Status, a.Body)
		}
		if a.Status != http.StatusOK {
			refused++
		}
		_ = json.Unmarshal([]byte(a.Body), &got) // not each response has tokens
		for _, secret := range []string{got.AccessToken, got.RefreshToken} {
			v.secret(secret)
		}
		return got
	}
	for range times {
		got := send("/o/token/", v.web, params("grant_type", "password", "username", v.bob.Name,
			"password", v.bob.Password, "scope", "read"))
		send("/o/token/", v.web, params("grant_type", "client_credentials", "scope", "read"))
		send("/o/device_authorization/", v.tv, params("client_id", v.tv.ClientID, "scope", "read"))
		send("/o/introspect/", v.asker, params("token", got.AccessToken))
		next := send("/o/token/", v.web, refreshForm(got.RefreshToken))
		send("/o/revoke_token/", v.web, params("token", next.RefreshToken))
		v.get(t, "/groups/", bearer(got.AccessToken))
	}
	return refused
}

// rotate gives commands while the server runs.
func (v *fixture) rotate(t testing.TB) {
	for i := range 5 {
		v.mustCLI(t, "", "keys", "rotate")
		v.person(t, fmt.Sprint("person-", i))
		v.application(t, "--name", fmt.Sprint("Application ", i), "--grant", "client_credentials")
		v.get(t, "/o/.well-known/jwks.json", nobody)
	}
}

// wander opens each page that it finds a link to, once, and submits the forms of the page as they are, except those
// that sign somebody out or take an account or an application away. Of two visitors one begins with the newest link, so
// that one reads what the other one changes.
func (b *browser) wander(t testing.TB, newestFirst bool) {
	found, seen := []string{"/"}, map[string]bool{}
	for len(found) > 0 && len(seen) < 60 {
		at := 0
		if newestFirst {
			at = len(found) - 1
		}
		path := found[at]
		found = slices.Delete(found, at, at+1)
		b.open(t, path)
		b.wantNoFailure(t, path)
		for _, link := range b.links() {
			if !seen[link] {
				seen[link] = true
				found = append(found, link)
			}
		}
		page := b.URL
		for _, f := range b.forms() {
			action, err := page.Parse(attribute(f.node, "action"))
			if err != nil {
				t.Error(err)
				return
			}
			if attribute(f.node, "method") == "post" && !ending.MatchString(action.Path) {
				b.send(t, action.RequestURI(), f.values())
				b.wantNoFailure(t, action.RequestURI())
			}
		}
	}
}

// ending matches the paths of forms after which a visitor would find no more pages.
var ending = regexp.MustCompile(`^/log(in|out)/|/(end|delete|disable|revoke)/$`)

func (b *browser) wantNoFailure(t testing.TB, what string) {
	if b.Status >= http.StatusInternalServerError {
		t.Errorf("%s: %d %s", what, b.Status, b.Body)
	}
}

// links returns the paths of this server to which the page has links. Pages that differ in their parameters alone
// are one page.
func (b *browser) links() []string {
	page, err := html.Parse(strings.NewReader(b.Body))
	if err != nil {
		return nil // the parser takes anything; only a reader can fail
	}
	var paths []string
	for node := range page.Descendants() {
		if node.Data != "a" {
			continue
		}
		target, err := b.URL.Parse(attribute(node, "href"))
		if err == nil && b.home(target) {
			paths = append(paths, (&url.URL{Path: target.Path}).String())
		}
	}
	return paths
}
