package mandate

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// Request objects at an address (RFC 9101 §5.2).

func TestRequestObjectsByReference(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		v := newFixture(t, h.options(options{database: db, provider: []string{"REQUEST_OBJECTS_BY_REFERENCE: true"}}))
		a := v.objectSigner(t, "signer")
		form, verifier := v.requestFor(t, a.application, "scope", "read", "state", "inside")
		object := v.object(t, a, form, nil, nil)
		serve := func(path, media, text string) string {
			return h.page(path, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", media)
				_, _ = w.Write([]byte(text))
			})
		}
		digest := sha256.Sum256([]byte(object))
		good := serve("/good", "application/oauth-authz-req+jwt", object)
		hashed := serve("/hashed", "application/jwt", object) + "#" + base64.RawURLEncoding.EncodeToString(digest[:])
		bad := map[string]string{
			"another media type": serve("/text", "text/plain", object),
			"too large":          serve("/large", "application/jwt", object+strings.Repeat(" ", 16<<10)),
			"another digest":     good + "#" + base64.RawURLEncoding.EncodeToString(make([]byte, 32)), "nothing": h.URL +
				"/nothing",
			"a redirect": h.page("/moved",
				func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/good", http.StatusFound) }),
		}
		// OIDC Core §6.2: the fragment need not be a digest.
		named := serve("/named", "application/jwt", object) + "#v2"
		broken := serve("/broken", "application/jwt", "e30.e30.")
		args := []string{"application", "update", a.ClientID, "--request-uri", good, "--request-uri", hashed, "--request-uri",
			named, "--request-uri", broken}
		for _, uri := range bad {
			args = append(args, "--request-uri", uri)
		}
		v.mustCLI(t, "", args...)
		b := v.signedIn(t, v.alice)
		waitFor(t, "the addresses are known", func() bool {
			b.open(t, v.opening(a.application, good)+"&state=outside")
			return b.Away != nil
		})
		if b.Away.Query().Get("state") != "inside" {
			t.Errorf("sent to %v", b.Away)
		}
		v.redeem(t, a.application, b.Away.Query().Get("code"), verifier)
		for what, uri := range map[string]string{"a digest": hashed, "another fragment": named} {
			b.open(t, v.opening(a.application, uri))
			if b.Away == nil || b.Away.Query().Get("code") == "" {
				t.Errorf("with %s: %d, sent to %v", what, b.Status, b.Away)
			}
		}
		for what, uri := range bad {
			b.open(t, v.opening(a.application, uri)+"&redirect_uri="+a.RedirectURI)
			b.wantPage(t, what, "invalid_request_uri")
		}
		b.open(t, v.opening(a.application, broken))
		b.wantPage(t, "a broken object", "invalid_request_object")
		if n := h.fetches("/good"); n > 2 { // with and without the fragment
			t.Errorf("%d fetches of one address", n)
		}
		if err := v.push(t, a.application, with(form, "request_uri", good)).refused(400, "invalid_request"); err != nil {
			t.Error("pushed:", err)
		}
		meta := v.get(t, "/.well-known/oauth-authorization-server", nobody).JSON(t)
		if meta["request_uri_parameter_supported"] != true || meta["require_request_uri_registration"] != true {
			t.Errorf("the metadata has %v, %v", meta["request_uri_parameter_supported"],
				meta["require_request_uri_registration"])
		}
	})
}

// Nobody lets the server call an address of their choice.
func TestAttackRequestURI(t *testing.T) {
	t.Parallel()
	attack(t, "server-side request forgery", "CVE-2026-4874")
	h := newDocumentHost(t)
	v := newFixture(t, options{provider: []string{"REQUEST_OBJECTS_BY_REFERENCE: true"},
		env: []string{"SSL_CERT_FILE=" + h.file}})
	a := v.objectSigner(t, "signer", "--request-uri", "https://signer.example/object")
	b := v.signedIn(t, v.alice)
	for _, uri := range []string{h.URL + "/object", "https://signer.example/object2", "https://signer.example/object?x",
		"https://signer.example/object#x", "https://SIGNER.example/object", "http://signer.example/object",
		"file:///etc/passwd", "data:,x", "https://signer.example/" + strings.Repeat("x", 600)} {
		b.open(t, v.opening(a.application, uri))
		b.wantPage(t, uri, "invalid_request_uri")
	}
	if r := v.cli(t, "", "application", "update", a.ClientID, "--request-uri", h.URL+"/object"); r.code == 0 {
		t.Error("an address on this machine is registered")
	}
	if n := h.fetches("/object"); n != 0 {
		t.Errorf("the server has called the address %d times", n)
	}
}
