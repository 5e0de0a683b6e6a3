package mandate

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// guesses tries passwords until an attempt is refused without a check, and returns how
// many were checked.
func (s *server) guesses(t testing.TB, as auth, name string) int {
	t.Helper()
	for n := 0; ; n++ {
		a := s.post(t, "/login/", as, params("username", name, "password", fmt.Sprint("wrong guess ", n)))
		if a.Status == http.StatusTooManyRequests {
			return n
		}
		if a.Status != http.StatusUnprocessableEntity || n > 100 {
			t.Fatalf("guess %d: %d", n, a.Status)
		}
	}
}

// RFC 6749 §10.10: password guessing stays slow, whatever other requests the server
// gets. Requests with unregistered client ids, each another one, must not fill the
// memory that counts failed attempts.
func TestAttackThrottleIsEmptied(t *testing.T) {
	ownProcesses(t) // a server with the race detector is too slow for the flood
	attack(t, "brute force protection exhausted by a flood", "")
	s := startServer(t, options{settings: []string{ours}})
	s.person(t, "alice")
	began := time.Now()
	var from []auth
	for range 6 {
		from = append(from, afar(nobody))
		checkEqual(t, "guesses at first", s.guesses(t, from[len(from)-1], "alice") >= 10, true)
	}
	logged := len(s.log.String())
	s.unknownClients(t, 54_000)
	t.Logf("the flood took %v", time.Since(began))
	if grown := len(s.log.String()) - logged; grown > 1<<20 {
		t.Errorf("the flood wrote %d bytes of log", grown)
	}
	for i, as := range from {
		// One attempt becomes available again after ten seconds.
		most := int(time.Since(began)/(10*time.Second)) + 1
		if n := s.guesses(t, as, "alice"); n > most {
			t.Errorf("after the flood %d more guesses are looked at from address %d, want %d at most", n, i, most)
		}
	}
	// The log reports the flood ten seconds after its start. In the meantime other
	// attackers use other names and addresses.
	t.Run("one password at many accounts", s.passwordsAreSprayed)
	t.Run("one address locks a person out", s.oneAddressLocksOut)
	waitFor(t, "the log says how many lines were left out", func() bool {
		s.get(t, "/healthz", nobody) // the first request after some seconds writes the log line
		return strings.Contains(s.log.String()[logged:], "address=198.51.100.1 status=429")
	})
}

// unknownClients sends token requests, each with another client id. Every twentieth comes from one address; each of the
// others has its own address, in total 51,300 of 54,000. So the ids alone, and the addresses alone, are more than the
// 50,000 counters that the server keeps of each kind. In any part of the flood the one address is among the twenty
// networks with the most requests, which the log names: a /24 sends 244 at most. The server forgets a counter with no
// used attempts; an address with one attempt gets there after a second. Requests on a connection do not wait for
// answers.
func (s *server) unknownClients(t testing.TB, n int) {
	t.Helper()
	const connections = 4
	var group sync.WaitGroup
	for c := range connections {
		group.Go(func() {
			err := s.pipeline(n/connections, func(i int) string {
				i = i*connections + c
				from := "198.51.100.1"
				if i%20 != 0 {
					from = fmt.Sprintf("11.%d.%d.%d", i>>16&255, i>>8&255, i&255)
				}
				form := fmt.Sprintf("grant_type=client_credentials&client_secret=x&client_id=unknown-%d", i)
				return fmt.Sprintf("POST /o/token/ HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Type: "+
					"application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", from, len(form), form)
			}, func(status int) bool {
				return status == http.StatusUnauthorized || status == http.StatusTooManyRequests
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// pipeline sends n requests on one connection and checks the status of each answer.
func (s *server) pipeline(n int, request func(i int) string, fine func(status int) bool) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		out := bufio.NewWriterSize(conn, 64<<10)
		for i := range n {
			_, _ = out.WriteString(request(i)) // if writing fails, reading the answers fails too
		}
		_ = out.Flush()
	}()
	in := bufio.NewReaderSize(conn, 64<<10)
	for range n {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err != nil {
			return err
		}
		if !fine(response.StatusCode) {
			return fmt.Errorf("the flood was answered with %d", response.StatusCode)
		}
	}
	return nil
}

// oneByOne computes one password hash at a time, at the default cost, so that hashes form
// a queue. A client may have 16 hashes in it, and a hash may wait for ten seconds: with
// dearer hashes, those of one client would take that long on a busy computer.
var oneByOne = []string{ours, "PASSWORD_HASH_MEMORY_KIB: 19456", "PASSWORD_HASH_ITERATIONS: 2",
	"PASSWORD_HASH_CONCURRENCY: 1"}

// atOnce calls f many times at once and returns when the first is answered. rest waits
// for the others and returns how many were refused with 429.
func atOnce(t testing.TB, n int, f func(i int) (answer, error)) (rest func() int) {
	t.Helper()
	first := make(chan struct{})
	var once sync.Once
	var group sync.WaitGroup
	var refused atomic.Int64
	for i := range n {
		group.Go(func() {
			a, err := f(i)
			switch {
			case err != nil:
				t.Error(err)
			case a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") == "":
				t.Error("429 without Retry-After")
			case a.Status == http.StatusTooManyRequests:
				refused.Add(1)
			}
			once.Do(func() { close(first) })
		})
	}
	<-first
	return func() int {
		group.Wait()
		return int(refused.Load())
	}
}

// wantRefused fails the test unless most of the concurrent requests were refused
// without a hash.
func wantRefused(t testing.TB, refused, of int) {
	t.Helper()
	if refused < of/2 {
		t.Errorf("of %d that came at once %d were refused, want most", of, refused)
	}
}

// A client secret that a person chose needs a slow hash to check, and so does a
// password. Concurrent wrong ones are counted before they are hashed, so that other
// requests need not wait.
func TestAttackQueueOfHashesIsFilled(t *testing.T) {
	attack(t, "resource exhaustion by password hashing", "")
	s := startServer(t, options{settings: oneByOne})
	chosen := func(name string) application {
		secret := s.secret("chosen by a person: " + name)
		s.mustCLI(t, secret+"\n", "application", "add", "--client-secret-stdin", "--client-id", name, "--name", name,
			"--grant", "client_credentials", "--grant", "password")
		return application{ClientID: name, ClientSecret: secret}
	}
	target, other := chosen("target"), chosen("other")
	alice := s.person(t, "alice")
	ask := func(t *testing.T, as auth, form url.Values) {
		t.Helper()
		a := s.post(t, "/o/token/", as, form)
		checkEqual(t, "status of another client's request", a.Status, http.StatusOK)
	}
	t.Run("wrong secrets of one client from one address", func(t *testing.T) {
		from := afar(nobody)
		rest := atOnce(t, 300, func(i int) (answer, error) {
			return s.tryPost("/o/token/", func(r *http.Request, form url.Values) {
				from(r, form)
				basic(target.ClientID, fmt.Sprintf("a wrong secret: %d", i))(r, form)
			}, params("grant_type", "client_credentials"))
		})
		ask(t, afar(other.auth()), params("grant_type", "client_credentials"))
		wantRefused(t, rest(), 300)
	})
	t.Run("wrong secrets of one client from many addresses", func(t *testing.T) {
		rest := atOnce(t, 300, func(i int) (answer, error) {
			return s.tryPost("/o/token/", afar(basic(target.ClientID, fmt.Sprintf("another wrong secret: %d", i))),
				params("grant_type", "client_credentials"))
		})
		ask(t, afar(other.auth()), params("grant_type", "password", "username", alice.Name, "password", alice.Password))
		wantRefused(t, rest(), 300)
	})
	// One address that sends many passwords must not prevent people at other addresses
	// from signing in.
	t.Run("wrong passwords from one address", func(t *testing.T) {
		from := afar(nobody)
		// The limit of an address refuses fewer than half of them.
		rest := atOnce(t, 180, func(i int) (answer, error) {
			return s.tryPost("/login/", from, params("username", fmt.Sprint("nobody", i), "password", "a wrong password"))
		})
		a := s.post(t, "/login/", afar(nobody), params("username", alice.Name, "password", alice.Password))
		checkEqual(t, "status of the login of somebody else", a.Status, http.StatusSeeOther)
		wantRefused(t, rest(), 180)
	})
}
