package programs

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// refreshed is how old a session of oauth2-proxy gets before a request refreshes it.
const refreshed = 2 * time.Second

var oauth2Proxy = program{
	name: "oauth2-proxy", version: goVersion("oauth2-proxy", "github.com/oauth2-proxy/oauth2-proxy/v7"),
	redirect: "/oauth2/callback", login: "/oauth2/start?rd=/",
	shows: person{"alice", "alice@example.com", []string{"admins", "staff"}}, // it passes the username on, not the name
	start: func(t *testing.T, s *site) *exec.Cmd {
		return exec.Command(fromGo(t, "oauth2-proxy", "github.com/oauth2-proxy/oauth2-proxy/v7"),
			"--provider=oidc", "--oidc-issuer-url="+s.server.issuer, "--client-id="+s.id, "--client-secret="+s.secret,
			"--redirect-url="+s.url("/oauth2/callback"), "--scope=openid email profile groups", "--email-domain=*",
			"--upstream="+echo(t),
			"--http-address="+s.address, "--cookie-secret="+rand.Text()[:16], "--cookie-secure=false", "--cookie-refresh="+
				refreshed.String())
	},
	also: refreshInParallel,
}

// echo is a website behind the proxy. It shows the headers that the proxy adds.
func echo(t *testing.T) string {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(person{r.Header.Get("X-Forwarded-Preferred-Username"),
			r.Header.Get("X-Forwarded-Email"), strings.Split(r.Header.Get("X-Forwarded-Groups"), ",")})
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// refreshInParallel loads a page with six files when the session is old enough: each of the requests refreshes it, with
// the same refresh token. Without a grace period the second one would end the session (RFC 9700 §4.14.2 leaves it open
// what counts as reuse).
func refreshInParallel(t *testing.T, s *site, v *visitor) {
	t.Helper()
	<-time.After(refreshed + time.Second) // by the proxy's clock
	cookies := v.Cookies()
	answers := make([]*http.Response, 6)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = request(t, s.url("/file"), cookies) })
	}
	all.Wait()
	for i, answer := range answers {
		if answer == nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("request %d of six: %v", i, answer)
		}
		if len(answer.Cookies()) == 0 {
			t.Errorf("request %d of six did not refresh the session", i)
		}
		if later := request(t, s.url("/file"), answer.Cookies()); later.StatusCode != http.StatusOK {
			t.Errorf("after request %d of six the session has ended: %s", i, later.Status)
		}
	}
}

func request(t *testing.T, address string, cookies []*http.Cookie) *http.Response {
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, c := range cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Error(err)
		return nil
	}
	answer.Body.Close()
	return answer
}
