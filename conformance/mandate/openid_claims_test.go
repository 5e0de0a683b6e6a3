package mandate

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// idTokenClaims are the claims of an ID token that are not about the person.
var idTokenClaims = []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "acr", "amr", "sid"}

// OIDC Core §2, §5.4: each kind of application signs a person in, with each value of its setting. The ID tokens of the
// code, of a refresh and of a device have the claims of the granted scopes as UserInfo returns them, or none.
func TestOIDCCore5ClaimsInIDToken(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db, "REGISTRATION_WITH_TOKEN: true", "OPEN_CLIENTS: [registration]")
		s.mustCLI(t, "", "group", "add", "staff")
		alice, owner := s.person(t, "alice", "--email", "alice@example.org", "--email-verified", "--first-name", "Alice",
			"--group", "staff"), s.person(t, "owner")
		b, keys := s.signedIn(t, alice), newStatementIssuer(t, "bank")
		const scope = "openid profile email groups"
		// about checks the ID token of a response, and returns whether it has the claims.
		about := func(t *testing.T, what string, app application, algorithm string, got tokens, as auth) bool {
			t.Helper()
			claims := s.verified(t, app, algorithm, got.IDToken)
			maps.DeleteFunc(claims, func(name string, _ any) bool { return slices.Contains(idTokenClaims, name) })
			if len(claims) == 0 {
				return false
			}
			info := s.get(t, "/o/userinfo/", as).JSON(t)
			delete(info, "sub")
			checkEqual(t, what, asJSON(t, claims), asJSON(t, info))
			return true
		}
		login := func(t *testing.T, app application) bool {
			t.Helper()
			first := b.signsIn(t, app, alice, "scope", scope)
			in := about(t, "the first ID token", app, "RS256", first, bearer(first.AccessToken))
			next := s.mustToken(t, app.auth(), refreshForm(first.RefreshToken))
			checkEqual(t, "the refreshed ID token has claims", about(t, "it", app, "RS256", next, bearer(next.AccessToken)), in)
			return in
		}
		code := []string{"--grant", "authorization_code", "--redirect-uri", phoneURI}
		public := append(slices.Clone(code), "--client-type", "public")
		for name, test := range map[string]struct {
			flags []string
			want  string // unset, on and off. y: it has them, n: it has none, x: refused at registration
		}{"confidential": {code, "yyn"}, "public": {public, "nyn"}} {
			got := ""
			for _, value := range []string{"", "on", "off"} {
				got += yn(login(t, s.application(t,
					append([]string{"--name", name, "--claims-in-id-token", value}, test.flags...)...)))
			}
			checkEqual(t, name, got, test.want)
		}

		t.Run("profile", func(t *testing.T) {
			flags := fapiClient(t, keys, "--profile", "fapi2")
			if r := s.cli(t, "",
				append([]string{"application", "add", "--claims-in-id-token", "on"}, flags...)...); r.code == 0 ||
				!strings.HasPrefix(r.stderr, "mandate: --claims-in-id-token: ") {
				t.Errorf("on: %d %s", r.code, r.stderr)
			}
			by, h := keyHolder{s.application(t, flags...), keys}, newHolder(t)
			as := func() auth { return h.proving(t, asserting(s.assert(t, by, nil, nil))) }
			asked, verifier := s.requestFor(t, by.application, "scope", scope)
			pushed := s.post(t, "/o/par/", as(), asked)
			back := b.authorize(t, s.opening(by.application, pushed.JSON(t)["request_uri"].(string)), alice, "approve").Query()
			got := s.mustToken(t, as(), grantForm(by.application, back.Get("code"), verifier))
			if about(t, "it", by.application, "PS256", got, nobody) {
				t.Error("its ID token has claims about the person")
			}
		})

		t.Run("device", func(t *testing.T) {
			for value, want := range map[string]bool{"": true, "off": false} {
				tv := s.application(t, "--name", "tv "+value, "--grant", deviceGrant, "--claims-in-id-token", value)
				codes := b.approvedDevice(t, tv, "scope", scope)
				got := s.mustToken(t, tv.auth(), pollForm(codes.DeviceCode))
				checkEqual(t, "a device", about(t, "it", tv, "RS256", got, bearer(got.AccessToken)), want)
			}
		})

		t.Run("of a person", func(t *testing.T) {
			own := s.application(t, append([]string{"--name", "Own", "--claims-in-id-token", "on"}, code...)...)
			s.mustCLI(t, "", "application", "assign", own.ClientID, owner.Name)
			var shown member
			if err := json.Unmarshal([]byte(s.mustCLI(t, "", "application", "show", own.ClientID, "--json")),
				&shown); err != nil {
				t.Fatal(err)
			}
			checkEqual(t, "after it was assigned", textOf(shown, "claims_in_id_token"), "")
			if login(t, own) {
				t.Error("its ID token has claims about the person")
			}
			// Its owner cannot switch them on, and may switch them off.
			w := s.signIn(t, owner, "/o/applications/")
			w.click(t, "Own")
			at := w.URL.Path
			for _, test := range []struct {
				value  string
				status int
				says   string
			}{{"on", http.StatusUnprocessableEntity, `id="claims_in_id_token-error"`}, {"off", http.StatusOK, "Not included"}} {
				w.open(t, at+"update/")
				w.submit(t, "Save changes", params("claims_in_id_token", test.value))
				if w.Status != test.status || !strings.Contains(w.Body, test.says) {
					t.Errorf("%s: %d %.300s", test.value, w.Status, w.Body)
				}
			}
		})

		t.Run("registered by itself", func(t *testing.T) {
			client := member{"client_name": "Notes", "redirect_uris": []string{phoneURI}, "token_endpoint_auth_method": "none",
				"scope": scope}
			with := func(value string) member {
				of := maps.Clone(client)
				of["claims_in_id_token"] = value
				return of
			}
			for value, status := range map[string]int{"off": http.StatusCreated, "on": http.StatusBadRequest,
				"x": http.StatusBadRequest} {
				a := s.registration(t, nobody, with(value))
				if a.Status != status || !strings.Contains(a.Body, "claims_in_id_token") {
					t.Errorf("%s: %d %s", value, a.Status, a.Body)
				}
			}
			got := s.registers(t, nobody, client)
			if login(t, application{ClientID: textOf(got, "client_id"), RedirectURI: phoneURI}) {
				t.Error("its ID token has claims about the person")
			}
			// With the token of the operator, the same program is confidential, and its ID tokens have them.
			client["token_endpoint_auth_method"] = "client_secret_basic"
			got = s.registers(t, bearer(s.initialToken(t)), client)
			if !login(t, application{ClientID: textOf(got, "client_id"), ClientSecret: textOf(got, "client_secret"),
				RedirectURI: phoneURI}) {
				t.Error("its ID token has no claims about the person")
			}
			narrowed := s.registers(t, bearer(s.initialToken(t)), with("off"))
			checkEqual(t, "the answer", textOf(narrowed, "claims_in_id_token"), "off")
			if login(t, application{ClientID: textOf(narrowed, "client_id"), ClientSecret: textOf(narrowed, "client_secret"),
				RedirectURI: phoneURI}) {
				t.Error("off: its ID token has claims about the person")
			}
		})
	})
}

func yn(yes bool) string {
	if yes {
		return "y"
	}
	return "n"
}

// asJSON returns claims as they are in JSON, whatever the type of their numbers.
func asJSON(t *testing.T, claims map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
