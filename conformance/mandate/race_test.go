package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A one-time value works once, for any number of concurrent requests on any number of
// nodes.

// crowd is the number of concurrent requests.
const crowd = 64

func TestRace(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		one := newFixture(t, h.options(options{database: db, provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 0"}}))
		one.agent = h.client("/agent", "http://127.0.0.1:50123/back", nil)
		nodes := []*server{one.server, one.node(t)}
		for n := 1; n <= len(nodes); n++ {
			name := fmt.Sprintf("%d_nodes", n)
			t.Run(name+"/code_is_spent_once", func(t *testing.T) { one.raceCode(t, nodes[:n], one.web) })
			t.Run(name+"/code_of_a_public_client_is_spent_once", func(t *testing.T) { one.raceCode(t, nodes[:n], one.phone) })
			t.Run(name+"/device_code_is_spent_once", func(t *testing.T) { one.raceDevice(t, nodes[:n]) })
			t.Run(name+"/code_of_a_client_with_a_document_is_spent_once",
				func(t *testing.T) { one.raceCode(t, nodes[:n], one.agent) })
			t.Run(name+"/right_and_wrong_verifiers", func(t *testing.T) { one.raceVerifier(t, nodes[:n]) })
			t.Run(name+"/refresh_token_is_spent_once", func(t *testing.T) { one.raceRefresh(t, nodes[:n]) })
			t.Run(name+"/refresh_against_revocation", func(t *testing.T) { one.raceRevocation(t, nodes[:n]) })
			t.Run(name+"/secret_is_rotated_once", func(t *testing.T) { one.raceRotation(t, nodes[:n]) })
		}
	})
}

func TestRaceGrace(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		one := newFixture(t, options{database: db, provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 60"}})
		nodes := []*server{one.server, one.node(t)}
		for n := 1; n <= len(nodes); n++ {
			t.Run(fmt.Sprintf("%d_nodes/refresh_has_one_successor", n), func(t *testing.T) { one.raceGrace(t, nodes[:n]) })
		}
	})
}

func TestRaceFirstAdministrator(t *testing.T) {
	ownProcesses(t)
	forEachDatabaseInTurn(t, func(t *testing.T, db database) {
		one := startServer(t, options{database: db, settings: []string{"PASSWORD_HASH_CONCURRENCY: 64"}})
		nodes := []*server{one, one.node(t)}
		password, link := one.secret("correct horse battery staple"), one.firstLink(t)
		answers := parallel(t, crowd, func(i int) (answer, error) {
			return nodes[i%len(nodes)].tryPost("/setup/"+link+"/", sameSite,
				params("username", fmt.Sprint("first", i), "password", password))
		})
		winner := -1
		for i, a := range answers {
			switch a.Status {
			case http.StatusSeeOther:
				if winner >= 0 {
					t.Errorf("first%d and first%d are both the first administrator", winner, i)
				}
				winner = i
			case http.StatusNotFound:
			default:
				t.Errorf("request %d: %d %s", i, a.Status, a.Body)
			}
		}
		if winner < 0 {
			t.Fatal("nobody is the first administrator")
		}
		root := one.signedIn(t, person{fmt.Sprint("first", winner), password})
		root.open(t, "/admin/users/")
		if root.Status != http.StatusOK {
			t.Errorf("the winner is no administrator: %d", root.Status)
		}
		if people := one.mustCLI(t, "", "user", "list", "--json"); strings.Count(people, `"username"`) != 1 {
			t.Errorf("more than one person was made: %s", people)
		}
	})
}

// sameSite marks a form as sent by a page of the server.
func sameSite(r *http.Request, _ url.Values) { r.Header.Set("Sec-Fetch-Site", "same-origin") }

// rush sends the same form to the token endpoints of all nodes at once, and returns the
// successful answers. All others must be refused with one error.
func (v *fixture) rush(t testing.TB, nodes []*server, as auth, form url.Values, code string) []tokens {
	t.Helper()
	answers := parallel(t, crowd, func(i int) (answer, error) {
		return nodes[i%len(nodes)].tryPost("/o/token/", as, form)
	})
	var granted []tokens
	for i, a := range answers {
		if a.Status == http.StatusOK {
			granted = append(granted, v.tokens(t, a))
			continue
		}
		err := a.refused(400, code)
		if err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	return granted
}

// dead fails the test if a token of an ended family still works anywhere.
func (v *fixture) dead(t testing.TB, nodes []*server, app application, family tokens) {
	t.Helper()
	for i, s := range nodes {
		if s.active(t, v.asker.auth(), family.AccessToken) || s.active(t, v.asker.auth(), family.RefreshToken) {
			t.Errorf("a token is active at node %d", i)
		}
		err := s.post(t, "/o/token/", app.auth(), refreshForm(family.RefreshToken)).refused(400, "invalid_grant")
		if err != nil {
			t.Errorf("refresh at node %d: %v", i, err)
		}
	}
}

func (v *fixture) raceCode(t *testing.T, nodes []*server, app application) {
	b := v.signedIn(t, v.alice)
	for range 2 {
		granted := v.rush(t, nodes, app.auth(), b.issue(t, app, v.alice), "invalid_grant")
		// RFC 6749 §4.1.2: a code works once.
		if len(granted) != 1 {
			t.Fatalf("%d of %d requests were granted", len(granted), crowd)
		}
		// RFC 6749 §4.1.2: if the code is used again, its tokens are revoked.
		v.dead(t, nodes, app, granted[0])
	}
}

// raceDevice: of concurrent polls one is in time while the request is pending, and one gets the
// tokens after the approval.
func (v *fixture) raceDevice(t *testing.T, nodes []*server) {
	b := v.signedIn(t, v.alice)
	for range 2 {
		codes := v.askDevice(t, v.tv)
		pending := 0
		for i, a := range parallel(t, crowd, func(i int) (answer, error) {
			return nodes[i%len(nodes)].tryPost("/o/token/", v.tv.auth(), pollForm(codes.DeviceCode))
		}) {
			if a.refused(400, "authorization_pending") == nil {
				pending++
			} else if err := a.refused(400, "slow_down"); err != nil {
				t.Errorf("poll %d: %v", i, err)
			}
		}
		if pending != 1 {
			t.Errorf("%d of %d polls at once were in time", pending, crowd)
		}
		b.allowDevice(t, codes)
		granted := v.rush(t, nodes, v.tv.auth(), pollForm(codes.DeviceCode), "invalid_grant")
		if len(granted) != 1 {
			t.Fatalf("%d of %d polls were granted", len(granted), crowd)
		}
		v.dead(t, nodes, v.tv, granted[0])
	}
}

// raceVerifier: concurrent wrong verifiers neither prevent the right one from working
// nor succeed (fosite: the challenge was deleted before it was compared).
func (v *fixture) raceVerifier(t *testing.T, nodes []*server) {
	form := v.signedIn(t, v.alice).issue(t, v.web, v.alice)
	other, _ := newPKCE()
	wrong := []url.Values{with(form, "code_verifier", other), with(form, "code_verifier", ""),
		with(form, "redirect_uri", rivalURI)}
	answers := parallel(t, crowd, func(i int) (answer, error) {
		if i == crowd/2 {
			return nodes[0].tryPost("/o/token/", v.web.auth(), form)
		}
		return nodes[i%len(nodes)].tryPost("/o/token/", v.web.auth(), wrong[i%len(wrong)])
	})
	for i, a := range answers {
		if (a.Status == http.StatusOK) != (i == crowd/2) || a.Status >= 500 {
			t.Errorf("request %d: %d %s", i, a.Status, a.Body)
		}
	}
	if family := v.tokens(t, answers[crowd/2]); family.AccessToken != "" &&
		!v.active(t, v.asker.auth(), family.AccessToken) {
		t.Error("requests that proved nothing ended the family")
	}
}

func (v *fixture) raceRefresh(t *testing.T, nodes []*server) {
	b := v.signedIn(t, v.alice)
	for _, app := range []application{v.web, v.phone} {
		first := b.family(t, app, v.alice)
		granted := v.rush(t, nodes, app.auth(), refreshForm(first.RefreshToken), "invalid_grant")
		if len(granted) != 1 {
			t.Fatalf("%d of %d requests were granted", len(granted), crowd)
		}
		// RFC 9700 §4.14.2: one of the two holders of the token is a thief, so the token
		// family is revoked.
		v.dead(t, nodes, app, first)
		v.dead(t, nodes, app, granted[0])
	}
}

func (v *fixture) raceGrace(t *testing.T, nodes []*server) {
	b := v.signedIn(t, v.alice)
	for _, app := range []application{v.web, v.phone} {
		first := b.family(t, app, v.alice)
		granted := v.rush(t, nodes, app.auth(), refreshForm(first.RefreshToken), "invalid_grant")
		if len(granted) != crowd {
			t.Fatalf("%d of %d requests were granted within the grace", len(granted), crowd)
		}
		next := granted[0]
		for i, g := range granted {
			if g.RefreshToken != next.RefreshToken || g.AccessToken != next.AccessToken || g.Scope != next.Scope {
				t.Errorf("answer %d has another successor", i)
			}
		}
		if !v.active(t, v.asker.auth(), next.AccessToken) {
			t.Error("the successor is inactive")
		}
		// The grace period is for a lost answer. If the successor has been used, the
		// answer was not lost, and another use of the old token is a theft.
		last := v.mustToken(t, app.auth(), refreshForm(next.RefreshToken))
		err := v.post(t, "/o/token/", app.auth(), refreshForm(first.RefreshToken)).refused(400, "invalid_grant")
		if err != nil {
			t.Error(err)
		}
		v.dead(t, nodes, app, last)
	}
}

// raceRevocation: a token family that is revoked during a refresh gets no valid tokens.
func (v *fixture) raceRevocation(t *testing.T, nodes []*server) {
	b := v.signedIn(t, v.alice)
	for range 8 {
		first := b.family(t, v.web, v.alice)
		answers := parallel(t, 8, func(i int) (answer, error) {
			if i == 4 {
				return nodes[0].tryPost("/o/revoke_token/", v.web.auth(), params("token", first.AccessToken))
			}
			return nodes[i%len(nodes)].tryPost("/o/token/", v.web.auth(), refreshForm(first.RefreshToken))
		})
		for i, a := range answers {
			if a.Status >= 500 || i == 4 && a.Status != http.StatusOK {
				t.Errorf("request %d: %d %s", i, a.Status, a.Body)
			}
			if i != 4 && a.Status == http.StatusOK {
				v.dead(t, nodes, v.web, v.tokens(t, a))
			}
		}
		v.dead(t, nodes, v.web, first)
	}
}

// raceRotation: of several concurrent rotations of a secret, each either returns a
// working secret or reports that another one was faster.
func (v *fixture) raceRotation(t *testing.T, nodes []*server) {
	root := v.signedIn(t, v.admin)
	session := root.cookie(t, "/", "mandate_session")
	app := v.application(t, "--name", "Rotated", "--grant", "client_credentials")
	answers := parallel(t, 16, func(i int) (answer, error) {
		return nodes[i%len(nodes)].tryPost("/o/applications/"+app.ID+"/rotate/", func(r *http.Request, form url.Values) {
			sameSite(r, form)
			r.AddCookie(&http.Cookie{Name: "mandate_session", Value: session})
		}, params("overlap", "3600"))
	})
	rotated := 0
	for i, a := range answers {
		switch a.Status {
		case http.StatusSeeOther:
			rotated++
		case http.StatusUnprocessableEntity, http.StatusConflict:
		default:
			t.Errorf("request %d: %d", i, a.Status)
		}
	}
	if rotated == 0 {
		t.Error("nobody rotated the secret")
	}
	// The last rotation keeps only the secret directly before it valid.
	_, a := v.token(t, app.auth(), params("grant_type", "client_credentials"))
	if works := a.Status == http.StatusOK; works != (rotated == 1) {
		t.Errorf("after %d rotations the first secret works: %t", rotated, works)
	}
}
