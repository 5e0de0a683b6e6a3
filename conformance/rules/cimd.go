package rules

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// cimdDocument has the checks of the rules about the URL and about what the document says.
var cimdDocument = checks{
	"CIMD/3/client-identifier-url": cimdClientIdentifierUrl,
	"CIMD/4/client-id-matches": func(t *T) {
		h := t.Documents()
		wantUsable(t)
		for _, change := range []func(string) any{
			func(string) any { return nil },
			func(id string) any { return id + "/" },
			func(id string) any { return strings.Replace(id, "https://", "HTTPS://", 1) },
			func(string) any { return "https://client.example/document" },
		} {
			at := h.URL(t, "other-client-id")
			h.Serve(at, check.Page{Body: check.ClientDocument(at, map[string]any{"client_id": change(at)})})
			wantUnusable(t, at, "the document has another client_id, or none")
		}
	},
	"CIMD/4/specific-media-type": func(t *T) {
		at := t.Documents().URL(t, "media-type")
		wantUsable(t)
		t.Documents().Serve(at, check.Page{ContentType: "application/conformance+json", Body: check.ClientDocument(at, nil)})
		wantCode(t, authorizeDescribed(t, at), "a client whose document has the media type application/conformance+json")
	},
	"CIMD/4.1/no-secret-method": refusedMembers("secret-method",
		map[string]any{"token_endpoint_auth_method": need.SecretBasic},
		map[string]any{"token_endpoint_auth_method": need.SecretPost},
		map[string]any{"token_endpoint_auth_method": "client_secret_jwt"}),
	"CIMD/4.1/no-client-secret": refusedMembers("client-secret",
		map[string]any{"client_secret": "conformance-conformance-conformance"},
		map[string]any{"client_secret_expires_at": 0}),
	"CIMD/4.1/no-private-key": refusedMembers("private-key",
		map[string]any{"jwks": map[string]any{"keys": []any{privateKey()}}}),
	"CIMD/4.2/registered-redirect-uri": func(t *T) {
		c := t.Documents().Publish(t, "redirect-uri", nil)
		wantCode(t, t.Authorize(t.Request(c)), "the client with its redirect URI")
		for _, uri := range []string{c.RedirectURI() + "/", c.RedirectURI() + "?a=b", "https://elsewhere.example/document",
			strings.Replace(c.RedirectURI(), "document", "Document", 1)} {
			r := t.Authorize(t.Request(c).Set("redirect_uri", uri))
			t.WantWithheld(r, "the document does not have the redirect URI "+uri)
			if r.Location != "" {
				t.At(r.Answer)
				t.Failf("the browser was sent to %s, which is not in the document", uri)
			}
		}
	},
}

func cimdClientIdentifierUrl(t *T) {
	h := t.Documents()
	wantUsable(t)
	at := h.URL(t, "wrong-url")
	u, err := url.Parse(at)
	if err != nil {
		t.Blockedf("%v", err)
	}
	for _, clientID := range []string{at + "#fragment", "https://user@" + u.Host + u.Path,
		"https://" + u.Host + "/wrong-url/." + u.Path, "https://" + u.Host + "/other/.." + u.Path} {
		h.Serve("https://"+u.Host+u.Path, check.Page{Body: check.ClientDocument(clientID, nil)})
		if !strings.ContainsAny(clientID, "#@") {
			h.Serve(clientID, check.Page{Body: check.ClientDocument(clientID, nil)})
		}
		wantUnusable(t, clientID, "the client_id is "+clientID)
	}
}

// refusedMembers tries members that a document must not have.
func refusedMembers(name string, members ...map[string]any) func(*T) {
	return func(t *T) {
		wantUsable(t)
		for _, wrong := range members {
			for member := range wrong {
				wantUnusable(t, t.Documents().Publish(t, name, wrong).ID, "the document has this "+member)
			}
		}
	}
}

// privateKey is a key that everybody knows (RFC 7515 appendix A.3.1).
func privateKey() map[string]any {
	return map[string]any{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
		"y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}
}

// publicKey is the public part of that key.
func publicKey() map[string]any {
	key := privateKey()
	delete(key, "d")
	return key
}

// cimdDiscovery has the checks of the rules about fetching and keeping a document, and the metadata.
var cimdDiscovery = checks{
	"CIMD/5/status-200": func(t *T) {
		wantUsable(t)
		for _, status := range []int{http.StatusCreated, http.StatusAccepted, http.StatusNotFound,
			http.StatusInternalServerError} {
			at := t.Documents().URL(t, "status")
			t.Documents().Serve(at, check.Page{Status: status, Body: check.ClientDocument(at, nil)})
			wantUnusable(t, at, "the document has the status "+http.StatusText(status))
		}
	},
	"CIMD/5/no-redirect": func(t *T) {
		wantUsable(t)
		for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect} {
			at, to := t.Documents().URL(t, "redirect"), t.Documents().URL(t, "redirected")
			t.Documents().Serve(at,
				check.Page{Status: status, Header: http.Header{"Location": {to}}, Body: check.ClientDocument(at, nil)})
			t.Documents().Serve(to, check.Page{Body: check.ClientDocument(at, nil)})
			wantUnusable(t, at, "its URL redirects")
			if t.Documents().Fetches(to) > 0 {
				t.Failf("the server requested the target of the redirect")
			}
		}
	},
	"CIMD/5.1/aborts": func(t *T) {
		wantUsable(t)
		r := authorizeDescribed(t, t.Documents().URL(t, "missing"))
		t.WantNoCode(r, "there is no document")
		if r.Location == "" && r.Answer.Status < http.StatusBadRequest && !r.NamesError() {
			t.At(r.Answer)
			t.Failf("there is no document, and the request does not end with an error: %s", r)
		}
	},
	"CIMD/5.2/no-error-kept": func(t *T) {
		at := t.Documents().URL(t, "late")
		t.Documents().Serve(at,
			check.Page{Status: http.StatusNotFound, Header: http.Header{"Cache-Control": {"max-age=3600"}}})
		wantUnusable(t, at, "there is no document")
		t.Documents().Serve(at, check.Page{Body: check.ClientDocument(at, nil)})
		wantCode(t, authorizeDescribed(t, at), "after an error the client with a valid document")
	},
	"CIMD/5.2/no-invalid-kept": func(t *T) {
		at := t.Documents().URL(t, "corrected")
		t.Documents().Serve(at, check.Page{Header: http.Header{"Cache-Control": {"max-age=3600"}}, Body: `{"client_id":`})
		wantUnusable(t, at, "the document is not JSON")
		t.Documents().Serve(at, check.Page{Body: check.ClientDocument(at, nil)})
		wantCode(t, authorizeDescribed(t, at), "after an invalid document the client with a valid one")
	},
	"CIMD/5.2/cache-headers": func(t *T) {
		at := t.Documents().URL(t, "kept")
		t.Documents().Serve(at,
			check.Page{Header: http.Header{"Cache-Control": {"max-age=3600"}}, Body: check.ClientDocument(at, nil)})
		t.CodeOf(authorizeDescribed(t, at))
		first := t.Documents().Fetches(at)
		wantCode(t, authorizeDescribed(t, at), "the client again")
		if n := t.Documents().Fetches(at); n > first {
			t.Failf("the second request caused %d more requests for a document with max-age=3600", n-first)
		}
	},
	"CIMD/6/supported-in-metadata": func(t *T) {
		m := publishedMetadata(t)
		wantUsable(t)
		if !m.Is("client_id_metadata_document_supported") {
			t.Failf("client_id_metadata_document_supported of the metadata is %s, want true",
				Quoted(m["client_id_metadata_document_supported"]))
		}
	},
}

// cimdSecurity has the checks of the rules of the security considerations.
var cimdSecurity = checks{
	"CIMD/8.2/private-key-jwt": func(t *T) {
		t.Grant(t.Documents().Valid())
		c := t.Documents().Publish(t, "private-key-jwt",
			map[string]any{"token_endpoint_auth_method": "private_key_jwt", "jwks": map[string]any{"keys": []any{publicKey()}}})
		r := settled(t, t.Authorize(t.Request(c)))
		if r.Params.Get("code") == "" {
			return // the server does not support the method
		}
		t.WantRefused(t.Redeem(t.CodeOf(r)), "the client must authenticate by private_key_jwt, and did not")
	},
	"CIMD/8.5/host-shown": func(t *T) {
		c := t.Documents().Publish(t, "host", nil)
		u, err := url.Parse(c.ID)
		if err != nil {
			t.Blockedf("%v", err)
		}
		if text := consentPageOf(t, c); !strings.Contains(text, u.Hostname()) {
			t.Failf("the consent page does not show %s", u.Hostname())
		}
	},
	"CIMD/8.7/limited": func(t *T) {
		wantUsable(t)
		at := t.Documents().URL(t, "large")
		t.Documents().Serve(at, check.Page{Body: check.ClientDocument(at, nil) + strings.Repeat(" ", 8<<20)})
		wantUnusable(t, at, "the document has 8 MiB")
	},
}

// authorizeDescribed sends an authorization request of a client with a document, and approves it.
func authorizeDescribed(t *T, clientID string) *check.Response {
	return t.Authorize(t.Request(t.Documents().Client(clientID)))
}

// wantUsable blocks the check unless a client with a valid document gets a code.
func wantUsable(t *T) {
	t.CodeOf(t.Authorize(t.Request(t.Documents().Valid())))
}

// wantUnusable asserts that a client gets no code.
func wantUnusable(t *T, clientID, why string) {
	t.WantNoCode(authorizeDescribed(t, clientID), why)
}

// consentPageOf returns the text of the consent page for a client.
func consentPageOf(t *T, c *target.Client) string {
	b := t.SignedIn()
	t.ConsentForm(b, t.Request(c))
	t.At(b.Page)
	return browser.Parse(b.Page).Text
}
