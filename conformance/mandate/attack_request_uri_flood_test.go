package mandate

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"mandate/testkit"
)

// TestAttackRequestURIFlood: a stranger registers an application whose request objects are on hosts
// that never answer, and lets the server read all of them at once. An application that a person
// has approved still gets its request objects.
func TestAttackRequestURIFlood(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	attack(t, "denial of service by slow addresses", "")
	h := newDocumentHost(t)
	o := h.options(options{provider: []string{"REQUEST_OBJECTS_BY_REFERENCE: true"}})
	o.provider[len(o.provider)-1] =
		`OPEN_HOSTS: [127.0.0.1, 127.0.0.2, 127.0.0.3, 127.0.0.4, 127.0.0.5, 127.0.0.6, "*.example"]`
	s := startServer(t, o)
	keys := newStatementIssuer(t, "app")
	var set member
	err := json.Unmarshal([]byte(keys.keySet(t)), &set)
	if err != nil {
		t.Fatal(err)
	}
	const uri = "https://good.example/back"
	made := s.registers(t, nobody,
		member{"redirect_uris": []string{uri}, "jwks": set, "token_endpoint_auth_method": "none",
			"request_uris": []string{h.URL + "/object"}})
	app := keyHolder{asApplication(made, uri), keys}
	alice := s.somebody(t, "alice")
	address, _ := s.authorizeURL(app.application)
	s.browser(t).code(t, address, alice)
	form, _ := s.requestFor(t, app.application)
	object := s.object(t, app, form, nil, nil)
	h.page("/object", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/oauth-authz-req+jwt")
		_, _ = w.Write([]byte(object))
	})

	var slow []string
	for host := range 5 {
		silent, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", host+2))
		if err != nil {
			testkit.Missing(t, "no loopback address other than 127.0.0.1 (macOS: ifconfig lo0 alias 127.0.0.2): "+err.Error())
		}
		defer silent.Close()
		for n := range 8 {
			slow = append(slow, fmt.Sprintf("https://%s/%d", silent.Addr(), n))
		}
	}
	stranger := asApplication(s.registers(t, nobody,
		member{"redirect_uris": []string{"https://evil.example/"}, "jwks": set, "token_endpoint_auth_method": "none",
			"request_uris": slow}), "")
	two := s.node(t) // it has read no application before
	var busy atomic.Int64
	done := make(chan struct{}, len(slow))
	for _, one := range slow {
		request, err := http.NewRequest("GET", two.URL+two.opening(stranger, one), nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			a, err := two.do(request)
			if err == nil && a.Status == http.StatusTooManyRequests {
				busy.Add(1)
			}
			done <- struct{}{}
		}()
	}
	waitFor(t, "a request is refused because of too many fetches", func() bool { return busy.Load() > 0 })
	if a := two.get(t, two.opening(app.application, h.URL+"/object"), nobody); a.Status != http.StatusSeeOther {
		t.Errorf("an approved application is answered with %d", a.Status)
	}
	for range slow {
		<-done
	}
}
