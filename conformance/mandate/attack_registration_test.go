package mandate

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// What strangers try at the registration endpoint.

// TestAttackPrivilegesByRegistration: a client names rights in its metadata, or gets them by
// an update.
func TestAttackPrivilegesByRegistration(t *testing.T) {
	attack(t, "privilege by registration", "CVE-2026-15572 and CVE-2026-4629 (Keycloak)")
	s := startServer(t, options{provider: append([]string{"SCOPES: {read: Read, write: Write, introspection: Introspect}",
		"DEFAULT_SCOPES: [read]", "SCOPES_BY_ADMINISTRATOR: [write]"}, openClients...)})
	const claims = `"redirect_uris":["https://evil.example/cb"],"scope":"read write introspection","grant_types":["authorization_code","client_credentials","password","refresh_token"],
		"response_types":["code"],"token_endpoint_auth_method":"client_secret_basic","client_secret":"chosen-by-the-client","client_id":"chosen","may_introspect":true,"skip_consent":true,
		"pkce":"if-sent","owner":"root","owner_id":"root","responsible":"operator","administrator":true,"standing":"administrator","access_token_lifetime":999999999,"origin":"page","management":"own"`
	made := s.registers(t, nobody, `{`+strings.Replace(claims, `"client_id":"chosen",`, ``, 1)+`}`)
	changed := s.send(t, "PUT", textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token")),
		`{`+strings.Replace(strings.Replace(claims, `"client_id":"chosen"`, `"client_id":"`+textOf(made, "client_id")+`"`, 1),
			`"client_secret":"chosen-by-the-client",`, ``, 1)+`}`)
	if changed.Status != 200 {
		t.Fatalf("%d %s", changed.Status, changed.Body)
	}
	for when, got := range map[string]member{"registered": made, "changed": changed.JSON(t)} {
		if textOf(got, "client_id") == "chosen" || got["client_secret"] != nil ||
			textOf(got, "scope") != "read openid offline_access" ||
			listOf(got, "grant_types") != "authorization_code refresh_token" ||
			textOf(got, "token_endpoint_auth_method") != "none" || got["pkce"] != nil {
			t.Errorf("%s: %v", when, got)
		}
	}
	shown := s.mustCLI(t, "", "application", "show", textOf(made, "client_id"), "--json")
	var a struct {
		Owner         string `json:"owner"`
		MayIntrospect bool   `json:"may_introspect"`
		SkipConsent   bool   `json:"skip_consent"`
		Lifetime      int64  `json:"access_token_lifetime"`
	}
	if err := json.Unmarshal([]byte(shown), &a); err != nil || a.Owner != "" || a.MayIntrospect || a.SkipConsent ||
		a.Lifetime != 0 {
		t.Errorf("%v: %s", err, shown)
	}
}

// TestAttackRegistrationOfDemoted: an administrator makes a token and an application, loses
// the right, and uses the registration access token to keep more than a person may have.
func TestAttackRegistrationOfDemoted(t *testing.T) {
	t.Parallel()
	attack(t, "rights that outlive who had them", "")
	s := startServer(t, options{provider: []string{"SCOPES: {read: Read, write: Write, introspection: Introspect}",
		"GRANTS_BY_ADMINISTRATOR: [client_credentials]", "SCOPES_BY_ADMINISTRATOR: [write]",
		"REGISTRATION_WITH_TOKEN: true"}})
	b := s.signedIn(t, s.person(t, "former", "--admin"))
	s.person(t, "root", "--admin")
	b.open(t, s.URL+"/admin/registration-tokens/")
	b.send(t, "/admin/registration-tokens/",
		params("uses", "2", "expires", "86400", "may", "client_credentials", "may", "introspection", "scopes", "read",
			"scopes", "write"))
	_, after, _ := strings.Cut(b.Body, `value="mit_`)
	text, _, _ := strings.Cut(after, `"`)
	token := s.secret("mit_" + text)
	made := s.registers(t, bearer(token), `{"grant_types":["client_credentials"],"scope":"read write introspection"}`)
	app := asApplication(made, "")
	s.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "write introspection"))
	pool := s.database.open(t)
	_, err := pool.ExecContext(t.Context(), "UPDATE users SET administrator = FALSE WHERE username = 'former'")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.registration(t, bearer(token), `{"grant_types":["client_credentials"]}`).refused(401,
		"invalid_token"); err != nil {
		t.Error(err)
	}
	a := s.send(t, "PUT", textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token")),
		member{"client_id": app.ClientID, "grant_types": []string{"client_credentials"}, "scope": "read write introspection"})
	if a.Status == 200 &&
		(strings.Contains(textOf(a.JSON(t), "scope"), "introspection") || strings.Contains(listOf(a.JSON(t), "grant_types"),
			"client_credentials")) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestAttackRegistrationFetches: a stranger lets the server request addresses in its own
// network.
func TestAttackRegistrationFetches(t *testing.T) {
	t.Parallel()
	attack(t, "server-side request forgery by client metadata", "CVE-2026-59354")
	inside, reached := countConnections(t)
	s := startServer(t, options{provider: append([]string{"SCOPES: {read: Read, openid: Sign in}", "OIDC_ENABLED: true"},
		openClients...)})
	_, port, _ := net.SplitHostPort(inside)
	for _, member := range []string{"sector_identifier_uri", "jwks_uri", "logo_uri", "client_uri", "policy_uri", "tos_uri",
		"initiate_login_uri", "request_uris"} {
		for i, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"} {
			value := fmt.Sprintf(`"https://%s:%s/"`, host, port)
			if member == "request_uris" {
				value = "[" + value + "]"
			}
			s.registration(t, nobody, fmt.Sprintf(`{"redirect_uris":["https://evil.example/%s/%d"],%q:%s}`, member, i,
				member, value))
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the server connected %d times to an address in its own network", n)
	}
}

// TestAttackRegistrationFetchesAllowedNetworks: the operator allows a network for the logout
// addresses of registered applications, and a stranger lets the server request addresses in it.
func TestAttackRegistrationFetchesAllowedNetworks(t *testing.T) {
	t.Parallel()
	attack(t, "server-side request forgery by client metadata", "CVE-2026-59354")
	inside, reached := countConnections(t)
	for what, hosts := range map[string]string{"every host": "OPEN_HOSTS: []",
		"other hosts": "OPEN_HOSTS: [evil.example]"} {
		s := startServer(t, options{settings: []string{thisHost},
			provider: append([]string{"SCOPES: {read: Read, openid: Sign in}", "OIDC_ENABLED: true", hosts}, openClients...)})
		for name, metadata := range map[string]member{
			"sector": {"redirect_uris": []string{"https://evil.example/"}, "sector_identifier_uri": "https://" +
				inside + "/"},
			"logout address": {"redirect_uris": []string{"https://" + inside + "/"}, "backchannel_logout_uri": "https://" +
				inside + "/x"},
		} {
			if a := s.registration(t, nobody, metadata); a.Status != 400 {
				t.Errorf("%s, %s: %d %s", what, name, a.Status, a.Body)
			}
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the server connected %d times to an address in its own network", n)
	}
}

// TestAttackLogoutAddressOfStranger: the name in the logout address of an application, for
// which nobody is responsible, resolves to an address in the networks of the operator.
func TestAttackLogoutAddressOfStranger(t *testing.T) {
	t.Parallel()
	attack(t, "server-side request forgery by client metadata", "")
	s := logoutServer(t, newSQLite(t), openClients...)
	alice, at := s.person(t, "alice"), listen(t, 200)
	app, b := s.relyingParty(t, "--backchannel-logout-uri", at.URL), s.browser(t)
	b.signsIn(t, app, alice)
	_, err := s.database.open(t).ExecContext(t.Context(), "UPDATE applications SET responsible = 'nobody', origin = "+
		"'registration'")
	if err != nil {
		t.Fatal(err)
	}
	b.open(t, "/logout/")
	b.submit(t, "Sign out", nil)
	waitFor(t, "the end of the notification", func() bool {
		return len(at.heard) > 0 || strings.Contains(s.log.String(), "was not notified of a logout")
	})
	if len(at.heard) > 0 {
		t.Error("the server sent a request to an address in its own network")
	}
}

// countConnections accepts connections on this computer, and counts them.
func countConnections(t testing.TB) (address string, reached *atomic.Int64) {
	t.Helper()
	inside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inside.Close() })
	reached = &atomic.Int64{}
	go func() {
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			c.Close()
		}
	}()
	return inside.Addr().String(), reached
}

// TestAttackRegistrationFlood: a stranger registers as many clients as possible, with names
// that become labels of metrics or lines of the log.
func TestAttackRegistrationFlood(t *testing.T) {
	attack(t, "unbounded rows and labels by registration", "mcphub #1174, CVE-2026-16100 (Keycloak)")
	w := startWatched(t, options{provider: append([]string{"OPEN_MAX_APPLICATIONS: 20"}, openClients...)})
	before := len(w.look(t, "/metrics").Body)
	refused := 0
	for _, a := range parallel(t, 200, func(i int) (answer, error) {
		return w.trySend("POST", "/o/register/", nobody,
			fmt.Sprintf(`{"client_name":"label-%d-of-a-stranger","redirect_uris":["https://flood.example/%d"]}`, i, i))
	}) {
		if a.Status != 201 {
			refused++
		}
	}
	var rows int
	behind(t, w.database, "SELECT COUNT(*) FROM applications", &rows)
	if rows > 20 || refused < 180 {
		t.Errorf("%d rows, %d refusals", rows, refused)
	}
	metrics := w.look(t, "/metrics").Body
	if strings.Contains(metrics, "of-a-stranger") || strings.Contains(w.log.String(), "of-a-stranger") ||
		len(metrics) > before+20_000 {
		t.Errorf("a stranger's name is in the metrics or in the log, or the metrics grew from %d to %d bytes", before,
			len(metrics))
	}
}

// TestAttackRegistrationFromManyNetworks: one customer of an internet provider uses many IPv6
// networks, so that no other client can register.
func TestAttackRegistrationFromManyNetworks(t *testing.T) {
	attack(t, "limits that a stranger evades with IPv6", "")
	s := startServer(t, options{provider: openClients, settings: []string{ours}})
	register := func(address string, i int) answer {
		return s.registration(t, fromAddress(address),
			member{"redirect_uris": []string{fmt.Sprintf("https://flood.example/%d", i)}})
	}
	refused := 0
	for i := range 100 {
		if a := register(fmt.Sprintf("2001:db8:1:%x::1", i), i); a.Status == 429 {
			refused++
		} else if a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	if refused < 35 {
		t.Errorf("of 100 registrations from one customer, %d were refused", refused)
	}
	if a := register("2001:db8:2::1", 100); a.Status != 201 {
		t.Errorf("another customer: %d %s", a.Status, a.Body)
	}
}

// TestAttackKeepRegistrations: a stranger registers as much as one network may, and then
// registers it again and again, so that the clean-up never deletes it.
func TestAttackKeepRegistrations(t *testing.T) {
	t.Parallel()
	attack(t, "records that strangers can keep without a limit", "")
	s := startServer(t, options{provider: openClients})
	register := func(i int) answer {
		return s.registration(t, nobody, member{"redirect_uris": []string{fmt.Sprintf("https://flood.example/%d", i)}})
	}
	register(0)
	register(0)
	for i := 1; ; i++ {
		if a := register(i); a.Status == 429 {
			break
		} else if a.Status != 201 || i > 1000 {
			t.Fatalf("%d: %d %s", i, a.Status, a.Body)
		}
	}
	_, err := s.database.open(t).ExecContext(t.Context(), "UPDATE applications SET created_at = 1000")
	if err != nil {
		t.Fatal(err)
	}
	// The application stays known, for hosted clients that register for many people.
	if a := register(0); a.Status != 201 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	var created int64
	behind(t, s.database, "SELECT MAX(created_at) FROM applications", &created)
	if created != 1000 {
		t.Error("the network has no try left, and the clean-up counts the time anew")
	}
}

// TestAttackSecondRegistrant: a stranger registers the metadata of a known client again, gets
// its registration access token, and tries to take the client over.
func TestAttackSecondRegistrant(t *testing.T) {
	ownProcesses(t)
	attack(t, "takeover by an identical registration", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		one := startServer(t, options{database: db, provider: openClients, settings: []string{ours}})
		nodes := []*server{one, one}
		if db.name == "postgres" {
			nodes[1] = one.node(t)
		}
		for round := range 8 {
			metadata := fmt.Sprintf(`{"client_name":"Known","redirect_uris":["https://known.example/%d"]}`, round)
			// Registrations of the same metadata at the same time may each use a try of their network.
			stranger := fromAddress(fmt.Sprintf("203.0.113.%d", round))
			made := one.registers(t, stranger, metadata)
			at, token, id := textOf(made, "registration_client_uri"), textOf(made, "registration_access_token"),
				textOf(made, "client_id")
			registrant := func(r *http.Request, form url.Values) {
				stranger(r, form)
				bearer(token)(r, form)
			}
			// The registrant changes the client, while others register the same.
			answers := parallel(t, 16, func(i int) (answer, error) {
				if i%4 == 0 {
					return nodes[i/4%2].trySend("PUT", at, registrant,
						fmt.Sprintf(`{"client_id":%q,"client_name":"Moved","redirect_uris":["https://moved.example/%d"]}`, id, i))
				}
				return nodes[i%2].trySend("POST", "/o/register/", stranger, metadata)
			})
			moved := textOf(one.send(t, "GET", at, bearer(token), nil).JSON(t), "client_name") == "Moved"
			for i, a := range answers {
				switch {
				case i%4 == 0 && a.Status != 200 && a.refused(403, "access_denied") != nil &&
					a.refused(503, "temporarily_unavailable") != nil:
					t.Errorf("PUT: %d %s", a.Status, a.Body)
				case i%4 != 0 && a.Status != 201:
					t.Errorf("POST: %d %s", a.Status, a.Body)
				case i%4 != 0 && moved && textOf(a.JSON(t), "client_id") == id:
					t.Error("a second registrant has a client that the first one changed afterwards")
				}
			}
		}
	})
}
