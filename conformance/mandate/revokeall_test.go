package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Everything that an application holds is revoked while two nodes refresh its tokens: no
// token survives, also none of those that a node issues at the same moment.
func TestRevokeAllAgainstRefreshes(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		nodes := []*server{v.server, v.node(t)}
		b, root := v.signedIn(t, v.alice), v.signedIn(t, v.admin)
		session := root.cookie(t, "/", "mandate_session")
		var first [crowd]tokens
		for i := range first {
			first[i] = b.family(t, v.web, v.alice)
		}
		own := v.mustToken(t, v.web.auth(), params("grant_type", "client_credentials"))
		code, other := b.issue(t, v.web, v.alice), b.family(t, v.rival, v.alice)
		answers := parallel(t, crowd, func(i int) (answer, error) {
			if i == crowd/2 {
				return nodes[0].tryPost("/o/applications/"+v.web.ID+"/revoke/", func(r *http.Request, form url.Values) {
					sameSite(r, form)
					r.AddCookie(&http.Cookie{Name: "mandate_session", Value: session})
				}, params())
			}
			return nodes[i%len(nodes)].tryPost("/o/token/", v.web.auth(), refreshForm(first[i].RefreshToken))
		})
		for i, a := range answers {
			switch {
			case i == crowd/2:
				if a.Status != http.StatusSeeOther {
					t.Fatalf("the revocation: %d %s", a.Status, a.Body)
				}
			case a.Status == http.StatusOK:
				v.dead(t, nodes, v.web, v.tokens(t, a))
			default:
				if err := a.refused(400, "invalid_grant"); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
			v.dead(t, nodes, v.web, first[i])
		}
		if v.active(t, v.asker.auth(), own.AccessToken) {
			t.Error("the application's own token is active")
		}
		if err := nodes[1].post(t, "/o/token/", v.web.auth(), code).refused(400, "invalid_grant"); err != nil {
			t.Errorf("a code that was not exchanged: %v", err)
		}
		if !v.active(t, v.asker.auth(), other.AccessToken) {
			t.Error("a token of another application was revoked")
		}
		// The application goes on.
		if again := b.family(t, v.web, v.alice); !v.active(t, v.asker.auth(), again.AccessToken) {
			t.Error("a new token is not active")
		}
	})
}

// A consent that is revoked with everything else is asked for again, and the person does not
// see the application among those that may act for them.
func TestRevokeAllForgetsConsents(t *testing.T) {
	t.Parallel()
	v := newFixture(t, options{})
	b, root := v.signedIn(t, v.alice), v.signedIn(t, v.admin)
	address, _ := v.authorizeURL(v.casual)
	asked := func() bool {
		t.Helper()
		b.open(t, address)
		return b.Away == nil
	}
	if !asked() {
		t.Fatal("the person is not asked")
	}
	b.decide(t, "approve")
	if asked() {
		t.Fatal("the consent is not remembered")
	}
	path := "/o/applications/" + v.casual.ID + "/"
	root.open(t, path)
	for _, want := range []string{"<dt>People who approved it</dt><dd>1</dd>", "<dt>Live tokens</dt><dd>None</dd>",
		"The operator registered it on the command line"} {
		if !strings.Contains(root.Body, want) {
			t.Errorf("the page of the application does not say %q", want)
		}
	}
	root.open(t, path+"revoke/")
	if asked() {
		t.Error("the consent was revoked before anybody confirmed it")
	}
	root.send(t, path+"revoke/", params())
	if !strings.Contains(root.Body, "<dt>People who approved it</dt><dd>None</dd>") ||
		!strings.Contains(root.Body, "Everything that the application held is revoked") {
		t.Errorf("after the revocation: %d %s", root.Status, root.URL)
	}
	if !asked() {
		t.Error("the person is not asked again")
	}
	b.open(t, "/account/")
	if strings.Contains(sectionOf(t, b.Body, "applications"), "Casual") {
		t.Error("the account page still shows the application")
	}
	// Another site cannot make an administrator's browser do it.
	a, err := v.tryPost(path+"revoke/", func(r *http.Request, _ url.Values) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.AddCookie(&http.Cookie{Name: "mandate_session", Value: root.cookie(t, "/", "mandate_session")})
	}, params())
	if err != nil || a.Status != http.StatusForbidden {
		t.Errorf("a form of another site: %v %d", err, a.Status)
	}
}

// The list of applications is filtered by what its address says, for whoever opens it.
func TestApplicationsAreFiltered(t *testing.T) {
	// The server deletes an application that came by itself if nobody uses it for that time, which is the longest that can
	// be set. "registered" was last used half a day later.
	const unused = 3650 * 24 * 60 * 60
	lastUsed := time.Now().Unix() - unused + 12*60*60
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{fmt.Sprintf("OPEN_UNUSED_EXPIRE_SECONDS: %d", unused)}})
		pool := db.open(t)
		root, alice := s.signedIn(t, s.person(t, "root", "--admin")), s.signedIn(t, s.person(t, "alice"))
		for _, name := range []string{"operators", "document", "registered", "old"} {
			s.application(t, "--name", "App "+name, "--grant", "client_credentials")
		}
		alice.registered(t, "name", "App alices")
		root.registered(t, "name", "App roots")
		for name, set := range map[string]string{
			"document": "origin = 'document', responsible = 'nobody'",
			"registered": fmt.Sprintf("origin = 'registration', responsible = 'nobody', last_used_at = %d, created_at = 1",
				lastUsed),
			"old": "origin = '', created_at = 1"} {
			_, err := pool.ExecContext(t.Context(), "UPDATE applications SET "+set+" WHERE name = 'App "+name+"'")
			if err != nil {
				t.Fatal(err)
			}
		}
		s.mustCLI(t, "", "user", "disable", "alice")
		shown := func(b *browser, query string) string {
			t.Helper()
			b.open(t, "/o/applications/?"+query)
			var names []string
			for _, name := range []string{"alices", "document", "old", "operators", "registered", "roots"} {
				if strings.Contains(b.Body, `">App `+name+"</bdi>") {
					names = append(names, name)
				}
			}
			return strings.Join(names, " ")
		}
		for query, want := range map[string]string{
			"":                                    "alices document old operators registered roots",
			"standing=administrator":              "old operators roots",
			"standing=person":                     "alices",
			"standing=open":                       "document registered",
			"standing=suspended":                  "alices document registered", // OPEN_CLIENTS lists neither way
			"origin=page":                         "alices roots",
			"origin=command":                      "operators",
			"origin=registration&standing=open":   "registered",
			"origin=unknown":                      "old",
			"unused=30":                           "old registered",
			"unused=47":                           "old registered",
			"unused=3649&q=reg&standing=&origin=": "registered",
			"unused=30&standing=person":           "",
			"standing=administrator&q=roots&unknown=1": "roots",
		} {
			if got := shown(root, query); got != want || root.Status != http.StatusOK {
				t.Errorf("%s: %d %q, want %q", query, root.Status, got, want)
			}
		}
		for query, want := range map[string]string{"standing=open": ">Nobody</bdi>",
			"standing=administrator&q=operators": ">The operator</bdi>", "q=roots": ">root</bdi>"} {
			shown(root, query)
			if !strings.Contains(root.Body, `data-label="Owner"><bdi class="brief"`+want) {
				t.Errorf("%s: the list does not say that the owner is %q", query, want)
			}
		}
		if !strings.Contains(root.Body, "<select") {
			t.Error("the list has no filters")
		}
		root.open(t, "/o/applications/?unused=47")
		if !strings.Contains(root.Body, `<option value="47" selected>47 days</option>`) {
			t.Error("the filter of the address is not chosen in the form")
		}
		for _, query := range []string{"standing=root", "origin=x", "unused=0", "unused=-1", "unused=x",
			"unused=99999999999999999999", "standing=a&standing=b"} {
			shown(root, query)
			if root.Status != http.StatusBadRequest {
				t.Errorf("%s: %d, want 400", query, root.Status)
			}
		}
		for query, want := range map[string]string{"standing=opn": "standing must be administrator, person, open or " +
			"suspended.", "origin=x": "origin must be page, command, registration, document or unknown.",
			"unused=x": "unused must be a number of days, from 1 to 3650."} {
			if shown(root, query); !strings.Contains(root.Body, want) {
				t.Errorf("%s: the page does not say %q", query, want)
			}
		}
		// A person sees their own applications only.
		s.mustCLI(t, "", "user", "enable", "alice")
		alice = s.signedIn(t, s.person(t, "bob"))
		if got := shown(alice, "standing=administrator"); got != "" {
			t.Errorf("another person sees %s", got)
		}
	})
}
