package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mandate/testkit"
)

// Pushed authorization requests (RFC 9126), on both databases.

// push sends an authorization request to the pushed authorization request endpoint.
func (s *server) push(t testing.TB, app application, form url.Values) answer {
	t.Helper()
	return s.post(t, "/o/par/", both(app.auth(), "client_id", app.ClientID), form)
}

// requestFor returns the parameters of a valid request, and the verifier of its code.
func (s *server) requestFor(t testing.TB, app application, more ...string) (url.Values, string) {
	t.Helper()
	address, verifier := s.authorizeURL(app, more...)
	_, query, _ := strings.Cut(address, "?")
	form, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return form, verifier
}

// pushed pushes a valid request. It returns the address that opens it, and the verifier.
func (s *server) pushed(t testing.TB, app application, more ...string) (string, string) {
	t.Helper()
	form, verifier := s.requestFor(t, app, more...)
	a := s.push(t, app, form)
	if a.Status != http.StatusCreated {
		t.Fatalf("push: %d %s", a.Status, a.Body)
	}
	return s.opening(app, a.JSON(t)["request_uri"].(string)), verifier
}

// opening returns the address that opens a request URI.
func (s *server) opening(app application, uri string) string {
	return "/o/authorize/?" + params("client_id", app.ClientID, "request_uri", uri).Encode()
}

// wantPage checks that the browser shows an error, and was not sent away.
func (b *browser) wantPage(t testing.TB, what, code string) {
	t.Helper()
	if b.Away != nil || b.Status != http.StatusBadRequest || !strings.Contains(b.Body, code) {
		t.Errorf("%s: %d, sent to %v: want a page with %s\n%.600s", what, b.Status, b.Away, code, b.Body)
	}
}

func TestPushedRequests(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"OIDC_ENABLED: true"}})
		t.Run("flow", v.pushFlow)
		t.Run("endpoint", v.pushEndpoint)
		t.Run("outside", v.pushOutside)
		t.Run("refused", v.pushRefused)
		t.Run("once", v.pushOnce)
		t.Run("stolen", v.pushStolen)
		t.Run("stored", func(t *testing.T) { v.pushStored(t, db) })
		t.Run("late", func(t *testing.T) { v.pushLate(t, db) })
	})
}

// pushFlow follows a request from the push to the tokens, with each kind of client.
func (v *fixture) pushFlow(t *testing.T) {
	for _, app := range []application{v.web, v.phone, v.casual} {
		state := strings.Repeat("s", 384)
		address, verifier := v.pushed(t, app, "state", state, "nonce", strings.Repeat("n", 64), "scope", "openid read",
			"prompt", "login consent")
		back := v.browser(t).authorize(t, address, v.alice, "approve")
		if back.Query().Get("state") != state || back.Query().Get("iss") != v.Issuer {
			t.Errorf("%s: %v", app.ClientID, back)
		}
		got := v.redeem(t, app, back.Query().Get("code"), verifier)
		if got.Scope != "openid read" || got.IDToken == "" {
			t.Errorf("%+v", got)
		}
	}
	// A person who is signed in, with prompt=login: the proof of the login belongs to the
	// pushed request.
	b := v.signedIn(t, v.alice)
	address, _ := v.pushed(t, v.web, "prompt", "login")
	b.open(t, address)
	if !b.shows("password") {
		t.Fatalf("prompt=login asks for no login: %d %s", b.Status, b.URL)
	}
	b.logIn(t, v.alice)
	if b.Away == nil || b.Away.Query().Get("code") == "" {
		t.Errorf("after the login: %d %s", b.Status, b.URL)
	}
}

// pushEndpoint checks the forms of requests and responses (RFC 9126 §2).
func (v *fixture) pushEndpoint(t *testing.T) {
	meta := v.get(t, "/.well-known/oauth-authorization-server", nobody).JSON(t)
	if meta["pushed_authorization_request_endpoint"] != v.Issuer+"/par/" ||
		meta["require_pushed_authorization_requests"] != false {
		t.Errorf("the metadata has %v, %v", meta["pushed_authorization_request_endpoint"],
			meta["require_pushed_authorization_requests"])
	}
	form, _ := v.requestFor(t, v.web)
	a := v.post(t, "/o/par", v.web.auth(), form)
	uri, _ := a.JSON(t)["request_uri"].(string)
	if a.Status != http.StatusCreated || a.JSON(t)["expires_in"] != 90.0 ||
		a.Header.Get("Cache-Control") != "no-cache, no-store" ||
		!strings.HasPrefix(uri, "urn:ietf:params:oauth:request_uri:") ||
		len(uri) != len("urn:ietf:params:oauth:request_uri:")+43 {
		t.Errorf("%d, Cache-Control %q: %s", a.Status, a.Header.Get("Cache-Control"), a.Body)
	}
	for what, c := range map[string]struct {
		as     auth
		form   url.Values
		status int
		code   string
	}{
		"nobody":           {nobody, with(form, "client_id", ""), 401, "invalid_client"},
		"no secret":        {nobody, form, 401, "invalid_client"},
		"a wrong secret":   {basic(v.web.ClientID, "wrong"), form, 401, "invalid_client"},
		"another client":   {v.rival.auth(), form, 400, "invalid_request"},
		"a request URI":    {v.web.auth(), with(form, "request_uri", uri), 400, "invalid_request"},
		"a request object": {v.web.auth(), with(form, "request", "e30.e30."), 400, "invalid_request"},
		"an unknown redirect URI": {v.web.auth(), with(form, "redirect_uri", "https://evil.example/"), 400,
			"invalid_request"},
		"no redirect URI of two": {v.web.auth(), with(form, "redirect_uri", ""), 400, "invalid_request"},
		"no PKCE":                {v.web.auth(), with(form, "code_challenge", ""), 400, "invalid_request"},
		"plain":                  {v.web.auth(), with(form, "code_challenge_method", "plain"), 400, "invalid_request"},
		"another response type": {v.web.auth(), with(form, "response_type", "code id_token"), 400,
			"unsupported_response_type"},
		"an unknown scope":          {v.web.auth(), with(form, "scope", "nonsense"), 400, "invalid_scope"},
		"an unknown resource":       {v.web.auth(), with(form, "resource", "https://unknown.example"), 400, "invalid_target"},
		"an unknown mode":           {v.web.auth(), with(form, "response_mode", "fragment"), 400, "invalid_request"},
		"a state that is too long":  {v.web.auth(), with(form, "state", strings.Repeat("s", 4097)), 400, "invalid_request"},
		"a request that is too big": {v.web.auth(), with(form, "x", strings.Repeat("x", 17<<10)), 413, "invalid_request"},
	} {
		err := v.post(t, "/o/par/", afar(c.as), c.form).refused(c.status, c.code)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	err := v.post(t, "/o/par/?client_id="+v.web.ClientID, afar(v.web.auth()), form).refused(400, "invalid_request")
	if err != nil {
		t.Error("parameters in the query:", err)
	}
	if a := v.get(t, "/o/par/?"+form.Encode(), nobody); a.Status != http.StatusMethodNotAllowed ||
		a.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow %q", a.Status, a.Header.Get("Allow"))
	}
	script := func(r *http.Request, sent url.Values) {
		v.web.auth()(r, sent)
		r.Header.Set("Origin", "https://spa.example")
	}
	if a := v.post(t, "/o/par/", script, form); a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Error("a script of another site cannot read the response")
	}
}

// pushOutside checks that the parameters beside the request URI do not count.
func (v *fixture) pushOutside(t *testing.T) {
	resembles(t, "Pocket ID: the page reads the parameters beside the request URI")
	address, verifier := v.pushed(t, v.web, "state", "inside", "scope", "read")
	address += "&" + params("state", "outside", "state", "twice", "nonce", "outside", "scope", "write", "redirect_uri",
		"https://evil.example/", "response_mode", "form_post", "prompt", "none").Encode()
	back := v.browser(t).authorize(t, address, v.alice, "approve")
	if back.Query().Get("state") != "inside" || !strings.HasPrefix(back.String(), webURI+"?") {
		t.Fatalf("the response is %v", back)
	}
	if got := v.redeem(t, v.web, back.Query().Get("code"), verifier); got.Scope != "read" {
		t.Errorf("the scope is %q", got.Scope)
	}
	address, _ = v.pushed(t, v.web, "state", "")
	if back := v.browser(t).authorize(t, address+"&state=outside", v.alice, "approve"); back.Query().Has("state") {
		t.Errorf("the state outside is used: %v", back)
	}
}

// pushRefused opens request URIs that must not work. None of them redirects.
func (v *fixture) pushRefused(t *testing.T) {
	resembles(t, "fosite: any client uses up the request URI of another")
	b := v.signedIn(t, v.alice)
	address, _ := v.pushed(t, v.web)
	uri := address[strings.Index(address, "urn"):]
	for what, wrong := range map[string]string{
		"another client":  strings.Replace(address, v.web.ClientID, v.rival.ClientID, 1),
		"a changed URI":   testkit.Changed(address, len(address)-2),
		"an unknown URI":  v.opening(v.web, "urn:ietf:params:oauth:request_uri:unknown"),
		"a longer URI":    address + "A",
		"a forged return": testkit.Changed(address, len(address)-2) + "&opened=x",
	} {
		b.open(t, wrong)
		b.wantPage(t, what, "invalid_request_uri")
	}
	for what, wrong := range map[string]string{
		"no client":          "/o/authorize/?request_uri=" + uri,
		"two request URIs":   address + "&request_uri=" + uri,
		"two clients":        address + "&client_id=" + v.rival.ClientID,
		"with an object too": address + "&request=e30.e30.",
	} {
		b.open(t, wrong)
		b.wantPage(t, what, "invalid_request")
	}
	b.open(t, address)
	if b.Away == nil || b.Away.Query().Get("code") == "" {
		t.Errorf("the right client cannot open it any more: %d %s", b.Status, b.Body)
	}
}

// pushOnce checks that a request URI gets one answer, and works any number of times before.
func (v *fixture) pushOnce(t *testing.T) {
	resembles(t, "Spring Authorization Server #1974: a request URI works more than once")
	address, verifier := v.pushed(t, v.casual, "prompt", "consent")
	for range 2 {
		v.get(t, address, nobody) // a program that looks at the link
		request, err := http.NewRequest("HEAD", v.URL+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.do(request)
		if err != nil {
			t.Fatal(err)
		}
	}
	first, second := v.signedIn(t, v.alice), v.signedIn(t, v.bob)
	first.open(t, address)
	second.open(t, address)
	first.decide(t, "approve")
	v.redeem(t, v.casual, first.Away.Query().Get("code"), verifier)
	second.decide(t, "approve")
	second.wantPage(t, "a second approval", "invalid_request_uri")
	second.open(t, address)
	second.wantPage(t, "opened after the answer", "invalid_request_uri")

	address, _ = v.pushed(t, v.casual, "prompt", "consent")
	first.open(t, address)
	first.decide(t, "deny")
	if first.Away == nil || first.Away.Query().Get("error") != "access_denied" {
		t.Fatalf("denied: %d %s", first.Status, first.Body)
	}
	second.open(t, address)
	second.wantPage(t, "opened after the denial", "invalid_request_uri")

	// An error that the server finds itself is no answer of a person.
	address, _ = v.pushed(t, v.casual, "prompt", "none", "claims", `{"id_token":{"sub":{"value":"nobody"}}}`)
	for range 2 {
		first.open(t, address)
		if first.Away == nil || first.Away.Query().Get("error") == "" {
			t.Errorf("prompt=none: %d %s", first.Status, first.Body)
		}
	}

	nodes := []*server{v.server, v.node(t)}
	address, _ = v.pushed(t, v.web)
	b := v.signedIn(t, v.alice)
	session := withCookie("mandate_session", b.cookie(t, "/", "mandate_session"))
	codes := 0
	for i, a := range parallel(t, 16, func(i int) (answer, error) { return nodes[i%2].tryGet(address, session) }) {
		switch {
		case a.Status == http.StatusSeeOther && strings.Contains(a.Header.Get("Location"), "code="):
			codes++
		case a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "invalid_request_uri"):
			t.Errorf("request %d: %d %s", i, a.Status, a.Header.Get("Location"))
		}
	}
	if codes != 1 {
		t.Errorf("%d codes were issued for one request", codes)
	}
}

// pushStolen checks that nothing which one browser holds lets another one approve.
func (v *fixture) pushStolen(t *testing.T) {
	address, _ := v.pushed(t, v.casual, "prompt", "consent")
	attacker, victim := v.signedIn(t, v.bob), v.signedIn(t, v.alice)
	attacker.open(t, address)
	ticket := attacker.ticketOfPage(t)
	victim.send(t, "/o/consent/", params("ticket", ticket, "decision", "approve"))
	if victim.Away != nil || victim.Status != http.StatusBadRequest {
		t.Errorf("another session approves with the ticket: %d, sent to %v", victim.Status, victim.Away)
	}
	// The secret with which a request was pushed is replaced: the code needs the new one.
	address, verifier := v.pushed(t, v.rival)
	old := v.rival
	v.rival.ClientSecret = v.secret(
		between(t, v.mustCLI(t, "", "application", "rotate-secret", old.ClientID, "--overlap", "0s", "--json"),
			`"client_secret": "`, `"`))
	victim.open(t, address)
	form := grantForm(v.rival, victim.Away.Query().Get("code"), verifier)
	err := v.post(t, "/o/token/", afar(old.auth()), form).refused(401, "invalid_client")
	if err != nil {
		t.Error("the old secret:", err)
	}
	v.mustToken(t, v.rival.auth(), form)
	// Everything that an application held is revoked between the push and the use.
	address, _ = v.pushed(t, v.web)
	v.mustCLI(t, "", "application", "revoke", v.web.ClientID)
	victim.open(t, address)
	victim.wantPage(t, "pushed before everything was revoked", "invalid_request_uri")
}

// pushStored checks that the row holds neither the request nor credentials.
func (v *fixture) pushStored(t *testing.T, db database) {
	form, _ := v.requestFor(t, v.web, "state", "state-in-the-row")
	a := v.post(t, "/o/par/", body(v.web.ClientID, v.web.ClientSecret), form)
	if a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	rows, err := db.open(t).Query(`SELECT digest || ' ' || client_id || ' ' || parameters || ' ' || charged_to || ' ' ||
		network FROM requests`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		for _, hidden := range []string{v.web.ClientSecret, "state-in-the-row", form.Get("code_challenge"),
			strings.TrimPrefix(a.JSON(t)["request_uri"].(string), "urn:ietf:params:oauth:request_uri:")} {
			if strings.Contains(text, hidden) {
				t.Errorf("a row has %q: %s", hidden, text)
			}
		}
	}
}

// pushLate checks that the request URI expires, and that a browser which opened it in time
// may take longer.
func (v *fixture) pushLate(t *testing.T, db database) {
	resembles(t, "Spring Authorization Server #1973: no lifetime; #2043 and Duende Support #1160: a lifetime that also "+
		"counts, or only counts, after the login")
	expire := func() {
		t.Helper()
		// RFC 9126 §2.2: the lifetime is over after its last second, in the second that begins.
		_, err := db.open(t).Exec(`UPDATE requests SET opens_until = $1`, time.Now().Unix())
		if err != nil {
			t.Fatal(err)
		}
	}
	address, _ := v.pushed(t, v.casual, "prompt", "consent")
	expire()
	signedIn := v.signedIn(t, v.alice)
	signedIn.open(t, address)
	signedIn.wantPage(t, "an expired request", "invalid_request_uri")

	address, verifier := v.pushed(t, v.casual, "prompt", "consent")
	b := v.browser(t)
	b.open(t, address)
	next := b.URL.Query().Get("next")
	signedIn.open(t, address)
	expire()
	other := v.signedIn(t, v.bob)
	other.open(t, next)
	other.wantPage(t, "the address after the login, in another browser", "invalid_request_uri")
	b.logIn(t, v.alice)
	b.decide(t, "approve")
	if b.Away == nil {
		t.Fatalf("a person who needed longer for the login is refused: %d %s", b.Status, b.Body)
	}
	v.redeem(t, v.casual, b.Away.Query().Get("code"), verifier)
}
