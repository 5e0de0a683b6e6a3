package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Any person with an account can register applications, and so have many applications
// that ask for passwords.

// ours is the setting that lets a test choose the source address of a request.
const ours = "TRUSTED_PROXIES: [127.0.0.1]"

// sprayers registers n applications for the password grant. Their owner is a new person
// without administrator rights.
func (s *server) sprayers(t testing.TB, name string, n int) []application {
	t.Helper()
	b := s.signIn(t, s.person(t, name), "/o/applications/register/")
	var apps []application
	for i := range n {
		b.open(t, "/o/applications/register/")
		apps = append(apps, b.registers(t,
			params("name", fmt.Sprint("sprayer ", i), "client_type", "confidential", "grant_type", "password")))
	}
	return apps
}

// RFC 9700 §2.4: the password grant shows passwords to applications. An application
// that a person registered cannot try one password at many accounts: its address and
// its owner have a limited number of attempts for all accounts.
func (s *server) passwordsAreSprayed(t *testing.T) {
	attack(t, "password spraying", "")
	apps := s.sprayers(t, "mallory", 3)
	const tries = 100 // of an owner, and of an address; one comes back in a second
	spray := func(t *testing.T, from func(i int) auth) {
		t.Helper()
		began := time.Now()
		var looked, next atomic.Int64
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for i := int(next.Add(1)); i <= 3*tries; i = int(next.Add(1)) {
					as := from(i)
					a, err := s.tryPost("/o/token/", func(r *http.Request, form url.Values) {
						as(r, form)
						apps[i%len(apps)].auth()(r, form)
					}, params("grant_type", "password", "username", fmt.Sprint("somebody", i), "password", "Password123456"))
					switch {
					case err != nil:
						t.Error(err)
					case a.Status == http.StatusBadRequest:
						looked.Add(1)
					case a.Status != http.StatusTooManyRequests:
						t.Errorf("%d %s", a.Status, a.Body)
					}
				}
			})
		}
		group.Wait()
		if most := tries + int(time.Since(began)/time.Second) + 1; int(looked.Load()) > most {
			t.Errorf("the password was tried at %d accounts, want %d at most", looked.Load(), most)
		}
	}
	here := afar(nobody)
	t.Run("from one address", func(t *testing.T) { spray(t, func(int) auth { return here }) })
	t.Run("from many addresses", func(t *testing.T) { spray(t, func(int) auth { return afar(nobody) }) })
	// This does not slow the login page or applications for which an administrator is
	// responsible.
	carol := s.person(t, "carol")
	a := s.post(t, "/login/", here, params("username", carol.Name, "password", carol.Password))
	checkEqual(t, "status of a login", a.Status, http.StatusSeeOther)
	trusted := s.application(t, "--name", "intranet", "--grant", "password")
	s.mustToken(t, afar(trusted.auth()),
		params("grant_type", "password", "username", carol.Name, "password", carol.Password))
}

// Guesses for one account from one address, through any number of applications, slow
// that address and those applications. They do not slow the person at the login page or
// at an administrator's application.
func (s *server) oneAddressLocksOut(t *testing.T) {
	attack(t, "account lockout as denial of service", "")
	bob := s.person(t, "bob")
	here := afar(nobody)
	looked := 0
	for _, app := range s.sprayers(t, "trudy", 13) {
		for i := 0; ; i++ {
			a := s.post(t, "/o/token/", func(r *http.Request, form url.Values) {
				here(r, form)
				app.auth()(r, form)
			}, params("grant_type", "password", "username", bob.Name, "password", fmt.Sprint("wrong guess ", i)))
			if a.Status == http.StatusTooManyRequests {
				break
			}
			checkEqual(t, "status of a guess", a.Status, http.StatusBadRequest)
			looked++
		}
	}
	checkEqual(t, "guesses are looked at before the first is refused", looked >= 10, true)
	a := s.post(t, "/login/", afar(nobody), params("username", bob.Name, "password", bob.Password))
	checkEqual(t, "status of the person's login", a.Status, http.StatusSeeOther)
	phone := s.application(t, "--name", "phone", "--grant", "password", "--client-type", "public")
	s.mustToken(t, afar(phone.auth()), params("grant_type", "password", "username", bob.Name, "password", bob.Password))
}
