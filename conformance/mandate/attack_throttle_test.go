package mandate

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// guesses tries a password until a guess is refused unseen, and says how many were looked at.
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

// RFC 6749 §10.10: guessing at a password stays slow, whatever else the server is sent. Requests from clients that
// nobody registered, each with an id of its own, must not use up the memory in which guesses are counted.
func TestAttackThrottleIsEmptied(t *testing.T) {
	attack(t, "brute force protection exhausted by a flood", "")
	s := startServer(t, options{settings: append([]string{ours}, cheap...)})
	s.person(t, "alice")
	began := time.Now()
	var from []auth
	for range 6 {
		from = append(from, afar(nobody))
		checkEqual(t, "guesses at first", s.guesses(t, from[len(from)-1], "alice") >= 10, true)
	}
	logged := len(s.log.String())
	s.unknownClients(t, 101_000)
	t.Logf("the flood took %v", time.Since(began))
	if grown := len(s.log.String()) - logged; grown > 1<<20 {
		t.Errorf("the flood wrote %d bytes of log", grown)
	}
	for i, as := range from {
		// One try comes back in ten seconds.
		most := int(time.Since(began)/(10*time.Second)) + 1
		if n := s.guesses(t, as, "alice"); n > most {
			t.Errorf("after the flood %d more guesses are looked at from address %d, want %d at most", n, i, most)
		}
	}
	waitFor(t, "the log says how many lines were left out", func() bool {
		s.get(t, "/healthz", nobody) // the first request after some seconds writes it
		return strings.Contains(s.log.String()[logged:], "address=198.51.100.1 status=429")
	})
}

// unknownClients sends token requests, each with a client id of its own. Every other one comes from one address, and the
// rest from as many addresses. The requests of a connection do not wait for each other's answers.
func (s *server) unknownClients(t testing.TB, n int) {
	t.Helper()
	const connections = 4
	var group sync.WaitGroup
	for c := range connections {
		group.Go(func() {
			err := s.pipeline(n/connections, func(i int) string {
				i = i*connections + c
				from := "198.51.100.1"
				if i%2 == 0 {
					from = fmt.Sprintf("11.%d.%d.%d", i>>16&255, i>>8&255, i&255)
				}
				form := fmt.Sprintf("grant_type=client_credentials&client_secret=x&client_id=unknown-%d", i)
				return fmt.Sprintf("POST /o/token/ HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", from, len(form), form)
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

// pipeline sends n requests over one connection and looks at the status of each answer.
func (s *server) pipeline(n int, request func(i int) string, fine func(status int) bool) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		out := bufio.NewWriterSize(conn, 64<<10)
		for i := range n {
			_, _ = out.WriteString(request(i)) // where it fails, the answers fail too
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
