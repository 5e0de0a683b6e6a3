package faults

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// documentFaults are faults of clients with a metadata document.
func documentFaults() []fault {
	// served reports whether the client of a request has a document of this kind. The checks serve each kind below a
	// path with its name.
	served := func(v url.Values, kind string) bool {
		return strings.Contains(v.Get("client_id"), "/"+kind+"/")
	}
	// valid takes a client with a document of this kind for the one with a valid document, as a server does that
	// overlooks what is wrong.
	valid := func(kind string) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			q.change(func(v url.Values) {
				if served(v, kind) {
					v.Set("client_id", p.target.Documents.Address()+"/valid")
				}
			})
			return p.real(q)
		}
	}
	refused := func(kind string) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			if served(q.params(), kind) {
				return badPage()
			}
			return p.real(q)
		}
	}
	// hiding removes a text from the pages of a request.
	hiding := func(text func(p *proxy) string) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if strings.Contains(a.Header.Get("Content-Type"), "text/html") {
				a.Body = bytes.ReplaceAll(a.Body, []byte(text(p)), []byte("the application"))
			}
			return a
		}
	}
	hostOf := func(p *proxy) string { return wire.ParseURL(p.target.Documents.Address()).Hostname() }
	fetching := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return []fault{
		{name: "a wrong URL is a client id", at: authorizePath, spoil: valid("wrong-url"),
			fails: "CIMD/3/client-identifier-url"},
		{name: "the client_id of a document is not compared", at: authorizePath, spoil: valid("other-client-id"),
			fails: "CIMD/4/client-id-matches"},
		{name: "a document must have the media type application/json", at: authorizePath, spoil: refused("media-type"),
			fails: "CIMD/4/specific-media-type"},
		{name: "a document with a method for secrets is accepted", at: authorizePath, spoil: valid("secret-method"),
			fails: "CIMD/4.1/no-secret-method"},
		{name: "a document with a secret is accepted", at: authorizePath, spoil: valid("client-secret"),
			fails: "CIMD/4.1/no-client-secret"},
		{name: "a document with a private key is accepted", at: authorizePath, spoil: valid("private-key"),
			fails: "CIMD/4.1/no-private-key"},
		{name: "the redirect URIs of a document count by their host", at: authorizePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				v := q.params()
				if to := v.Get("redirect_uri"); served(v, "redirect-uri") && strings.Contains(to, "/document/") {
					return moved(to + "?error=access_denied&state=" + url.QueryEscape(v.Get("state")))
				}
				return p.real(q)
			}, fails: "CIMD/4.2/registered-redirect-uri"},
		{name: "a document with another status is accepted", at: authorizePath, spoil: valid("status"),
			fails: "CIMD/5/status-200"},
		{name: "the redirect of a document is followed", at: authorizePath, spoil: valid("redirect"),
			fails: "CIMD/5/no-redirect"},
		{name: "a client without a document is accepted", at: authorizePath, spoil: valid("missing"),
			fails: "CIMD/5.1/aborts"},
		{name: "an error is kept instead of a document", at: authorizePath, spoil: refused("late"),
			fails: "CIMD/5.2/no-error-kept"},
		{name: "an invalid document is kept", at: authorizePath, spoil: refused("corrected"),
			fails: "CIMD/5.2/no-invalid-kept"},
		{name: "a document is fetched for each request", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if v := q.params(); served(v, "kept") {
				if answer, err := fetching.Get(v.Get("client_id")); err == nil {
					answer.Body.Close()
				}
			}
			return p.real(q)
		}, fails: "CIMD/5.2/cache-headers"},
		{name: "the metadata does not say that documents are supported",
			spoil: publishing(put("client_id_metadata_document_supported", nil)),
			fails: "CIMD/6/supported-in-metadata MCP/M7/client-id-metadata"},
		{name: "a client of private_key_jwt need not authenticate", spoil: valid("private-key-jwt"),
			fails: "CIMD/8.2/private-key-jwt"},
		{name: "the consent page does not show the host of a document", at: authorizePath, spoil: hiding(hostOf),
			fails: "CIMD/8.5/host-shown"},
		{name: "the consent page does not show the host of the redirect URI", at: authorizePath,
			spoil: hiding(func(*proxy) string { return "client.example" }),
			fails: "MCP/M7/redirect-host-shown"},
		{name: "a document of any size is read", at: authorizePath, spoil: valid("large"), fails: "CIMD/8.7/limited"},
		{name: "no metadata documents are read", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if strings.HasPrefix(q.params().Get("client_id"), "https://") {
				return badPage()
			}
			return p.real(q)
		}, aim: func(*target.Target) {}, blocks: "CIMD/3/client-identifier-url CIMD/4/client-id-matches " +
			"CIMD/4.1/no-client-secret CIMD/5/status-200 CIMD/8.7/limited"},
	}
}
