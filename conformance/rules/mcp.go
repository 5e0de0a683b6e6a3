package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// mcp returns what the Model Context Protocol requires of an authorization server. Its text has no numbered sections:
// the clauses are the lines of the project's notes on it.
func mcp() []Rule {
	core, bearerTokens, best := rfc6749(), rfc6750(), rfc9700()
	return []Rule{
		{
			ID: "MCP/M1/oauth21", Level: Must,
			Text:         "The server meets the requirements of OAuth 2.1 for public and confidential clients.",
			Inapplicable: "The profile oauth21 has these rules, and the profile mcp contains that profile.",
		},
		{
			ID: "MCP/M2/metadata", Level: Must,
			Text: "The server publishes its metadata at one of the addresses that a client tries.",
			Check: func(t *T) {
				for _, address := range check.MetadataAddresses(t.Issuer()) {
					if metadataAt(t, address) {
						return
					}
				}
				t.Failf("there is no metadata at %s", strings.Join(check.MetadataAddresses(t.Issuer()), ", "))
			},
		},
		{
			ID: "MCP/M2/every-address", Level: May,
			Text: "The metadata is at each of these addresses, so that the client's first attempt succeeds.",
			Check: func(t *T) {
				for _, address := range check.MetadataAddresses(t.Issuer()) {
					if !metadataAt(t, address) {
						t.Errorf("there is no metadata at %s", address)
					}
				}
			},
		},
		{
			ID: "MCP/M3/issuer-identical", Level: Must,
			Text: "The issuer in the metadata is identical to the requested issuer.",
			Check: func(t *T) {
				if issuer := publishedMetadata(t).Text("issuer"); issuer != t.Issuer() {
					t.Failf("the issuer in the metadata is %q, want %s", issuer, t.Issuer())
				}
			},
		},
		{
			ID: "MCP/M4/s256-in-metadata", Level: Must,
			Text: "code_challenge_methods_supported contains S256; without it a client must not continue.",
			Check: func(t *T) {
				if m := publishedMetadata(t); !m.Lists("code_challenge_methods_supported", "S256") {
					t.Failf("code_challenge_methods_supported is %s, without S256", Quoted(m["code_challenge_methods_supported"]))
				}
			},
		},
		{
			ID: "MCP/M5/resource-taken", Level: Must,
			Text:  "The server grants a request with the parameter resource, which all MCP clients send, or refuses it with invalid_target.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				t.Granted(t.Redeem(t.Code(t.Request(t.Client(need.Code)))))
				for _, resource := range resources(t) {
					r := requestFor(t, resource)
					answer := t.Authorize(r)
					if answer.ErrorCode() == "invalid_target" {
						continue
					}
					wantCode(t, answer, "the same request with resource="+resource.URI)
					form := (&check.Code{Value: answer.Params.Get("code"), Request: r}).Form()
					form.Set("resource", resource.URI)
					if a := t.Token(r.Client, form); !a.Granted() && a.Text("error") != "invalid_target" {
						t.Failf("the token request with resource=%s is answered with %s, want a token or invalid_target", resource.URI, a.Failure())
					}
				}
			},
		},
		{
			ID: "MCP/M5/audience-bound", Level: Should,
			Text:  "A token is valid for the resource in its request, and the server refuses an unknown resource.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				for _, resource := range resources(t) {
					r := requestFor(t, resource)
					answer := t.Authorize(r)
					if answer.ErrorCode() == "invalid_target" {
						continue
					}
					form := t.CodeOf(answer).Form()
					form.Set("resource", resource.URI)
					a := t.Token(r.Client, form)
					if a.Text("error") == "invalid_target" {
						continue
					}
					told := t.Introspect(t.Granted(a).Access)["aud"]
					if list, is := told.([]any); told != resource.URI && (!is || !slices.Contains(list, any(resource.URI))) {
						t.Failf("the request named the resource %s, but introspection returns the aud %s", resource.URI, Quoted(told))
					}
				}
			},
		},
		{
			ID: "MCP/M6/iss", Level: Should,
			Text:  "Every authorization response, including an error response, has iss, and the metadata says so.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				wantIssuerInAnswers(t)
				if m := publishedMetadata(t); !m.Is(issSupported) {
					t.Errorf("%s of the metadata is %s, want true", issSupported, Quoted(m[issSupported]))
				}
			},
		},
		{
			ID: "MCP/M7/client-id-metadata", Level: Should,
			Text: "A client can use the URL of its metadata document as its client_id.",
			Check: func(t *T) {
				if m := publishedMetadata(t); !m.Is("client_id_metadata_document_supported") {
					t.Failf("client_id_metadata_document_supported of the metadata is %s, want true", Quoted(m["client_id_metadata_document_supported"]))
				}
			},
		},
		{
			ID: "MCP/M7/redirect-host-shown", Level: Must,
			Text:  "The consent page shows the host of the redirect URI.",
			Needs: documentNeeds(),
			Check: func(t *T) {
				text := consentPageOf(t, t.Documents().Publish(t, "redirect-host", nil))
				if !strings.Contains(text, "client.example") {
					t.Failf("the consent page does not show client.example, the host of the redirect URI")
				}
			},
		},
		{
			ID: "MCP/M7/localhost-warning", Level: Should,
			Text:     "The consent page warns if all redirect URIs of a client are on the person's own computer.",
			TestedBy: "conformance/mandate/document_test.go:TestDocument",
		},
		sameCheckAs(rfc7591(), "RFC7591/3.2.1/created", Rule{
			// This version deprecates it.
			ID: "MCP/M8/registration", Level: May,
			Text: "A client can register itself.",
		}),
		sameCheckAs(core, "RFC6749/4.1.4/granted", Rule{
			ID: "MCP/M9/pre-registered", Level: May,
			Text: "A client that was registered beforehand gets tokens.",
		}),
		sameCheckAs(best, "RFC9700/2.1/a1-exact-redirect-uri", Rule{
			ID: "MCP/M10/exact-redirect-uri", Level: Must,
			Text: "A redirect URI is accepted only if it equals a registered one.",
		}),
		{
			ID: "MCP/M10/https-or-localhost", Level: Must,
			Text:     "An operator can restrict redirect URIs to https and to the same computer.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		sameCheckAs(best, "RFC9700/2.6/a52-tls", Rule{
			ID: "MCP/M11/https", Level: Must,
			Text: "Every endpoint uses HTTPS.",
		}),
		sameCheckAs(best, "RFC9700/2.2.2/a20-public-refresh-tokens-rotated", Rule{
			ID: "MCP/M12/public-rotated", Level: Must,
			Text: "The server replaces the refresh token of a public client at each use.",
		}),
		sameCheckAs(bearerTokens, "RFC6750/5.3/one-hour", Rule{
			ID: "MCP/M13/short-lived", Level: Should,
			Text:   "Access tokens have a short lifetime, an hour at most.",
			Waived: "Mandate's specification requires 36000 seconds; ACCESS_TOKEN_EXPIRE_SECONDS and each application can set less.",
		}),
		{
			ID: "MCP/M14/scopes-in-metadata", Level: May,
			Text: "The metadata lists the scopes.",
			Check: func(t *T) {
				if scopes, _ := publishedMetadata(t).List("scopes_supported"); len(scopes) == 0 {
					t.Failf("the metadata has no scopes_supported")
				}
			},
		},
		sameCheckAs(core, "RFC6749/4.1.4/refresh-token", Rule{
			ID: "MCP/M14/refresh-token-unasked", Level: May,
			Text: "The server issues a refresh token without the scope offline_access.",
		}),
		{
			// The document says what clients do. Of the authorization server it requires nothing here.
			ID: "MCP/M15/step-up", Level: May,
			Text:  "A second request with more scope gets all of it, and the first tokens remain valid.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				all := t.Scopes(t.Grant(c), t.Request(c).Params.Get("scope"))
				first := workingTokens(t, t.Granted(t.Redeem(t.Code(t.Request(c).Set("scope", all[0])))))
				second := t.Granted(t.Redeem(t.Code(t.Request(c).Set("scope", strings.Join(all[:2], " ")))))
				got := strings.Fields(second.Scope)
				if second.Scope != "" && (!slices.Contains(got, all[0]) || !slices.Contains(got, all[1])) {
					t.Errorf("%s was requested, but the token has %q", strings.Join(all[:2], " "), second.Scope)
				}
				if !t.Works(first.Access) {
					t.Errorf("the first access token is no longer valid after the second request")
				}
				if !t.Works(second.Access) {
					t.Errorf("the second access token is not valid")
				}
			},
		},
		sameCheckAs(best, "RFC9700/2.3/r2-action-verified", Rule{
			ID: "MCP/M16/scope-verified", Level: Must,
			Text: "A resource refuses a token whose scope does not allow the request.",
		}),
		{
			ID: "MCP/M16/audience-verified", Level: Must,
			Text:     "A resource server refuses a token for another resource server.",
			TestedBy: "handlers/resource/resource_test.go:TestRFC6750",
		},
		{
			ID: "MCP/M17/resource-metadata", Level: Must,
			Text:  "A resource server publishes its metadata, which names its authorization servers, and the challenge of a 401 has the address.",
			Needs: []Need{need.API},
			Check: func(t *T) {
				a := t.Get(t.API().URL)
				wantPointer(t, a)
				if servers, _ := check.Metadata(t.Get(pointer(a)).JSON()).List("authorization_servers"); !slices.Contains(servers, t.Issuer()) {
					t.Failf("authorization_servers is %q, without %s", servers, t.Issuer())
				}
			},
		},
		{
			ID: "MCP/M17/scope-in-challenge", Level: Should,
			Text:  "The challenge of a 401 has the scopes that the request needs.",
			Needs: []Need{need.API},
			Check: func(t *T) {
				if t.API().Restricted == "" {
					t.Skipf("the rule needs an address that requires a scope: name it in the target under api, as wider")
				}
				a := t.Get(t.API().Restricted)
				if got := strings.Join(challengeOf(t, a).params["scope"], " "); !sameWords(got, t.API().Scope) {
					t.Failf("the challenge has the scope %q, want %q", got, t.API().Scope)
				}
			},
		},
		sameCheckAs(bearerTokens, "RFC6750/3.1/scope-named", Rule{
			ID: "MCP/M17/all-scopes-at-once", Level: Should,
			Text: "The challenge of a 403 has all the scopes that the request needs.",
		}),
		{
			ID: "MCP/M17/no-offline-access", Level: Should,
			Text:  "The metadata of a resource does not list offline_access, which concerns only the client and the server.",
			Needs: []Need{need.API},
			Check: func(t *T) {
				if describedAPI(t).Lists("scopes_supported", "offline_access") {
					t.Failf("scopes_supported contains offline_access")
				}
			},
		},
		sameCheckAs(core, "RFC6749/4.4.3/granted", Rule{
			ID: "MCP/M18/client-credentials", Level: May,
			Text: "A client without a person gets its token by client credentials.",
		}),
		{
			ID: "MCP/M18/enterprise-managed", Level: May,
			Text:         "A company's identity provider issues an assertion about a person, which is exchanged for a token.",
			Inapplicable: "Mandate does not accept assertions about people.",
		},
	}
}

// resources returns an unknown resource, and the known ones that the target names.
func resources(t *T) []target.Resource {
	return append([]target.Resource{{URI: "https://mcp.example/conformance"}}, t.OptionalResources()...)
}

// requestFor returns an authorization request for a resource, with its scope if it has one.
func requestFor(t *T, resource target.Resource) *check.Request {
	r := t.Request(t.Client(need.Code)).Set("resource", resource.URI)
	if resource.Scope != "" {
		r.Set("scope", resource.Scope)
	}
	return r
}

// metadataAt reports whether there is metadata at an address.
func metadataAt(t *T, address string) bool {
	a := t.Get(address)
	return a.Status == http.StatusOK && a.Text("issuer") != ""
}
