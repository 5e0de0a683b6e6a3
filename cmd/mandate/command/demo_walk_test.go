package command

import (
	"html"
	"io"
	"mandate/testkit/port"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestDemoWalk follows the links as a browser does, to the pages that show the
// messages. The port of the demo is in use.
func TestDemoWalk(t *testing.T) {
	taken, err := net.Listen("tcp", port.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out := startDemo(t, taken.Addr().String())
	if !regexp.MustCompile(`(?m)^Port \d+ is in use, so the demo uses \d+\.$`).MatchString(out) {
		t.Errorf("no word about the port in:\n%s", out)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &demoBrowser{t: t, client: &http.Client{Jar: jar}}
	first := regexp.MustCompile(`http://\S+/demo/`).FindString(out)
	base := strings.TrimSuffix(first, "/demo/")
	b.open(first)
	b.follow("Go to Web")
	password := regexp.MustCompile(`(?m)^  alice +(\S+)$`).FindStringSubmatch(out)[1]
	b.submit(url.Values{"username": {"alice"}, "password": {password}})
	b.submit(url.Values{"decision": {"deny"}})
	b.shows("error=access_denied")
	b.hides("/o/token/")

	// The response must belong to the request of this browser, and come from this
	// server.
	for _, forged := range []struct{ answer, why string }{
		{"code=x&state=forged&iss=" + url.QueryEscape(base+"/o"), "The state in the response is not the one that was sent"},
		{"code=x&state=STATE&iss=" + url.QueryEscape("https://evil.example/o"), "The response comes from another server"},
	} {
		b.open(first)
		b.follow("Go to Web") // until the consent page, to get the cookie
		state := b.at.Query().Get("state")
		b.open(first + "callback?" + strings.Replace(forged.answer, "STATE", state, 1))
		b.shows("The demo cannot continue", forged.why)
	}

	b.open(first)
	b.follow("Go to Web")
	b.submit(url.Values{"decision": {"approve"}})
	b.shows("GET /o/authorize/", "code_challenge_method=S256", "grant_type=authorization_code", `"access_token": "mat_`,
		`"username": "alice"`, `"active": true`, "grant_type=refresh_token")
	b.hides(`"error"`, "id_token", "nonce")
	// It works once.
	b.open(b.at.String())
	b.shows("The demo cannot continue")

	for site, algorithm := range map[string]string{"Shop": "RS256", "Forum": "HS256"} {
		b.open(first)
		b.follow("Go to " + site)
		b.submit(url.Values{"decision": {"approve"}})
		b.shows(
			"scope=openid+profile+email", `"id_token": "ey`, `"alg": "`+algorithm+`"`, `"nonce": "`,
			"The site reads the ID token", "nonce is the value", "The signature is",
			"with another sub, the same signature is refused", `"email": "alice@example.org"`, `"birthdate": "1852-05-04"`,
		)
		b.hides(`"error"`, "phone_number")
		if strings.Contains(b.page, "jwks.json") != (algorithm == "RS256") {
			t.Errorf("%s: keys are fetched although they are not needed, or not fetched although they are", algorithm)
		}
	}
}

type demoBrowser struct {
	t      *testing.T
	client *http.Client
	at     *url.URL
	page   string
}

func (b *demoBrowser) open(address string) {
	answer, err := b.client.Get(address)
	b.take(answer, err)
}

func (b *demoBrowser) take(answer *http.Response, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.at, b.page = answer.Request.URL, html.UnescapeString(string(body))
}

// submit sends the form of the page with its hidden fields.
func (b *demoBrowser) submit(form url.Values) {
	b.t.Helper()
	action := regexp.MustCompile(`<form method="post" action="([^"]+)"`).FindAllStringSubmatch(b.page, -1)
	if len(action) == 0 {
		b.t.Fatalf("no form at %s:\n%s", b.at, b.page)
	}
	for _, hidden := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(
		b.page, -1,
	) {
		form.Set(hidden[1], hidden[2])
	}
	target, err := b.at.Parse(action[len(action)-1][1])
	if err != nil {
		b.t.Fatal(err)
	}
	b.take(b.client.PostForm(target.String(), form))
}

// follow opens the target of a link.
func (b *demoBrowser) follow(name string) {
	b.t.Helper()
	link := regexp.MustCompile(`<a class="button" href="([^"]+)">` + name + `</a>`).FindStringSubmatch(b.page)
	if link == nil {
		b.t.Fatalf("no link %s at %s:\n%s", name, b.at, b.page)
	}
	target, err := b.at.Parse(link[1])
	if err != nil {
		b.t.Fatal(err)
	}
	b.open(target.String())
}

func (b *demoBrowser) shows(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(b.page, text) {
			b.t.Errorf("%s does not show %q:\n%s", b.at, text, b.page)
		}
	}
}

func (b *demoBrowser) hides(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if strings.Contains(b.page, text) {
			b.t.Errorf("%s shows %q:\n%s", b.at, text, b.page)
		}
	}
}
