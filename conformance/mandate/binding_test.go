package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Every artefact (code, token, cookie) is bound to its client, its request, its person,
// its session, and one kind of use. Each wrong combination must fail with the right
// error and must not use up or weaken the artefact. Afterwards the right combination
// still works.

func TestBinding(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		v := newFixture(t, h.options(options{database: db}))
		v.agent = h.client("/agent", "http://127.0.0.1:50123/back", nil)
		t.Run("client", v.boundToClient)
		t.Run("request", v.boundToRequest)
		t.Run("use", v.boundToUse)
		t.Run("text", v.boundToText)
		t.Run("consent", v.boundToSession)
		t.Run("session", v.boundSessions)
		t.Run("device", v.boundDevices)
		t.Run("shown_secret", v.boundSecrets)
		t.Run("registration", v.boundRegistrations)
		t.Run("setup_link", func(t *testing.T) { boundSetup(t, db.name) })
	})
}

// stranger is a way to authenticate as another client than the one that an artefact was
// issued to.
type stranger struct {
	name   string
	as     auth
	status int
	code   string
}

// strangers lists all these ways.
func (v *fixture) strangers(owner application) []stranger {
	other, token := v.rival, "mat_"+strings.Repeat("A", 43)
	ways := []stranger{
		// RFC 6749 §4.1.3, §6: bound to the client it was issued to.
		{"another application", other.auth(), 400, "invalid_grant"},
		{"another application by its body", body(other.ClientID, other.ClientSecret), 400, "invalid_grant"},
		// RFC 6749 §3.2.1: a client cannot authenticate as itself and act as another one.
		{"another application under the right id", both(other.auth(), "client_id", owner.ClientID), 400, "invalid_request"},
		{"nobody", nobody, 401, "invalid_client"},
		{"a client that is unknown", basic("nobody", "nothing at all"), 401, "invalid_client"},
		{"the right id with another secret", basic(owner.ClientID, other.ClientSecret), 401, "invalid_client"},
		{"the right id with another secret in the body", body(owner.ClientID, other.ClientSecret), 401, "invalid_client"},
		{"the right id with an empty secret", basic(owner.ClientID, ""), 401, "invalid_client"},
		{"a bearer token", bearer(token), 401, "invalid_client"},
		{"a bearer token under the right id", both(bearer(token), "client_id", owner.ClientID), 401, "invalid_client"},
	}
	if owner.ClientSecret == "" {
		return append(ways, stranger{"an application with a secret", v.web.auth(), 400, "invalid_grant"})
	}
	return append(ways,
		stranger{"a public application", v.phone.auth(), 400, "invalid_grant"},
		stranger{"the right id alone", application{ClientID: owner.ClientID}.auth(), 401, "invalid_client"},
		stranger{"the right id and half of the secret", basic(owner.ClientID, owner.ClientSecret[:20]), 401,
			"invalid_client"},
		// RFC 6749 §2.3: one method of authentication in one request.
		stranger{"two methods at once", both(owner.auth(), "client_secret", owner.ClientSecret), 400, "invalid_request"})
}

// both adds a parameter to the client authentication of a request.
func both(as auth, name, value string) auth {
	return func(r *http.Request, form url.Values) {
		as(r, form)
		form.Set(name, value)
	}
}

func (v *fixture) boundToClient(t *testing.T) {
	alice := v.signedIn(t, v.alice)
	for _, owner := range []application{v.web, v.phone, v.agent} {
		for _, s := range v.strangers(owner) {
			t.Run(owner.kind()+"/code/"+s.name, func(t *testing.T) {
				form := alice.issue(t, owner, v.alice)
				err := v.post(t, "/o/token/", afar(s.as), form).refused(s.status, s.code)
				if err != nil {
					t.Error(err)
				}
				v.mustToken(t, owner.auth(), form)
			})
		}
		for _, s := range v.strangers(owner) {
			if owner.ClientID != v.web.ClientID {
				continue // the public application has no device grant
			}
			t.Run("device code/"+s.name, func(t *testing.T) {
				code, want := alice.approvedDevice(t, owner).DeviceCode, s.code
				if want == "invalid_grant" {
					want = "unauthorized_client" // neither have the other applications
				}
				err := v.post(t, "/o/token/", afar(s.as), pollForm(code)).refused(s.status, want)
				if err != nil {
					t.Error(err)
				}
				v.mustToken(t, owner.auth(), pollForm(code))
			})
		}
		family := alice.family(t, owner, v.alice)
		for _, s := range v.strangers(owner) {
			t.Run(owner.kind()+"/refresh/"+s.name, func(t *testing.T) {
				err := v.post(t, "/o/token/", afar(s.as), refreshForm(family.RefreshToken)).refused(s.status, s.code)
				if err != nil {
					t.Error(err)
				}
				family = v.mustToken(t, owner.auth(), refreshForm(family.RefreshToken))
			})
			t.Run(owner.kind()+"/revoke/"+s.name, func(t *testing.T) {
				for _, token := range []string{family.AccessToken, family.RefreshToken} {
					// RFC 7009 §2.1: a client cannot revoke another client's token, and gets
					// an error.
					err := v.post(t, "/o/revoke_token/", afar(s.as), params("token", token)).refused(s.status, s.code)
					if err != nil {
						t.Error(err)
					}
					if !v.active(t, v.asker.auth(), token) {
						t.Error("the token has ended")
					}
				}
			})
		}
	}
}

func (a application) kind() string {
	switch {
	case strings.HasPrefix(a.ClientID, "https://"):
		return "document"
	case a.ClientSecret == "":
		return "public"
	}
	return "confidential"
}

// boundToRequest checks that a code works only with the parameters of its authorization
// request.
func (v *fixture) boundToRequest(t *testing.T) {
	alice := v.signedIn(t, v.alice)
	other, otherChallenge := newPKCE()
	for _, owner := range []application{v.web, v.phone, v.agent} {
		uri := owner.RedirectURI
		for _, c := range []struct{ name, parameter, value, code string }{
			// RFC 6749 §4.1.3: the same redirect URI as in the authorization request, if it is sent.
			{"another registered redirect URI", "redirect_uri", webURI + "/other", "invalid_grant"},
			{"the redirect URI of another application", "redirect_uri", rivalURI, "invalid_grant"},
			{"a longer redirect URI", "redirect_uri", uri + "/", "invalid_grant"},
			{"a shorter redirect URI", "redirect_uri", uri[:len(uri)-1], "invalid_grant"},
			{"the redirect URI in capitals", "redirect_uri", strings.ToUpper(uri), "invalid_grant"},
			{"the redirect URI with a query", "redirect_uri", uri + "?", "invalid_grant"},
			{"the redirect URI percent-encoded", "redirect_uri", strings.Replace(uri, "back", "b%61ck", 1), "invalid_grant"},
			// RFC 7636 §4.6
			{"without the verifier", "code_verifier", "", "invalid_grant"},
			{"another verifier", "code_verifier", other, "invalid_grant"},
			{"another challenge as the verifier", "code_verifier", otherChallenge, "invalid_grant"},
			{"a verifier that is too short", "code_verifier", other[:42], "invalid_grant"},
			{"a verifier that is too long", "code_verifier", strings.Repeat(other, 3), "invalid_grant"},
		} {
			t.Run(owner.kind()+"/"+c.name, func(t *testing.T) {
				form := alice.issue(t, owner, v.alice)
				err := v.post(t, "/o/token/", owner.auth(), with(form, c.parameter, c.value)).refused(400, c.code)
				if err != nil {
					t.Error(err)
				}
				v.mustToken(t, owner.auth(), form)
			})
		}
	}
	t.Run("without the redirect URI", func(t *testing.T) {
		// OAuth 2.1 (draft -16) §10.2: the challenge binds the code, so the client need not send it.
		for _, owner := range []application{v.web, v.phone} {
			form := alice.issue(t, owner, v.alice)
			form.Del("redirect_uri")
			err := v.post(t, "/o/token/", owner.auth(), with(form, "code_verifier", "")).refused(400, "invalid_grant")
			if err != nil {
				t.Errorf("without the verifier too: %v", err)
			}
			v.mustToken(t, owner.auth(), form)
		}
	})
	t.Run("the challenge as the verifier", func(t *testing.T) {
		verifier, challenge := newPKCE()
		form := with(alice.issue(t, v.web, v.alice, "code_challenge", challenge), "code_verifier", verifier)
		err := v.post(t, "/o/token/", v.web.auth(), with(form, "code_verifier", challenge)).refused(400, "invalid_grant")
		if err != nil {
			t.Error(err)
		}
		v.mustToken(t, v.web.auth(), form)
	})
	t.Run("scope", func(t *testing.T) {
		// RFC 6749 §6: a refresh cannot add scopes to the original grant.
		family := alice.family(t, v.web, v.alice, "scope", "read")
		for _, scope := range []string{"write", "read write", "introspection", "read nonsense", "READ", `re"ad`} {
			err := v.post(t, "/o/token/", v.web.auth(), with(refreshForm(family.RefreshToken), "scope", scope)).refused(400,
				"invalid_scope")
			if err != nil {
				t.Errorf("scope %q: %v", scope, err)
			}
		}
		again := v.mustToken(t, v.web.auth(), refreshForm(family.RefreshToken))
		if again.Scope != "read" {
			t.Errorf("scope %q after a refresh, want read", again.Scope)
		}
	})
}
