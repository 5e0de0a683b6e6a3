package mandate

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// weakURIs are redirect URIs that an administrator may register for one application, because the program cannot change
// its own. Another app on the phone, or another party in the network, can receive what is sent there.
var weakURIs = []string{"audiobookshelf://oauth", "kitchenowl:/signin/redirect", "app.immich:///oauth-callback",
	"oc.ios://ios.owncloud.com",
	"http://192.168.1.10:3000/cb", "http://grafana.lan:3000/cb", "http://printer/cb"}

// TestAttackWeakRedirectURIOfAStranger: somebody who is no administrator registers a program with a redirect URI of the
// kind that an administrator may allow, by every way on which programs come by themselves, and sends people there
// (RFC 8252 §7.1, §8.4 and RFC 9700 §2.6).
func TestAttackWeakRedirectURIOfAStranger(t *testing.T) {
	t.Parallel()
	attack(t, "claimed redirect URI", "")
	h := newDocumentHost(t)
	s := startServer(t, h.options(options{settings: []string{"ALLOW_INSECURE_HTTP: true"},
		provider: []string{"REGISTRATION_WITH_TOKEN: true"}}))
	root := s.person(t, "root", "--admin")
	b := s.signedIn(t, root)
	b.open(t, s.URL+"/admin/registration-tokens/")
	b.submit(t, "", params("uses", "1000", "may", "authorization_code"))
	_, after, _ := strings.Cut(b.Body, `value="mit_`)
	text, _, _ := strings.Cut(after, `"`)
	if text == "" {
		t.Fatalf("the page shows no token:\n%s", b.Body)
	}
	never := func(what string, app application) {
		t.Helper()
		// The person who is asked is an administrator, whose rights are not those of the program.
		for _, more := range [][]string{{"scope", "openid"}, {"scope", "openid", "prompt", "none"}, {"scope", "bogus"},
			{"scope", "openid", "response_mode", "form_post"}} {
			address, _ := s.authorizeURL(app, more...)
			b.open(t, address)
			if b.Status != http.StatusBadRequest || b.Away != nil {
				t.Errorf("%s: %d, away %v", what, b.Status, b.Away)
			}
			pushed, _ := s.requestFor(t, app, more...)
			if a := s.post(t, "/o/par/", app.auth(), pushed); a.Status == http.StatusCreated {
				t.Errorf("%s: pushed", what)
			}
		}
	}
	for way, as := range map[string]auth{"open": nobody,
		"token of the operator":     bearer(s.initialToken(t, "--uses", "1000")),
		"token of an administrator": bearer(s.secret("mit_" + text))} {
		const good = "https://good.example/cb"
		made := s.registers(t, as, member{"redirect_uris": []string{good}, "token_endpoint_auth_method": "none"})
		for _, uri := range weakURIs {
			what := way + ", " + uri
			if err := s.registration(t, as, member{"redirect_uris": []string{uri}}).refused(http.StatusBadRequest,
				"invalid_redirect_uri"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			// A statement of the client about itself changes nothing.
			a := s.registration(t, as,
				member{"redirect_uris": []string{good, uri}, "application_type": "native", "responsible": "administrator",
					"standing": "administrator", "client_name": uri})
			if a.Status == http.StatusCreated && slices.Contains(strings.Fields(listOf(a.JSON(t), "redirect_uris")), uri) {
				t.Errorf("%s: registered beside a good one", what)
			}
			changed := s.send(t, "PUT", textOf(made, "registration_client_uri"),
				bearer(textOf(made, "registration_access_token")),
				member{"client_id": textOf(made, "client_id"), "redirect_uris": []string{good, uri},
					"post_logout_redirect_uris": []string{uri}})
			if changed.Status == http.StatusOK && strings.Contains(changed.Body, uri) {
				t.Errorf("%s: registered by a change", what)
			}
			never(what, application{ClientID: textOf(made, "client_id"), RedirectURI: uri})
		}
		if shown := s.mustCLI(t, "", "application", "show", textOf(made, "client_id")); !strings.Contains(shown, good) {
			t.Errorf("%s: the good one is gone:\n%s", way, shown)
		}
	}
	for _, uri := range weakURIs {
		// who may allow it
		s.application(t, "--name", "Of the operator", "--grant", "authorization_code", "--redirect-uri", uri)
		never("a document, "+uri, h.client("/weak/"+strings.NewReplacer(":", "", "/", "").Replace(uri), uri, nil))
	}
	never("a document, beside a good one",
		h.client("/beside", weakURIs[0], map[string]any{"redirect_uris": append([]string{agentURI}, weakURIs...)}))
}
