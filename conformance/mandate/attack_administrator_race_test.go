package mandate

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// form returns the form with a button, as the page shows it.
func (b *browser) form(t testing.TB, path, button string) url.Values {
	t.Helper()
	b.open(t, path)
	f, _ := b.find(t, button, nil)
	return f.values()
}

// whileSending sends a form again and again with the cookie of a session, from several connections, while it runs do.
// It returns after all requests were answered.
func (s *server) whileSending(t *testing.T, session, path string, form url.Values, do func()) {
	t.Helper()
	var stop atomic.Bool
	var answered atomic.Int64
	var all sync.WaitGroup
	begun := make(chan struct{})
	for range 12 {
		all.Go(func() {
			for !stop.Load() {
				_, err := s.tryPost(path, func(r *http.Request, _ url.Values) {
					r.Header.Set("Cookie", "mandate_session="+session)
					r.Header.Set("Sec-Fetch-Site", "same-origin")
				}, form)
				if err != nil {
					t.Error(err)
					return
				}
				if answered.Add(1) == 24 {
					close(begun)
				}
			}
		})
	}
	<-begun
	do()
	stop.Store(true)
	all.Wait()
}

// The stolen session of an administrator sends what is stored, at the moment at which another administrator takes
// rights away. A form that was checked before that moment must not be stored after it.
func TestAttackStolenSessionUndoesAChange(t *testing.T) {
	attack(t, "check and use of another state (CWE-367)", "")
	forEachDatabaseInTurn(t, func(t *testing.T, db database) {
		a := newAdministered(t, db)
		stolen := a.browser.cookie(t, "/", "mandate_session")
		// Another administrator signs in now.
		other := a.signedIn(t, a.person(t, "third", "--admin"))
		for range 3 {
			other.open(t, a.page)
			other.submit(t, "Save changes", params("administrator", "on", "active", "on"))
			form := other.form(t, a.page, "Save changes")
			form.Del("shown") // what the page showed
			a.whileSending(t, stolen, a.page, form, func() {
				other.submit(t, "Save changes", url.Values{"administrator": nil})
			})
			checkEqual(t, "the demotion leads to", other.URL.Path, "/admin/users/")
			checkEqual(t, "administrators with the name alice", rows(t, db, "users WHERE username = 'alice' AND administrator"),
				0)

			update := "/o/applications/" + a.shop.ID + "/update/"
			other.open(t, update)
			other.submit(t, "Save changes", params("redirect_uris", "https://shop.example/cb\nhttps://former.example/back"))
			form = other.form(t, update, "Save changes")
			version, err := strconv.Atoi(form.Get("version"))
			if err != nil {
				t.Fatal(err)
			}
			form.Set("version", strconv.Itoa(version+1)) // the one that the other administrator makes
			a.whileSending(t, stolen, update, form, func() {
				other.submit(t, "Save changes", params("redirect_uris", "https://shop.example/cb"))
			})
			var uris string
			behind(t, db, `SELECT redirect_uris FROM applications WHERE client_id = '`+a.shop.ClientID+`'`, &uris)
			if strings.Contains(uris, "former") {
				t.Errorf("the redirect URIs are %q", uris)
			}
		}
	})
}
