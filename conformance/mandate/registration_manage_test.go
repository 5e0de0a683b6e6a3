package mandate

import (
	"slices"
	"strings"
	"testing"
)

// RFC 7592: the registration access token manages one client.

func TestRegistrationManagement(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: append([]string{"SCOPES: {read: Read, write: Write, introspection: Introspect}"}, openClients...)})
		t.Run("own", s.managesOwn)
		t.Run("shared", s.managesShared)
		t.Run("deleted", s.deletesOwn)
		t.Run("taken over", func(t *testing.T) { s.losesToPerson(t, db) })
	})
}

func (s *server) managesOwn(t *testing.T) {
	made := s.registers(t, nobody,
		`{"client_name":"First","redirect_uris":["https://own.example/a"],"tos_uri":"https://own.example/terms","scope":"read"}`)
	other := s.registers(t, nobody, `{"redirect_uris":["https://own.example/other"]}`)
	at, token, id := textOf(made, "registration_client_uri"), textOf(made, "registration_access_token"),
		textOf(made, "client_id")
	read := s.send(t, "GET", at, bearer(token), nil)
	if read.Status != 200 || textOf(read.JSON(t), "client_name") != "First" ||
		textOf(read.JSON(t), "registration_access_token") != token || read.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("RFC 7592 §2.1: %d %s", read.Status, read.Body)
	}
	for name, as := range map[string]auth{"none": nobody, "another": bearer(textOf(other, "registration_access_token")),
		"no token": bearer("mrg_x"), "in a form": basic(id, token)} {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			if err := s.send(t, method, at, as, member{"client_id": id, "redirect_uris": []string{"https://evil.example/"}}).
				refused(401, "invalid_token"); err != nil {
				t.Errorf("%s with the token %s: %v", method, name, err)
			}
		}
	}
	// OIDC Registration §4.4: an unknown client is never 404.
	if err := s.send(t, "GET", "/o/register/unknown/", bearer(token), nil).refused(401, "invalid_token"); err != nil {
		t.Error(err)
	}
	if a := s.send(t, "POST", at, bearer(token), member{}); a.Status != 405 {
		t.Errorf("POST: %d", a.Status)
	}
	good := func(more string) string {
		return `{"client_id":"` + id + `","redirect_uris":["https://own.example/b"]` + more + `}`
	}
	for name, body := range map[string]string{"no client id": `{"redirect_uris":["https://own.example/b"]}`,
		"another client id": `{"client_id":"x","redirect_uris":["https://own.example/b"]}`,
		"its token":         good(`,"registration_access_token":"` + token + `"`),
		"its address":       good(`,"registration_client_uri":"` + at + `"`),
		"its time":          good(`,"client_id_issued_at":1`), "the end of a secret": good(`,"client_secret_expires_at":0`),
		"a secret": good(`,"client_secret":"chosen-by-the-client-1234"`)} {
		if err := s.send(t, "PUT", at, bearer(token), body).refused(400, "invalid_client_metadata"); err != nil {
			t.Errorf("RFC 7592 §2.2, %s: %v", name, err)
		}
	}
	changed := s.send(t, "PUT", at, bearer(token), good(`,"client_name":"Second","tos_uri":""`))
	got := changed.JSON(t)
	// RFC 7592 §2.2: the new metadata replaces the old, so what is left out is gone.
	if changed.Status != 200 || textOf(got, "client_name") != "Second" ||
		listOf(got, "redirect_uris") != "https://own.example/b" || got["tos_uri"] != nil ||
		textOf(got, "scope") != "read write openid offline_access" || textOf(got, "client_id") != id {
		t.Errorf("%d %s", changed.Status, changed.Body)
	}
	for _, uri := range []string{"https://own.example/a", "https://own.example/b"} {
		address, _ := s.authorizeURL(asApplication(made, uri))
		if a := s.get(t, strings.TrimPrefix(address, s.URL), nobody); (a.Status == 400) != (uri == "https://own.example/a") {
			t.Errorf("%s after the change: %d", uri, a.Status)
		}
	}
	// A change can only be what a registration could be.
	if err := s.send(t, "PUT", at, bearer(token), good(`,"grant_types":["client_credentials"]`)).refused(400,
		"invalid_client_metadata"); err != nil {
		t.Error(err)
	}
	// What was registered first is not this client any more.
	if again := s.registers(t, nobody,
		`{"client_name":"First","redirect_uris":["https://own.example/a"],"tos_uri":"https://own.example/terms","scope":"read"}`); textOf(again, "client_id") == id {
		t.Error("the changed client is given to another registrant")
	}
}

// Whoever registers the same gets the same client id and the same token, so the token
// cannot change the client any more.
func (s *server) managesShared(t *testing.T) {
	const metadata = `{"client_name":"Shared","redirect_uris":["http://localhost:1234/cb","https://shared.example/cb"]}`
	first := s.registers(t, nobody, metadata)
	at, token, id := textOf(first, "registration_client_uri"), textOf(first, "registration_access_token"),
		textOf(first, "client_id")
	// RFC 7591 §3.2.1: the time of issue is that of the first registration, and an hour has passed.
	_, err := s.database.open(t).ExecContext(t.Context(), "UPDATE applications SET created_at = created_at - 3600 WHERE "+
		"client_id = '"+id+"'")
	if err != nil {
		t.Fatal(err)
	}
	issued := first["client_id_issued_at"].(float64) - 3600
	for name, body := range map[string]string{
		"the same":                        metadata,
		"in another order, with spaces":   `{ "redirect_uris": ["http://localhost:1234/cb","https://shared.example/cb"], "client_name":"Shared" }`,
		"with defaults and unknown names": `{"client_name":"Shared","redirect_uris":["http://localhost:1234/cb","https://shared.example/cb"],"grant_types":["authorization_code"],"x":1,"logo_uri":""}`,
		"with another port":               `{"client_name":"Shared","redirect_uris":["http://localhost:5678/cb","https://shared.example/cb"]}`,
	} {
		again := s.registers(t, nobody, body)
		if textOf(again, "client_id") != id || textOf(again, "registration_access_token") != token {
			t.Errorf("%s: another client", name)
		}
		if again["client_id_issued_at"] != issued {
			t.Errorf("%s: issued at %v, want %v", name, again["client_id_issued_at"], issued)
		}
		if port := strings.Contains(body, "5678"); port != strings.Contains(listOf(again, "redirect_uris"), "5678") {
			t.Errorf("%s: %s", name, listOf(again, "redirect_uris"))
		}
	}
	for name, body := range map[string]string{
		"another name":       `{"client_name":"shared","redirect_uris":["http://localhost:1234/cb","https://shared.example/cb"]}`,
		"another path":       `{"client_name":"Shared","redirect_uris":["http://localhost:1234/cb2","https://shared.example/cb"]}`,
		"another https port": `{"client_name":"Shared","redirect_uris":["http://localhost:1234/cb","https://shared.example:444/cb"]}`,
		"a page":             `{"client_name":"Shared","redirect_uris":["http://localhost:1234/cb","https://shared.example/cb"],"client_uri":"https://shared.example/"}`,
	} {
		if textOf(s.registers(t, nobody, body), "client_id") == id {
			t.Errorf("%s: the same client", name)
		}
	}
	if a := s.send(t, "GET", at, bearer(token), nil); a.Status != 200 {
		t.Errorf("GET: %d %s", a.Status, a.Body)
	}
	for _, method := range []string{"PUT", "DELETE"} {
		if err := s.send(t, method, at, bearer(token),
			member{"client_id": id, "redirect_uris": []string{"https://evil.example/"}}).refused(403,
			"access_denied"); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func (s *server) deletesOwn(t *testing.T) {
	const metadata = `{"redirect_uris":["https://gone.example/cb"]}`
	made := s.registers(t, nobody, metadata)
	at, token := textOf(made, "registration_client_uri"), textOf(made, "registration_access_token")
	alice := s.person(t, "deleter")
	app := asApplication(made, "https://gone.example/cb")
	family := s.signedIn(t, alice).family(t, app, alice)
	if a := s.send(t, "DELETE", at, bearer(token), nil); a.Status != 204 || a.Body != "" {
		t.Errorf("RFC 7592 §2.3: %d %s", a.Status, a.Body)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if err := s.send(t, method, at, bearer(token), nil).refused(401, "invalid_token"); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := s.post(t, "/o/token/", app.auth(), refreshForm(family.RefreshToken)).refused(401,
		"invalid_client"); err != nil {
		t.Error(err)
	}
	if again := s.registers(t, nobody, metadata); textOf(again, "client_id") == textOf(made, "client_id") {
		t.Error("a deleted client comes back")
	}
}

// A person who takes the client over, or changes it, decides about it from then on.
func (s *server) losesToPerson(t *testing.T, db database) {
	made := s.registers(t, nobody, `{"client_name":"Taken","redirect_uris":["https://taken.example/cb"]}`)
	at, token, id := textOf(made, "registration_client_uri"), textOf(made, "registration_access_token"),
		textOf(made, "client_id")
	s.mustCLI(t, "", "application", "take-over", id)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if err := s.send(t, method, at, bearer(token),
			member{"client_id": id, "redirect_uris": []string{"https://evil.example/"}}).refused(403,
			"access_denied"); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	if again := s.registers(t, nobody, `{"client_name":"Taken","redirect_uris":["https://taken.example/cb"]}`); textOf(
		again, "client_id") == id {
		t.Error("a stranger gets the application of the operator")
	}
}

// An operator who closes the way by which an application came suspends it, as long as nobody
// is responsible for it. Its registrant can read and delete it, and change nothing.
func TestRegistrationIsNotAllowedAnyMore(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: openClients, settings: []string{"MAX_STALENESS_SECONDS: 0"}})
		closed := v.options
		closed.provider = slices.DeleteFunc(slices.Clone(closed.provider),
			func(line string) bool { return slices.Contains(openClients, line) })
		after := newServer(t, closed, v.BaseURL, v.key, v.secrets)
		after.start(t)
		alice := v.signedIn(t, v.alice)
		registers := func(as auth, name string) (member, application, tokens) {
			t.Helper()
			made := v.registers(t, as, `{"client_name":"`+name+`","redirect_uris":["https://`+name+`.example/cb"]}`)
			app := asApplication(made, "https://"+name+".example/cb")
			return made, app, alice.family(t, app, v.alice)
		}
		made, app, lost := registers(nobody, "alone")
		_, taken, _ := registers(nobody, "taken")
		_, vouched, good := registers(bearer(v.initialToken(t)), "vouched")
		v.mustCLI(t, "", "application", "take-over", taken.ClientID)
		kept := alice.family(t, taken, v.alice)
		for what, test := range map[string]struct {
			app   application
			token tokens
			want  bool
		}{"open": {app, lost, false}, "taken over": {taken, kept, true},
			"with an initial access token": {vouched, good, true}} {
			if !v.active(t, v.asker.auth(), test.token.AccessToken) {
				t.Errorf("%s: inactive although registration is allowed", what)
			}
			if got := after.active(t, v.asker.auth(), test.token.AccessToken); got != test.want {
				t.Errorf("%s: active %v, want %v", what, got, test.want)
			}
			a := after.post(t, "/o/token/", test.app.auth(),
				params("grant_type", "refresh_token", "refresh_token", test.token.RefreshToken))
			if (a.Status == 200) != test.want {
				t.Errorf("%s, refresh: %d %s", what, a.Status, a.Body)
			}
			address, _ := after.authorizeURL(test.app)
			if a := after.get(t, strings.TrimPrefix(address, after.URL), nobody); (a.Status == 303) != test.want {
				t.Errorf("%s, authorization request: %d", what, a.Status)
			}
		}
		at, manage := textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token"))
		at = strings.TrimPrefix(at, v.BaseURL)
		change := member{"client_id": app.ClientID, "redirect_uris": []string{"https://alone.example/new"}}
		a := after.send(t, "PUT", at, manage, change)
		if err := a.refused(403, "access_denied"); err != nil || !strings.Contains(a.Body, "OPEN_CLIENTS") {
			t.Errorf("PUT: %v %s", err, a.Body)
		}
		if a := after.send(t, "GET", at, manage, nil); a.Status != 200 ||
			listOf(a.JSON(t), "redirect_uris") != app.RedirectURI {
			t.Errorf("GET: %d %s", a.Status, a.Body)
		}
		// People and the operator see the reason.
		if text := after.mustCLI(t, "", "application", "show", app.ClientID); !strings.Contains(text, "open, suspended") ||
			!strings.Contains(text, "OPEN_CLIENTS") {
			t.Error(text)
		}
		if text := v.mustCLI(t, "", "application", "show", app.ClientID); strings.Contains(text, "suspended") {
			t.Error(text)
		}
		tab := after.signedIn(t, v.alice)
		tab.open(t, "/account/")
		if strings.Count(tab.Body, "It does not work now.") != 1 || !strings.Contains(tab.Body, "OPEN_CLIENTS") {
			t.Errorf("the account page does not say why the application does not work:\n%s", tab.Body)
		}
		if a := after.send(t, "DELETE", at, manage, nil); a.Status != 204 {
			t.Errorf("DELETE: %d %s", a.Status, a.Body)
		}
	})
}
