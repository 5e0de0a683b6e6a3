package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// door is an endpoint that accepts one kind of artefact as text. try reports whether it
// refused the text; a refusal in the wrong form fails the test.
type door struct {
	name string
	try  func(t testing.TB, text string) (refused bool)
}

// artefact is one kind of value that the server issues.
type artefact struct {
	name string
	make func(t testing.TB) string
	fits map[string]bool                 // the doors that accept it
	use  func(t testing.TB, text string) // its right use, which must work
}

// boundToUse tries every kind of artefact at every door. Only the right door accepts
// it, and does so even after each wrong attempt.
func (v *fixture) boundToUse(t *testing.T) {
	doors := v.doors(t)
	for _, a := range v.artefacts(t) {
		for _, d := range doors {
			t.Run(a.name+" at "+d.name, func(t *testing.T) {
				text := a.make(t)
				refused := d.try(t, text)
				if refused == a.fits[d.name] {
					t.Errorf("refused: %t", refused)
				}
				if refused && a.use != nil {
					a.use(t, text)
				}
			})
		}
	}
}

func (v *fixture) doors(t testing.TB) []door {
	made := v.registers(t, bearer(v.initialToken(t)), `{"redirect_uris":["https://bound.example/"]}`)
	v.registered, v.registrationToken = textOf(made, "registration_client_uri"), textOf(made, "registration_access_token")
	alice := v.signedIn(t, v.alice)
	_, verifier := v.authorizeURL(v.web)
	protocol := func(t testing.TB, a answer, status int, code string) bool {
		t.Helper()
		if a.Status == http.StatusOK {
			return false
		}
		err := a.refused(status, code)
		if err != nil {
			t.Error(err)
		}
		return true
	}
	return []door{
		{"code", func(t testing.TB, text string) bool {
			form := v.codes[text]
			if form == nil {
				form = grantForm(v.web, text, verifier)
			}
			return protocol(t, v.post(t, "/o/token/", v.web.auth(), form), 400, "invalid_grant")
		}},
		{"refresh", func(t testing.TB, text string) bool {
			return protocol(t, v.post(t, "/o/token/", v.web.auth(), refreshForm(text)), 400, "invalid_grant")
		}},
		{"device", func(t testing.TB, text string) bool {
			return protocol(t, v.post(t, "/o/token/", v.tv.auth(), pollForm(text)), 400, "invalid_grant")
		}},
		{"user code", func(t testing.TB, text string) bool {
			alice.send(t, "/device/", params("user_code", text))
			return alice.Status == http.StatusUnprocessableEntity && !alice.shows("decision")
		}},
		{"decision about a device", func(t testing.TB, text string) bool {
			alice.send(t, "/device/answer/", params("ticket", text, "decision", "approve"))
			return alice.Status == http.StatusBadRequest
		}},
		{"API", func(t testing.TB, text string) bool { return v.shut(t, bearer(text)) }},
		{"API, in the query", func(t testing.TB, text string) bool {
			// RFC 9700 §4.3.2: a token in the query is ignored.
			a := v.get(t, "/resource?access_token="+url.QueryEscape(text), nobody)
			return a.Status == http.StatusUnauthorized
		}},
		{"introspection, as the caller", func(t testing.TB, text string) bool {
			a := v.post(t, "/o/introspect/", bearer(text), params("token", text))
			if a.Status == http.StatusForbidden {
				// RFC 6750 §3.1: an active access token without the scope.
				return protocol(t, a, 403, "insufficient_scope")
			}
			return protocol(t, a, 401, "invalid_token")
		}},
		{"introspection", func(t testing.TB, text string) bool {
			a := v.post(t, "/o/introspect/", v.asker.auth(), params("token", text))
			// RFC 7662 §2.2: the answer for an inactive token has only the member active.
			return a.Status == http.StatusOK && strings.TrimSpace(a.Body) == `{"active":false}`
		}},
		// RFC 7662 §2.1: a wrong hint does not matter.
		{"introspection of a refresh token", func(t testing.TB, text string) bool {
			a := v.post(t, "/o/introspect/", v.asker.auth(), params("token", text, "token_type_hint", "refresh_token"))
			return a.Status == http.StatusOK && strings.TrimSpace(a.Body) == `{"active":false}`
		}},
		{"client authentication", func(t testing.TB, text string) bool {
			return protocol(t, v.post(t, "/o/token/", afar(basic(v.web.ClientID, text)),
				params("grant_type", "client_credentials")), 401, "invalid_client")
		}},
		{"password", func(t testing.TB, text string) bool {
			// Each attempt uses another username: this door tests the kind of text, not
			// password guessing.
			form := params("grant_type", "password", "username", fmt.Sprint("nobody", addresses.Add(1)), "password", text)
			return protocol(t, v.post(t, "/o/token/", v.web.auth(), form), 400, "invalid_grant")
		}},
		{"session cookie", func(t testing.TB, text string) bool {
			b := v.carrying(t, "mandate_session", text)
			b.open(t, "/account/")
			return b.URL.Path == "/login/"
		}},
		{"consent", func(t testing.TB, text string) bool {
			alice.send(t, "/o/consent/", params("ticket", text, "decision", "approve"))
			return alice.Status == http.StatusBadRequest && alice.Away == nil
		}},
		{"setup", func(t testing.TB, text string) bool {
			return v.get(t, "/setup/"+url.PathEscape(text)+"/", nobody).Status == http.StatusNotFound
		}},
		{"registration", func(t testing.TB, text string) bool {
			a := v.registration(t, bearer(text), `{"redirect_uris":["https://bound.example/"]}`)
			return a.Status != http.StatusCreated && protocol(t, a, 401, "invalid_token")
		}},
		{"configuration", func(t testing.TB, text string) bool {
			a := v.send(t, "GET", v.registered, bearer(text), nil)
			return protocol(t, a, 401, "invalid_token")
		}},
		{"revocation by another client", func(t testing.TB, text string) bool {
			// RFC 7009 §2.2: an invalid token counts as revoked. A valid one of another
			// kind stays.
			a := v.post(t, "/o/revoke_token/", v.rival.auth(), params("token", text))
			return a.Status == http.StatusOK || a.refused(400, "invalid_grant") == nil
		}},
	}
}

// shut sends a request to the sample API and reports whether it was refused.
func (v *fixture) shut(t testing.TB, as auth) bool {
	t.Helper()
	a := v.get(t, "/resource", as)
	switch {
	case a.Status == http.StatusOK:
		return false
	// RFC 6750 §3.1: a malformed token gives 400, any other token that is not active
	// 401.
	case a.Status == http.StatusBadRequest && strings.Contains(a.Header.Get("WWW-Authenticate"),
		`error="invalid_request"`):
	case a.Status == http.StatusUnauthorized && strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer "):
	default:
		t.Errorf("the sample API answered %d, WWW-Authenticate %q: %s", a.Status, a.Header.Get("WWW-Authenticate"), a.Body)
	}
	return true
}

func (v *fixture) artefacts(t testing.TB) []artefact {
	alice, bob := v.signedIn(t, v.alice), v.signedIn(t, v.bob)
	v.codes = map[string]url.Values{}
	session := bob.cookie(t, "/", "mandate_session")
	access := alice.family(t, v.web, v.alice).AccessToken
	always := func(text string) func(testing.TB) string { return func(testing.TB) string { return text } }
	return []artefact{
		{"code", func(t testing.TB) string {
			form := alice.issue(t, v.web, v.alice)
			v.codes[form.Get("code")] = form
			return form.Get("code")
		}, map[string]bool{"code": true}, func(t testing.TB, text string) {
			v.mustToken(t, v.web.auth(), v.codes[text])
		}},
		{"access token", always(access),
			map[string]bool{"API": true, "introspection": true, "introspection of a refresh token": true},
			func(t testing.TB, text string) {
				if v.shut(t, bearer(text)) {
					t.Error("the access token has ended")
				}
			}},
		{"refresh token", func(t testing.TB) string { return alice.family(t, v.web, v.alice).RefreshToken },
			map[string]bool{"refresh": true, "introspection of a refresh token": true}, func(t testing.TB, text string) {
				v.mustToken(t, v.web.auth(), refreshForm(text))
			}},
		{"session cookie", always(session), map[string]bool{"session cookie": true}, func(t testing.TB, text string) {
			b := v.carrying(t, "mandate_session", text)
			b.open(t, "/account/")
			if b.URL.Path != "/account/" {
				t.Error("the session has ended")
			}
		}},
		{"device cookie", always(bob.cookie(t, "/", "mandate_device")), nil, nil},
		{"consent ticket of another person", func(t testing.TB) string { return bob.ticket(t, v.casual) }, nil,
			func(t testing.TB, text string) {
				bob.send(t, "/o/consent/", params("ticket", text, "decision", "deny"))
				if bob.Away == nil {
					t.Errorf("the ticket is worth nothing: %d %s", bob.Status, bob.Body)
				}
			}},
		{"device code", func(t testing.TB) string { return alice.approvedDevice(t, v.tv).DeviceCode },
			map[string]bool{"device": true}, func(t testing.TB, text string) {
				v.mustToken(t, v.tv.auth(), pollForm(text))
			}},
		{"user code", func(t testing.TB) string { return v.askDevice(t, v.tv).UserCode }, map[string]bool{"user code": true},
			func(t testing.TB, text string) {
				bob.enter(t, text)
				bob.decide(t, "deny")
				if bob.Status != http.StatusOK {
					t.Errorf("the user code is worth nothing: %d %s", bob.Status, bob.Body)
				}
			}},
		{"device ticket of another person", func(t testing.TB) string {
			bob.enter(t, v.askDevice(t, v.tv).UserCode)
			return bob.ticketOfPage(t)
		}, nil, func(t testing.TB, text string) {
			bob.send(t, "/device/answer/", params("ticket", text, "decision", "deny"))
			if bob.Status != http.StatusOK {
				t.Errorf("the ticket is worth nothing: %d %s", bob.Status, bob.Body)
			}
		}},
		{"initial access token", func(t testing.TB) string { return v.initialToken(t, "--uses", "2") },
			map[string]bool{"registration": true}, func(t testing.TB, text string) {
				v.registers(t, bearer(text), `{"redirect_uris":["https://bound.example/"]}`)
			}},
		{"registration access token", always(v.registrationToken), map[string]bool{"configuration": true},
			func(t testing.TB, text string) {
				if a := v.send(t, "GET", v.registered, bearer(text), nil); a.Status != http.StatusOK {
					t.Errorf("the registration access token has ended: %d", a.Status)
				}
			}},
		{"client secret", always(v.rival.ClientSecret), nil, func(t testing.TB, _ string) {
			v.mustToken(t, v.rival.auth(), params("grant_type", "client_credentials"))
		}},
		{"password", always(v.bob.Password), nil, nil},
		{"digest of an access token", always(digestOf(access)), nil, nil},
		{"nothing", always("."), nil, nil},
	}
}
