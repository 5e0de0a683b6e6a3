// Package openid rehearses what lies in its folder for the OpenID Foundation's
// conformance suite: setup.sh makes a folder, Mandate runs from it, and each
// plan's browser automation is carried out on Mandate's own pages, with a
// stand-in for the suite's callback.
package openid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mandate/testkit/port"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A plan is one configuration of the suite, in the keys that are used here. A
// command is a word, a kind of selector, a selector, and what the word needs.
type plan struct {
	Alias            string              `json:"alias"`
	Description      string              `json:"description"`
	Server           server              `json:"server"`
	Client           client              `json:"client"`
	Client2          client              `json:"client2"`
	ClientSecretPost client              `json:"client_secret_post"`
	Browser          []visit             `json:"browser"`
	Override         map[string]override `json:"override"`
}

type server struct {
	DiscoveryURL string `json:"discoveryUrl"`
}

type client struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
}

type override struct {
	Browser []visit `json:"browser"`
}

type visit struct {
	Match string `json:"match"`
	Limit int    `json:"match-limit"` // how often the entry is used; 0: always
	Tasks []task `json:"tasks"`
}

type task struct {
	Task     string  `json:"task"`
	Optional bool    `json:"optional"`
	Match    string  `json:"match"`
	Commands [][]any `json:"commands"`
}

// entries are what the browser is told in a module of the suite.
func (p plan) entries(module string) []visit {
	if over, ok := p.Override[module]; ok {
		return over.Browser
	}
	return p.Browser
}

var files = []string{"basic", "config", "formpost", "rp-initiated-logout", "backchannel-logout"}

// everyClaim is Carol of setup.sh: all of OIDC Core §5.1 but sub and updated_at,
// which are another at each run.
var everyClaim = map[string]any{
	"name": "Carol Margaret Meier", "given_name": "Carol", "middle_name": "Margaret", "family_name": "Meier",
	"nickname": "Caro", "preferred_username": "carol", "gender": "female", "birthdate": "1984-02-29",
	"zoneinfo": "Europe/Zurich", "locale": "en-GB", "profile": "https://example.org/carol",
	"picture": "https://example.org/carol.png", "website": "https://carol.example.org/",
	"email": "carol@example.org", "email_verified": true, "phone_number": "+41443334455", "phone_number_verified": true,
	"address": map[string]any{"formatted": "Seestrasse 1, 8002 Zurich, Switzerland", "street_address": "Seestrasse 1",
		"locality": "Zurich", "region": "ZH", "postal_code": "8002", "country": "Switzerland"},
}

func TestRehearsal(t *testing.T) {
	answers, told := make(chan url.Values, 1), make(chan url.Values, 1)
	suite := httptest.NewServer(stand(answers, told))
	t.Cleanup(suite.Close)
	base, folder := "http://"+port.Address(), t.TempDir()
	setup := exec.Command("sh", "setup.sh", "-o", folder, "-s", suite.URL, base)
	out, err := setup.CombinedOutput()
	if err != nil {
		t.Fatalf("setup.sh: %v\n%s", err, out)
	}
	plans := map[string]plan{}
	for _, name := range files {
		plans[name] = readPlan[plan](t, filepath.Join(folder, name+".json"))
	}
	checkExpected(t, folder)
	r := rehearsal{suite: suite.URL, answers: answers, told: told}
	serve(t, folder, base)
	r.discover(t, plans["config"].Server.DiscoveryURL)

	for _, name := range files {
		t.Run(name, func(t *testing.T) { r.clients(t, plans[name]) })
	}
	for _, m := range modules {
		t.Run(m.name, func(t *testing.T) { r.module(t, plans["basic"], m) })
	}
	for _, l := range logouts {
		t.Run(l.name, func(t *testing.T) { r.logout(t, plans["rp-initiated-logout"], l) })
	}
	t.Run("oidcc-backchannel-rp-initiated-logout", func(t *testing.T) { r.backchannel(t, plans["backchannel-logout"]) })
	for _, name := range []string{"dynamic", "3rd-party-login"} {
		t.Run(name, func(t *testing.T) { r.registers(t, readPlan[registeringPlan](t, filepath.Join(folder, name+".json"))) })
	}
	t.Run("overrides", func(t *testing.T) {
		for _, m := range modules {
			delete(plans["basic"].Override, m.name)
		}
		for _, l := range logouts {
			delete(plans["basic"].Override, l.name)
		}
		for _, m := range shown {
			delete(plans["basic"].Override, m.name)
		}
		delete(plans["basic"].Override, "oidcc-ensure-redirect-uri-in-authorization-request") // registers walks it
		for name := range plans["basic"].Override {
			t.Errorf("nothing here walks the override for %s", name)
		}
	})
}

// A module of the suite keeps its cookies from one visit to the next, and begins
// without any.
type module struct {
	name   string
	visits []url.Values // added to the request; a nil value takes the parameter away
	shows  int          // how often the suite's log keeps a page
	ends   string       // how the last visit ends: code, an error, or the status of an error page
}

// modules are those in which the browser goes another way, or twice. Where the
// suite lets a second pass for max_age=1, max_age=0 asks for the same at once.
var modules = []module{
	{name: "oidcc-server", visits: []url.Values{{}}, ends: "code"},
	{name: "oidcc-response-type-missing", visits: []url.Values{{"response_type": nil}}, ends: "invalid_request"},
	{name: "oidcc-prompt-login", visits: []url.Values{{}, {"prompt": {"login"}}}, shows: 2, ends: "code"},
	{name: "oidcc-max-age-1", visits: []url.Values{{}, {"max_age": {"0"}}}, shows: 2, ends: "code"},
	{name: "oidcc-prompt-none-not-logged-in", visits: []url.Values{{"prompt": {"none"}}}, ends: "login_required"},
	{name: "oidcc-prompt-none-logged-in", visits: []url.Values{{}, {"prompt": {"none"}}}, ends: "code"},
	{name: "oidcc-max-age-10000", visits: []url.Values{{}, {"max_age": {"10000"}}}, ends: "code"},
	{name: "oidcc-refresh-token", visits: []url.Values{{"scope": {"openid offline_access"}, "prompt": {"consent"}}},
		ends: "code"},
	{name: "oidcc-server (form_post)", visits: []url.Values{{"response_mode": {"form_post"}, "prompt": {"consent"}},
		{"response_mode": {"form_post"}, "prompt": {"none"}}}, ends: "code"},
	{name: "oidcc-ensure-registered-redirect-uri", visits: []url.Values{{"redirect_uri": {"https://suite.example/other"}}},
		shows: 1, ends: "400"},
	{name: "oidcc-redirect-uri-query-added", visits: []url.Values{{"redirect_uri": {registered + "?foo=bar"}}}, shows: 1,
		ends: "400"},
	{name: "oidcc-redirect-uri-query-mismatch", visits: []url.Values{{"redirect_uri": {registered + "?foo=other"}}},
		shows: 1, ends: "400"},
}

type rehearsal struct {
	suite     string
	answers   chan url.Values // what came to the callback
	told      chan url.Values // what came to the back-channel address
	endpoints struct {
		Issuer        string `json:"issuer"`
		Authorization string `json:"authorization_endpoint"`
		Token         string `json:"token_endpoint"`
		UserInfo      string `json:"userinfo_endpoint"`
		EndSession    string `json:"end_session_endpoint"`
		Registration  string `json:"registration_endpoint"`
	}
}

// stand is the suite's side of the browser: its automation waits for the element
// of the callback. Answers that nobody takes are lost.
func stand(answers, told chan<- url.Values) http.Handler {
	keep := func(to chan<- url.Values) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			err := r.ParseForm()
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			select {
			case to <- r.Form:
			default:
			}
			fmt.Fprint(w, `<!doctype html><title>Suite</title><p id="submission_complete">Taken.</p>`)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/test/a/mandate/callback", keep(answers))
	mux.Handle("POST /test/a/mandate/backchannel_logout", keep(told))
	mux.Handle("GET /test/a/mandate/post_logout_redirect", keep(nil))
	return mux
}

// registered begins a redirect_uri that continues the registered one.
const registered = "@"

// request is the address of an authorization request.
func (r *rehearsal) request(p plan, c client, more url.Values) string {
	q := url.Values{"client_id": {c.ID}, "redirect_uri": {r.suite + "/test/a/" + p.Alias + "/callback"},
		"response_type": {"code"},
		"scope":         {"openid"}, "state": {"a state"}, "nonce": {"a nonce"}}
	callback := q.Get("redirect_uri")
	maps.Copy(q, more)
	if rest, ok := strings.CutPrefix(more.Get("redirect_uri"), registered); ok {
		q.Set("redirect_uri", callback+rest)
	}
	return r.endpoints.Authorization + "?" + q.Encode()
}

// answer is what the callback has got: nil is nothing.
func (r *rehearsal) answer() url.Values {
	select {
	case got := <-r.answers:
		return got
	default:
		return nil
	}
}

func (r *rehearsal) discover(t *testing.T, address string) {
	t.Helper()
	err := json.Unmarshal(get(t, address, ""), &r.endpoints)
	if err != nil || r.endpoints.Issuer+"/.well-known/openid-configuration" != address {
		t.Fatalf("the plans look for metadata at %s, which is of %q: %v", address, r.endpoints.Issuer, err)
	}
}

// clients signs in to each client of a plan, and looks at what it is told.
func (r *rehearsal) clients(t *testing.T, p plan) {
	for _, c := range []client{p.Client, p.Client2, p.ClientSecretPost} {
		b := newBrowser(t)
		b.visit(p.Browser, r.request(p, c, url.Values{"scope": {"openid profile email address phone"}}))
		form := url.Values{"grant_type": {"authorization_code"}, "code": r.answer()["code"],
			"redirect_uri": {r.suite + "/test/a/" + p.Alias + "/callback"}}
		access := r.redeem(t, c, form, c == p.ClientSecretPost).Access
		var claims map[string]any
		err := json.Unmarshal(get(t, r.endpoints.UserInfo, access), &claims)
		if err != nil || claims["sub"] == nil || claims["updated_at"] == nil {
			t.Fatalf("UserInfo for %s: %v, %v", c.ID, claims, err)
		}
		delete(claims, "sub")
		delete(claims, "updated_at")
		if diff := cmp.Diff(everyClaim, claims); diff != "" {
			t.Errorf("UserInfo for %s (-want +got):\n%s", c.ID, diff)
		}
	}
}

type tokens struct {
	Access string `json:"access_token"`
	ID     string `json:"id_token"`
}

func (r *rehearsal) redeem(t *testing.T, c client, form url.Values, post bool) (got tokens) {
	t.Helper()
	if post {
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	}
	request, err := http.NewRequest(http.MethodPost, r.endpoints.Token, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if !post {
		request.SetBasicAuth(c.ID, c.Secret)
	}
	body := do(t, request)
	err = json.Unmarshal(body, &got)
	if err != nil || got.Access == "" || got.ID == "" {
		t.Fatalf("the code of %s gives no tokens: %s", c.ID, body)
	}
	return got
}

// module goes through the visits of one module in one browser.
func (r *rehearsal) module(t *testing.T, p plan, m module) {
	b := newBrowser(t)
	ends := ""
	for _, more := range m.visits {
		b.visit(p.entries(m.name), r.request(p, p.Client, more))
		got := r.answer()
		ends = got.Get("error")
		switch {
		case got.Has("code"):
			ends = "code"
		case got == nil:
			ends = fmt.Sprint(b.status)
		}
	}
	if ends != m.ends || b.shown != m.shows {
		t.Errorf("ended with %s after %d kept pages, want %s after %d", ends, b.shown, m.ends, m.shows)
	}
}

// readPlan takes no key that it does not know, and no placeholder.
func readPlan[P any](t *testing.T, path string) (p P) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if left := regexp.MustCompile("@[A-Z_]+@").Find(content); left != nil {
		t.Errorf("setup.sh left %s in %s", left, path)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&p)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return p
}

// serve runs Mandate from the folder until the test ends.
func serve(t *testing.T, folder, base string) {
	t.Helper()
	var log bytes.Buffer
	command := exec.Command(filepath.Join(folder, "mandate"), "serve", "--config", filepath.Join(folder, "mandate.yaml"))
	command.Stderr = &log
	err := command.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended, which Wait tells
		err := command.Wait()
		if err != nil {
			t.Errorf("mandate serve: %v", err)
		}
		if t.Failed() {
			t.Logf("Mandate's log:\n%s", log.Bytes())
		}
	})
	for deadline := time.Now().Add(15 * time.Second); ; {
		response, err := http.Get(base + "/readyz")
		if err == nil {
			response.Body.Close()
		}
		if err == nil && response.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Mandate is not ready: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func get(t *testing.T, address, token string) []byte {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return do(t, request)
}

// do wants 200.
func do(t *testing.T, request *http.Request) []byte {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v\n%s", request.Method, request.URL, response.Status, err, body)
	}
	return body
}
