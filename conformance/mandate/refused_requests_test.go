package mandate

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Somebody whose program says only that the login has failed finds the reason and the remedy in the log, in the event
// log, on the page of the application and at the command line, whichever endpoint has refused. Nothing that the request
// sent is there.
func TestRefusedRequests(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"REGISTRATION_WITH_TOKEN: true"}})
		alice, root := s.person(t, "alice"), s.person(t, "root", "--admin")
		token := s.initialToken(t)
		app := s.registers(t, bearer(token),
			member{"client_name": "Shop & Co", "redirect_uris": []string{"https://shop.example/back"},
				"grant_types": []string{"authorization_code"}, "pkce": "required"})
		shop, manage := asApplication(app, "https://shop.example/back"), textOf(app, "registration_client_uri")
		const sent = "strange-value"

		lines := func(what string, refuse func(), wants ...string) {
			t.Helper()
			before := len(s.log.String())
			refuse()
			waitFor(t, "the line of "+what, func() bool {
				log := s.log.String()[before:]
				return !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(log, want) })
			})
			if line := s.log.String()[before:]; strings.Contains(line, sent) {
				t.Errorf("%s: the log has what the request sent:\n%s", what, line)
			}
		}
		b := s.signedIn(t, alice)
		address, _ := s.authorizeURL(shop, "code_challenge", "", "code_challenge_method", "", "state", sent)
		lines("the authorization request", func() { b.open(t, address); b.open(t, address) },
			"route=/o/authorize/", "client="+shop.ClientID, "error=invalid_request", `description="code_challenge is missing`)
		lines("the token request",
			func() { s.post(t, "/o/token/", shop.auth(), params("grant_type", "client_credentials", "scope", sent)) },
			"route=/o/token/", "client="+shop.ClientID, "error=unauthorized_client",
			`description="This application is not registered for the grant type client_credentials`)
		wrong := basic(shop.ClientID, s.secret(sent+" for a secret"))
		lines("a wrong secret", func() { s.post(t, "/o/token/", wrong, params("grant_type", "client_credentials")) },
			"error=invalid_client", "or the secret is wrong", `cause="the client is `+shop.ClientID)
		form, _ := s.requestFor(t, shop, "scope", sent)
		lines("the pushed request", func() { s.push(t, shop, form) }, "route=/o/par/", "error=invalid_scope",
			`description="There is no scope … on this server`)
		lines("the request of a device", func() { s.post(t, "/o/device_authorization/", shop.auth(), params()) },
			"route=/o/device_authorization/", "error=unauthorized_client", "description=")
		lines("the registration", func() {
			s.send(t, "PUT", manage, bearer(textOf(app, "registration_access_token")), member{"client_id": sent})
		}, "route=/o/register/{id}/", "error=invalid_client_metadata", `description="client_id is wrong"`)

		// An error page says whom to tell, and its number finds the line.
		address, _ = s.authorizeURL(application{ClientID: shop.ClientID, RedirectURI: "https://" + sent + ".example/"})
		visitor := s.browser(t)
		visitor.open(t, address)
		number := regexp.MustCompile(`<dt>Request ID</dt><dd><code>([^<]+)</code>`).FindStringSubmatch(visitor.Body)
		if visitor.Status != http.StatusBadRequest ||
			!strings.Contains(visitor.Body, "Tell the people who run <strong><bdi>Shop &amp; Co</bdi></strong>") ||
			number == nil {
			t.Fatalf("the page is %d\n%s", visitor.Status, visitor.Body)
		}
		waitFor(t, "the line of the error page", func() bool {
			return strings.Contains(s.log.String(), "request="+number[1]+" ") &&
				strings.Contains(s.log.String(), "redirect URI of this request is not registered")
		})

		want := []string{"application Shop & Co: device_authorization unauthorized_client: This application 1",
			"application Shop & Co: par invalid_scope: There is no 1",
			"application Shop & Co: register invalid_client_metadata: client_id is wrong 1",
			"application Shop & Co: token unauthorized_client: This application 1",
			"nobody: authorize invalid_request: The redirect URI 1", "nobody: authorize invalid_request: code_challenge is " +
				"missing 2", "nobody: token invalid_client: There is no 1"}
		got := []string{}
		waitFor(t, "the events", func() bool {
			got = got[:0]
			for _, e := range s.events(t, "--kind", "request.refused", "--application", shop.ClientID) {
				words := strings.Fields(e.Detail)
				got = append(got, strings.TrimSpace(e.Actor.Kind+" "+e.Actor.Name)+": "+
					strings.Join(words[:min(5, len(words))], " ")+fmt.Sprint(" ", e.Count))
			}
			slices.Sort(got)
			return len(got) >= len(want) &&
				slices.ContainsFunc(got, func(row string) bool { return strings.HasSuffix(row, " 2") })
		})
		for i := range want {
			if len(got) != len(want) || !strings.HasPrefix(got[i], want[i][:len(want[i])-2]) ||
				!strings.HasSuffix(got[i], want[i][len(want[i])-2:]) {
				t.Fatalf("the events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}

		var shown struct {
			ID       string
			Requests []struct {
				Endpoint, Error, Description, Remedy string
				Count                                int
			} `json:"refused_requests"`
		}
		text := s.mustCLI(t, "", "application", "show", shop.ClientID, "--json")
		err := json.Unmarshal([]byte(text), &shown)
		if err != nil || len(shown.Requests) != len(want) || strings.Contains(text, sent) {
			t.Errorf("application show: %v\n%s", err, text)
		}
		page := s.signedIn(t, root)
		page.open(t, "/o/applications/"+shown.ID+"/")
		section := html.UnescapeString(sectionOf(t, page.Body, "refused"))
		for _, r := range shown.Requests {
			for _, part := range []string{r.Error, r.Description, r.Remedy} {
				if !strings.Contains(section, part) {
					t.Errorf("the page has no %q:\n%s", part, section)
				}
			}
			if r.Error == "invalid_request" && r.Endpoint == "authorize" && r.Count == 2 && !strings.Contains(r.Remedy, "PKCE") {
				t.Errorf("the remedy is %q", r.Remedy)
			}
		}
		if strings.Contains(section, sent) || !strings.Contains(section, "2 times") ||
			strings.Count(section, "Sender unknown") != 2 || !strings.Contains(section, "/rotate/") {
			t.Errorf("the page has\n%s", section)
		}
	})
}
