package checkup_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mandate/provider/checkup"
)

// Behind a proxy that the server does not know, all people share the limits on guesses. Behind one that passes on what
// it gets, everybody chooses the address that is counted.
func TestAddressesOfPeople(t *testing.T) {
	const sent = "192.0.2.99" // by the check itself
	for name, test := range map[string]struct {
		https  bool
		at     checkup.Arrival
		want   checkup.Weight
		remedy string
	}{
		"no proxy": {false, checkup.Arrival{Peer: "10.0.0.9", Forwarded: sent}, checkup.Fine, ""},
		"no proxy, and TLS": {true, checkup.Arrival{Peer: "10.0.0.9", Forwarded: sent, TLS: true},
			checkup.Fine, ""},
		"a proxy that is known": {true, checkup.Arrival{Peer: "10.0.0.1", Trusted: true, Forwarded: "10.0.0.9"},
			checkup.Fine, ""},
		"a proxy that is not known": {true, checkup.Arrival{Peer: "10.0.0.1", Forwarded: "10.0.0.9"},
			checkup.Doubtful, "Add 10.0.0.1 to TRUSTED_PROXIES."},
		"a proxy that removes the header": {true, checkup.Arrival{Peer: "10.0.0.1", Trusted: true}, checkup.Doubtful,
			"proxy_add_x_forwarded_for"},
		"a proxy that adds nothing": {true, checkup.Arrival{Peer: "10.0.0.1", Forwarded: sent}, checkup.Doubtful,
			"proxy_add_x_forwarded_for"},
		"one that is known adds nothing": {true, checkup.Arrival{Peer: "10.0.0.1", Trusted: true, Forwarded: sent},
			checkup.Wrong, "proxy_add_x_forwarded_for"},
		"one that removes it, without TLS": {false, checkup.Arrival{Peer: "10.0.0.1", Trusted: true}, checkup.Doubtful,
			"proxy_add_x_forwarded_for"},
		"one that removes it, and does TLS": {true, checkup.Arrival{Peer: "10.0.0.1", TLS: true}, checkup.Doubtful,
			"proxy_add_x_forwarded_for"},
		"a network is too wide": {true,
			checkup.Arrival{Peer: "10.0.0.1", Trusted: true, Forwarded: "10.0.0.9", Chosen: true}, checkup.Wrong,
			"alone, such as 10.0.0.1"},
		"everybody who connects is a proxy": {false, checkup.Arrival{Peer: "10.0.0.9", Trusted: true, Forwarded: sent},
			checkup.Wrong, "remove the address"},
	} {
		start := plain
		if test.https {
			start = (*httptest.Server).StartTLS
		}
		h := open(t, start, func(w http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			if r.URL.Path != checkup.ArrivalPath {
				return false
			}
			if r.Header.Get("X-Forwarded-For") != sent || r.Header.Get(checkup.QuestionHeader) != "the question" {
				t.Errorf("%s: the header is %v", name, r.Header)
			}
			_, _ = w.Write([]byte(`{"arrival":"the answer"}`))
			return true
		})
		site := checkup.Site{BaseURL: h.URL, Client: h.Client(), Now: time.Now,
			Question: func() (string, func(string) (checkup.Arrival, error)) {
				return "the question", func(answer string) (checkup.Arrival, error) {
					if answer != "the answer" {
						return checkup.Arrival{}, errors.New(answer)
					}
					return test.at, nil
				}
			}}
		got := byCheck(t, site.Look(t.Context()))["forwarded"]
		if got.Weight != test.want || !strings.Contains(got.Remedy, test.remedy) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// An older server, or one with another key, does not answer.
func TestAServerThatDoesNotSayHowARequestArrives(t *testing.T) {
	for name, body := range map[string]string{"another key": `{"arrival":"of another key"}`, "no JSON": "<html>",
		"not found": ""} {
		h := open(t, plain, func(w http.ResponseWriter, r *http.Request, _ map[string]any, _ []map[string]any) bool {
			if r.URL.Path != checkup.ArrivalPath {
				return false
			}
			if body == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write([]byte(body))
			return true
		})
		site := checkup.Site{BaseURL: h.URL, Client: h.Client(), Now: time.Now,
			Question: func() (string, func(string) (checkup.Arrival, error)) {
				return "", func(string) (checkup.Arrival, error) {
					return checkup.Arrival{}, errors.New("not sealed under this key")
				}
			}}
		got := byCheck(t, site.Look(t.Context()))["forwarded"]
		if got.Weight != checkup.Doubtful || !strings.Contains(got.Remedy, "SECRET_KEY") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
