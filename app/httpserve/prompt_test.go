package httpserve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/testkit"
)

// answered is an answer, when it came, and whether the connection then ended.
type answered struct {
	status int
	after  time.Duration
	closed bool
	header string // Connection
}

// exchange sends text on a new connection, and then the rest after a time.
func (p *pipes) exchange(t *testing.T, text, rest string, after time.Duration) (answered, *bufio.Reader, net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	p.connections <- server
	begin := time.Now()
	go func() {
		_, _ = io.WriteString(client, text)
		time.Sleep(after)
		_, _ = io.WriteString(client, rest)
	}()
	reader := bufio.NewReader(client)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return answered{}, reader, client
	}
	a := answered{
		status: resp.StatusCode,
		after:  time.Since(begin),
		closed: resp.Close,
		header: resp.Header.Get("Connection"),
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return a, reader, client
}

// A request without the rest of its content gets its answer at once, and its connection is closed. A
// stranger could otherwise hold a place for the whole time of a request, and a client waits.
//
// CVE-2020-16845 and the slow bodies of Slowloris' successors (R.U.D.Y.) are of the class.
func TestAttackUnfinishedContent(t *testing.T) {
	refuse := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large": // more than net/http keeps back
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, strings.Repeat("a", 10_000))
		case "/flush":
			w.WriteHeader(http.StatusUnauthorized)
			_ = http.NewResponseController(w).Flush()
		case "/nothing":
		case "/close":
			r.Body.Close()
			w.WriteHeader(http.StatusUnauthorized)
		case "/read":
			_, _ = io.ReadAll(r.Body)
			time.Sleep(time.Minute) // the client's connection is watched meanwhile
			if r.Context().Err() == nil {
				_, _ = io.WriteString(w, "read")
			}
		case "/part":
			_, _ = io.ReadFull(r.Body, make([]byte, 2))
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			if r.Context().Err() != nil {
				panic("the request was cancelled")
			}
		}
	}
	const length, chunked = "Content-Length: 10\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
	for _, path := range []string{"/", "/large", "/flush", "/nothing", "/close", "/part"} {
		for _, content := range []string{
			length,
			chunked,
			"Content-Length: 1000000\r\n\r\nabc",
			"Content-Length: 10\r\n\r\n",
		} {
			if path == "/part" && strings.HasSuffix(content, "\n\r\n") {
				continue // it waits for the part
			}
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				stop, result := running(p, Stop{}, refuse)
				got, reader, conn := p.exchange(t, "POST "+path+" HTTP/1.1\r\nHost: a\r\n"+content, "", 0)
				if got.after > restPatience || !got.closed {
					t.Errorf("%s %q: %+v", path, content, got)
				}
				if _, err := reader.ReadByte(); err == nil {
					t.Errorf("%s %q: the connection stays open", path, content)
				}
				conn.Close()
				stop()
				if err := <-result; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A handler that may read the content while it answers, as a proxy does, answers early too. The client
// must know that the connection ends: it would send its next request on it, and nobody answers that one.
//
// RFC 9112 §9.3, §9.6: a server that does not read the rest closes the connection, and says so in the answer.
func TestEarlyAnswerOfAProxyEndsTheConnection(t *testing.T) {
	for path, closed := range map[string]bool{
		"/":       true,
		"/write":  true,
		"/flush":  true,
		"/part":   true,
		"/closed": true,
		"/all":    false,
	} {
		for _, content := range []string{"Content-Length: 6\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
			if path == "/all" {
				content = "Content-Length: 6\r\n\r\nabcdef"
			}
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				stop, result := running(p, Stop{}, func(w http.ResponseWriter, r *http.Request) {
					control := http.NewResponseController(w)
					_ = control.EnableFullDuplex()
					w.WriteHeader(http.StatusEarlyHints)
					switch r.URL.Path {
					case "/part":
						_, _ = io.ReadFull(r.Body, make([]byte, 2))
					case "/closed":
						r.Body.Close()
					case "/all":
						_, _ = io.ReadAll(r.Body)
					case "/write":
						_, _ = io.WriteString(w, "refused")
						return
					case "/flush":
						_ = control.Flush()
						return
					}
					w.WriteHeader(http.StatusUnauthorized)
				})
				got, reader, conn := p.exchange(t, "POST "+path+" HTTP/1.1\r\nHost: a\r\n"+content, "", 0)
				if got.status == http.StatusEarlyHints {
					resp, err := http.ReadResponse(reader, nil)
					if err != nil {
						t.Fatal(err)
					}
					got.closed = resp.Close
				}
				if got.after > restPatience || got.closed != closed {
					t.Errorf("%s %q: %+v", path, content, got)
				}
				conn.Close()
				stop()
				if err := <-result; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A transport closes the content when it has the time, such as after the answer. The next request on the
// connection keeps its own time.
func TestLateCloseLeavesTheNextRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		next := make(chan struct{})
		var got string
		stop, result := running(p, Stop{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/first" {
				go func() {
					<-next
					r.Body.Close()
				}()
				return
			}
			close(next)
			read, err := io.ReadAll(r.Body)
			got = fmt.Sprint(string(read), err)
		})
		first, reader, conn := p.exchange(t, "POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc", "def", 0)
		if first.closed {
			t.Fatalf("the connection was not kept: %+v", first)
		}
		fmt.Fprintf(conn, "POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
		time.Sleep(10 * restPatience)
		fmt.Fprintf(conn, "def")
		if _, err := http.ReadResponse(reader, nil); err != nil || got != "abcdef<nil>" {
			t.Errorf("the next request was read as %q: %v", got, err)
		}
		conn.Close()
		stop()
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

// A connection is used again if the content arrives, or was read.
func TestContentArrives(t *testing.T) {
	for _, path := range []string{"/", "/read"} {
		for _, after := range []time.Duration{0, restPatience / 2} {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				stop, result := running(p, Stop{}, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/read" {
						_, _ = io.ReadAll(r.Body)
						time.Sleep(time.Minute)
						if err := r.Context().Err(); err != nil {
							t.Errorf("the request was cancelled: %v", err)
						}
					}
					w.WriteHeader(http.StatusUnauthorized)
				})
				got, reader, conn := p.exchange(
					t, "POST "+path+" HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc", "def", after,
				)
				if got.closed {
					t.Errorf("%s after %v: %+v", path, after, got)
				}
				time.Sleep(time.Minute) // no deadline of the first request is left
				fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				if resp, err := http.ReadResponse(reader, nil); err != nil || resp.StatusCode != 401 {
					t.Errorf("%s after %v, the next request: %v, %v", path, after, resp, err)
				}
				conn.Close()
				stop()
				if err := <-result; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A handler that reads the content while it answers gets all of it, however late it comes.
func TestContentWhileAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		var all string
		stop, result := running(p, Stop{}, func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			_ = control.EnableFullDuplex()
			_, _ = io.WriteString(w, strings.Repeat("a", 5000))
			_ = control.Flush()
			read, err := io.ReadAll(r.Body)
			all = fmt.Sprint(string(read), err)
		})
		got, _, conn := p.exchange(t, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc", "def", time.Minute)
		if got.after > 0 || all != "abcdef<nil>" {
			t.Errorf("%+v, %s", got, all)
		}
		conn.Close()
		stop()
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

// RFC 9112 §6.1, §6.3: whoever is in front of this server may have read another end of such a request.
//
// CVE-2019-16276 and CVE-2022-1705 are of the class: Transfer-Encoding that one of two servers ignores.
func TestAttackTwoLengths(t *testing.T) {
	for request, closed := range map[string]bool{
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":             true,
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n3\r\nabc\r\n0\r\n\r\n": true,
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                   true,
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc":    true,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc":                                                 false,
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes()
			stop, result := running(p, Stop{}, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
			got, _, conn := p.exchange(t, request, "", 0)
			if got.status != 200 || got.closed != closed {
				t.Errorf("%q: %+v", request, got)
			}
			conn.Close()
			stop()
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
}

// The content of one stream of HTTP/2 holds nothing up, and its connection stays.
func TestPromptLeavesHTTP2Alone(t *testing.T) {
	called := false
	r, err := http.NewRequestWithContext(context.Background(), "POST", "/", strings.NewReader("abc"))
	if err != nil {
		t.Fatal(err)
	}
	r.ProtoMajor, r.ProtoMinor = 2, 0
	prompt(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) { called = got == r })).ServeHTTP(nil, r)
	if !called {
		t.Error("the request is another one")
	}
}

// deadlines counts the deadlines that are set, as those of one connection.
type deadlines struct {
	http.ResponseWriter
	set int
}

func (d *deadlines) SetReadDeadline(time.Time) error {
	d.set++
	return nil
}

// A proxy's transport closes the content of a request when it has the time, also after the handler has ended: the
// connection may have its next request by then, whose deadline is another one.
func TestContentIsClosedAtOnce(t *testing.T) {
	connection := &deadlines{ResponseWriter: httptest.NewRecorder()}
	a := &answer{ResponseWriter: connection}
	a.content = &content{ReadCloser: http.NoBody, answer: a}
	closing := func() {
		err := a.content.Close()
		if err != nil {
			t.Error(err)
		}
	}
	testkit.AtOnce(closing, closing, a.finish)
	before := connection.set
	closing()
	if connection.set != before {
		t.Error("the next request has the deadline of the one before")
	}
}
