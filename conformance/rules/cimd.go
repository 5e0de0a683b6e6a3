package rules

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// documentNeeds are what a flow of a client with a metadata document needs.
func documentNeeds(more ...Need) []Need {
	return append([]Need{need.Documents, need.Authorization, need.User}, more...)
}

// cimd returns the rules about Client ID Metadata Documents. A server that does not read them has other clients only:
// the rules apply if the target says where the run can serve documents.
func cimd() []Rule {
	return slices.Concat(cimdDocument(), cimdDiscovery(), cimdSecurity())
}

// cimdDocument returns the rules about the URL and about what the document says.
func cimdDocument() []Rule {
	return []Rule{
		{
			ID: "CIMD/3/client-identifier-url", Level: Must,
			Text:  "A client_id that is no Client Identifier URL is refused: one with a fragment, with user information or with a dot segment.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				h := t.Documents()
				wantUsable(t)
				at := h.URL(t, "wrong-url")
				u, err := url.Parse(at)
				if err != nil {
					t.Blockedf("%v", err)
				}
				for _, clientID := range []string{at + "#fragment", "https://user@" + u.Host + u.Path, "https://" + u.Host + "/wrong-url/." + u.Path, "https://" + u.Host + "/other/.." + u.Path} {
					h.Serve("https://"+u.Host+u.Path, check.Page{Body: check.ClientDocument(clientID, nil)})
					if !strings.ContainsAny(clientID, "#@") {
						h.Serve(clientID, check.Page{Body: check.ClientDocument(clientID, nil)})
					}
					wantUnusable(t, clientID, "the client_id is "+clientID)
				}
			},
		},
		{
			ID: "CIMD/4/client-id-matches", Level: Must,
			Text:  "The client_id in the document is the URL of the document, compared as text.",
			Needs: documentNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "CIMD/4/specific-media-type", Level: May,
			Text:  "The document can have a media type that ends in +json.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				at := t.Documents().URL(t, "media-type")
				wantUsable(t)
				t.Documents().Serve(at, check.Page{ContentType: "application/conformance+json", Body: check.ClientDocument(at, nil)})
				wantCode(t, authorizeDescribed(t, at), "a client whose document has the media type application/conformance+json")
			},
		},
		refusedMembers("CIMD/4.1/no-secret-method", "A document with an authentication method that needs a shared secret is refused.", "secret-method",
			map[string]any{"token_endpoint_auth_method": need.SecretBasic}, map[string]any{"token_endpoint_auth_method": need.SecretPost}, map[string]any{"token_endpoint_auth_method": "client_secret_jwt"}),
		refusedMembers("CIMD/4.1/no-client-secret", "A document with client_secret or client_secret_expires_at is refused.", "client-secret",
			map[string]any{"client_secret": "conformance-conformance-conformance"}, map[string]any{"client_secret_expires_at": 0}),
		refusedMembers("CIMD/4.1/no-private-key", "A document with a private key is refused.", "private-key", map[string]any{"jwks": map[string]any{"keys": []any{privateKey()}}}),
		{
			ID: "CIMD/4.2/registered-redirect-uri", Level: Must,
			Text:  "The redirect URI of the request equals one of the document.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				c := t.Documents().Publish(t, "redirect-uri", nil)
				wantCode(t, t.Authorize(t.Request(c)), "the client with its redirect URI")
				for _, uri := range []string{c.RedirectURI() + "/", c.RedirectURI() + "?a=b", "https://elsewhere.example/document", strings.Replace(c.RedirectURI(), "document", "Document", 1)} {
					r := t.Authorize(t.Request(c).Set("redirect_uri", uri))
					t.WantWithheld(r, "the document does not have the redirect URI "+uri)
					if r.Location != "" {
						t.At(r.Answer)
						t.Failf("the browser was sent to %s, which is not in the document", uri)
					}
				}
			},
		},
	}
}

// refusedMembers returns a rule about members that a document must not have.
func refusedMembers(id, text, name string, members ...map[string]any) Rule {
	return Rule{ID: id, Level: Must, Text: text, Needs: documentNeeds(), Check: func(t *T) {
		wantUsable(t)
		for _, wrong := range members {
			for member := range wrong {
				wantUnusable(t, t.Documents().Publish(t, name, wrong).ID, "the document has this "+member)
			}
		}
	}}
}

// privateKey is a key that everybody knows (RFC 7515 appendix A.3.1).
func privateKey() map[string]any {
	return map[string]any{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}
}

// publicKey is the public part of that key.
func publicKey() map[string]any {
	key := privateKey()
	delete(key, "d")
	return key
}

// cimdDiscovery returns the rules about fetching and keeping a document, and the metadata.
func cimdDiscovery() []Rule {
	return []Rule{
		{
			ID: "CIMD/5/status-200", Level: Must,
			Text:  "A response with another status than 200 is an error.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				wantUsable(t)
				for _, status := range []int{http.StatusCreated, http.StatusAccepted, http.StatusNotFound, http.StatusInternalServerError} {
					at := t.Documents().URL(t, "status")
					t.Documents().Serve(at, check.Page{Status: status, Body: check.ClientDocument(at, nil)})
					wantUnusable(t, at, "the document has the status "+http.StatusText(status))
				}
			},
		},
		{
			ID: "CIMD/5/no-redirect", Level: Must,
			Text:  "The server does not follow a redirect of the document.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				wantUsable(t)
				for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect} {
					at, to := t.Documents().URL(t, "redirect"), t.Documents().URL(t, "redirected")
					t.Documents().Serve(at, check.Page{Status: status, Header: http.Header{"Location": {to}}, Body: check.ClientDocument(at, nil)})
					t.Documents().Serve(to, check.Page{Body: check.ClientDocument(at, nil)})
					wantUnusable(t, at, "its URL redirects")
					if t.Documents().Fetches(to) > 0 {
						t.Failf("the server requested the target of the redirect")
					}
				}
			},
		},
		{
			ID: "CIMD/5.1/aborts", Level: Should,
			Text:  "If the document cannot be fetched, the request ends with an error.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				wantUsable(t)
				r := authorizeDescribed(t, t.Documents().URL(t, "missing"))
				t.WantNoCode(r, "there is no document")
				if r.Location == "" && r.Answer.Status < http.StatusBadRequest && !r.NamesError() {
					t.At(r.Answer)
					t.Failf("there is no document, and the request does not end with an error: %s", r)
				}
			},
		},
		{
			ID: "CIMD/5.2/no-error-kept", Level: Must,
			Text:  "The server does not keep an error response instead of the document.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				at := t.Documents().URL(t, "late")
				t.Documents().Serve(at, check.Page{Status: http.StatusNotFound, Header: http.Header{"Cache-Control": {"max-age=3600"}}})
				wantUnusable(t, at, "there is no document")
				t.Documents().Serve(at, check.Page{Body: check.ClientDocument(at, nil)})
				wantCode(t, authorizeDescribed(t, at), "after an error the client with a valid document")
			},
		},
		{
			ID: "CIMD/5.2/no-invalid-kept", Level: Must,
			Text:  "The server does not keep an invalid document.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				at := t.Documents().URL(t, "corrected")
				t.Documents().Serve(at, check.Page{Header: http.Header{"Cache-Control": {"max-age=3600"}}, Body: `{"client_id":`})
				wantUnusable(t, at, "the document is not JSON")
				t.Documents().Serve(at, check.Page{Body: check.ClientDocument(at, nil)})
				wantCode(t, authorizeDescribed(t, at), "after an invalid document the client with a valid one")
			},
		},
		{
			ID: "CIMD/5.2/cache-headers", Level: Should,
			Text:  "A document with max-age is not fetched again at once.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				at := t.Documents().URL(t, "kept")
				t.Documents().Serve(at, check.Page{Header: http.Header{"Cache-Control": {"max-age=3600"}}, Body: check.ClientDocument(at, nil)})
				t.CodeOf(authorizeDescribed(t, at))
				first := t.Documents().Fetches(at)
				wantCode(t, authorizeDescribed(t, at), "the client again")
				if n := t.Documents().Fetches(at); n > first {
					t.Failf("the second request caused %d more requests for a document with max-age=3600", n-first)
				}
			},
		},
		{
			ID: "CIMD/6/supported-in-metadata", Level: Must,
			Text:  "The metadata has client_id_metadata_document_supported.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				m := publishedMetadata(t)
				wantUsable(t)
				if !m.Is("client_id_metadata_document_supported") {
					t.Failf("client_id_metadata_document_supported of the metadata is %s, want true", Quoted(m["client_id_metadata_document_supported"]))
				}
			},
		},
		{
			ID: "CIMD/7.1/generated-ids", Level: Should,
			Text:     "A client_id that the server generates does not begin with https://.",
			TestedBy: "provider/document_test.go:TestRegisteredURLHasNoDocument",
		},
		{
			ID: "CIMD/7.2/pre-registered", Level: May,
			Text:     "A registration decides instead of the document, as soon as somebody is responsible for the client.",
			TestedBy: "provider/document_test.go:TestDocumentsAreNotAllowedAnyMore",
		},
	}
}

// cimdSecurity returns the rules of the security considerations.
func cimdSecurity() []Rule {
	return []Rule{
		{
			ID: "CIMD/8.2/private-key-jwt", Level: Must,
			Text:  "A client whose only method is private_key_jwt gets no token without client authentication.",
			Needs: documentNeeds(need.Token),
			Check: func(t *T) {
				t.Grant(t.Documents().Valid())
				c := t.Documents().Publish(t, "private-key-jwt", map[string]any{"token_endpoint_auth_method": "private_key_jwt", "jwks": map[string]any{"keys": []any{publicKey()}}})
				r := settled(t, t.Authorize(t.Request(c)))
				if r.Params.Get("code") == "" {
					return // the server does not support the method
				}
				t.WantRefused(t.Redeem(t.CodeOf(r)), "the client must authenticate by private_key_jwt, and did not")
			},
		},
		{
			ID: "CIMD/8.4/changes", Level: May,
			Text:     "A person approves what the document said when the page was shown, and nothing else.",
			TestedBy: "provider/document_test.go:TestDocumentChangesBeforeTheApproval",
		},
		{
			ID: "CIMD/8.5/host-shown", Level: Should,
			Text:  "The consent page shows the host of the client_id.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				c := t.Documents().Publish(t, "host", nil)
				u, err := url.Parse(c.ID)
				if err != nil {
					t.Blockedf("%v", err)
				}
				if text := consentPageOf(t, c); !strings.Contains(text, u.Hostname()) {
					t.Failf("the consent page does not show %s", u.Hostname())
				}
			},
		},
		{
			ID: "CIMD/8.6/special-use-addresses", Level: Must,
			Text:     "The server does not fetch a document from a special-use address, except by an operator's setting.",
			TestedBy: "provider/document_test.go:TestDocumentsFromSpecialUseAddresses",
		},
		{
			ID: "CIMD/8.6/loopback-in-production", Level: Must,
			Text:     "A server that is not on a loopback address fetches no document from one.",
			TestedBy: "provider/document_test.go:TestDocumentsFromSpecialUseAddresses",
		},
		{
			ID: "CIMD/8.7/limited", Level: Should,
			Text:  "The server does not read a document of any size.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				wantUsable(t)
				at := t.Documents().URL(t, "large")
				t.Documents().Serve(at, check.Page{Body: check.ClientDocument(at, nil) + strings.Repeat(" ", 8<<20)})
				wantUnusable(t, at, "the document has 8 MiB")
			},
		},
		{
			ID: "CIMD/9.2/no-requests-of-the-browser", Level: May,
			Text:     "The consent page loads nothing from a URL in the document.",
			TestedBy: "conformance/mandate/document_test.go:TestDocument",
		},
	}
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
