package mandate

import (
	"net/http"
	"net/url"
	"testing"

	"mandate/storage/postgrestest"
)

// A commit whose wait for the standby was ended is visible on the primary, and is lost with it. The client got 503, and
// sends the request again. It must not hear that all is done because the server finds the change there.
func TestNoSuccessRestsOnWhatTheStandbyDoesNotHave(t *testing.T) {
	ownProcesses(t)
	primary := postgrestest.New(t)
	v := newFixture(t, options{database: database{name: "postgres", url: primary.URL(t)},
		provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 60"}})
	family := func(t testing.TB) tokens { t.Helper(); return v.signedIn(t, v.alice).family(t, v.web, v.alice) }
	revoke := func(token string) func() (answer, error) {
		return func() (answer, error) { return v.tryPost("/o/revoke_token/", v.web.auth(), params("token", token)) }
	}
	for _, c := range []struct {
		name   string
		status int
		send   func(testing.TB) func() (answer, error)
	}{
		{"revocation of a token family", 200,
			func(t testing.TB) func() (answer, error) { return revoke(family(t).RefreshToken) }},
		{"revocation of a token of its own", 200, func(t testing.TB) func() (answer, error) {
			return revoke(v.mustToken(t, v.web.auth(), params("grant_type", "client_credentials")).AccessToken)
		}},
		{"refresh", 200, func(t testing.TB) func() (answer, error) {
			form := refreshForm(family(t).RefreshToken)
			return func() (answer, error) { return v.tryPost("/o/token/", v.web.auth(), form) }
		}},
		{"sign-out", 303, func(t testing.TB) func() (answer, error) {
			session := v.signedIn(t, v.alice).cookie(t, "/", "mandate_session")
			as := func(r *http.Request, form url.Values) {
				withCookie("mandate_session", session)(r, form)
				sameSite(r, form)
			}
			return func() (answer, error) { return v.tryPost("/logout/", as, params()) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			send := c.send(t)
			primary.StandbyIsMissing(t)
			for _, turn := range []string{"the first request", "the second request"} {
				answered := make(chan int, 1)
				go func() {
					a, err := send()
					if err != nil {
						t.Error(err)
					}
					answered <- a.Status
				}()
				status := 0
				waitFor(t, turn+" is answered", func() bool {
					primary.EndWaits(t)
					select {
					case status = <-answered:
						return true
					default:
						return false
					}
				})
				if status != http.StatusServiceUnavailable {
					t.Errorf("%s got %d", turn, status)
				}
			}
			primary.StandbyIsBack(t)
			a, err := send()
			if err != nil || a.Status != c.status {
				t.Errorf("with the standby: %d, %v", a.Status, err)
			}
		})
	}
}
