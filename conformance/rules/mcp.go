package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// What a client of the Model Context Protocol asks of an authorization server. The text numbers nothing:
// the clauses are the lines of the project's sheet of it.
func mcp() []Rule {
	core, bearerTokens, best := rfc6749(), rfc6750(), rfc9700()
	return []Rule{
		{
			ID: "MCP/M1/oauth21", Level: Must,
			Text:         "The server does what OAuth 2.1 asks for, for public and confidential clients.",
			Inapplicable: "It is the profile oauth21, whose rows the profile mcp has too.",
		},
		{
			ID: "MCP/M2/metadata", Level: Must,
			Text: "The server publishes its metadata at one of the addresses at which a client looks.",
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
			Text: "The metadata is at each of these addresses, so that a client finds it at its first try.",
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
			Text: "The issuer in the metadata is the one that was asked for, to the last character.",
			Check: func(t *T) {
				if len(t.Metadata()) == 0 {
					t.Blockedf("the server publishes no metadata")
				}
				if t.Metadata()["issuer"] != t.Issuer() {
					t.Failf("issuer is %v, want %s", t.Metadata()["issuer"], t.Issuer())
				}
			},
		},
		{
			ID: "MCP/M4/s256-in-metadata", Level: Must,
			Text: "code_challenge_methods_supported is there and has S256: without it a client goes away.",
			Check: func(t *T) {
				if !t.Metadata().Lists("code_challenge_methods_supported", "S256") {
					t.Failf("code_challenge_methods_supported is %v", t.Metadata()["code_challenge_methods_supported"])
				}
			},
		},
		{
			ID: "MCP/M5/resource-taken", Level: Must,
			Text:  "A request that names its resource, as every one of these clients' does, is granted, or answered with invalid_target.",
			Needs: codeFlow(),
			Check: func(t *T) {
				r := t.Request(t.Client(need.Code)).Set("resource", resource)
				answer := t.Authorize(r)
				if answer.Params.Get("error") == "invalid_target" {
					return
				}
				if answer.Params.Get("code") == "" {
					t.At(answer.Answer)
					t.Failf("with resource it ends with %s", answer.Outcome())
				}
				form := (&check.Code{Value: answer.Params.Get("code"), Request: r}).Form()
				form.Set("resource", resource)
				if a := t.Token(r.Client, form); !a.Granted() && a.Text("error") != "invalid_target" {
					t.Failf("the token request with resource is answered with %s", a.Failure())
				}
			},
		},
		{
			ID: "MCP/M5/audience-bound", Level: Should,
			Text:   "A token is for the resource that its request named, and an unknown one is refused.",
			Needs:  codeFlow(need.Introspection, need.Introspect),
			Waived: "Mandate does not know the parameter resource (RFC 8707) yet: its tokens are for the resource servers of its base URL.",
			Check: func(t *T) {
				r := t.Request(t.Client(need.Code)).Set("resource", resource)
				answer := t.Authorize(r)
				if answer.Params.Get("error") == "invalid_target" {
					return
				}
				form := t.CodeOf(answer).Form()
				form.Set("resource", resource)
				a := t.Token(r.Client, form)
				if a.Text("error") == "invalid_target" {
					return
				}
				told := t.Introspect(t.Granted(a).Access)["aud"]
				if list, is := told.([]any); told != resource && (!is || !slices.Contains(list, any(resource))) {
					t.Failf("the request named %s, and aud is %v", resource, told)
				}
			},
		},
		{
			ID: "MCP/M6/iss", Level: Should,
			Text:  "Every answer of the authorization endpoint, also an error, has iss, and the metadata says so.",
			Needs: asking(),
			Check: func(t *T) {
				wantIssuerInAnswers(t)
				if !saysIss(t) {
					t.Errorf("authorization_response_iss_parameter_supported is %v", t.Metadata()["authorization_response_iss_parameter_supported"])
				}
			},
		},
		{
			ID: "MCP/M7/client-id-metadata", Level: Should,
			Text:   "A client can be known by the address of a document about it.",
			Waived: "In Mandate people register applications; client ID metadata documents are a draft that is not there yet.",
			Check: func(t *T) {
				if t.Metadata()["client_id_metadata_document_supported"] != true {
					t.Failf("client_id_metadata_document_supported is %v", t.Metadata()["client_id_metadata_document_supported"])
				}
			},
		},
		{
			ID: "MCP/M8/no-registration", Level: May,
			Text: "Clients do not register themselves, which this version of the text deprecates.",
			Check: func(t *T) {
				if t.Has(need.Registration) {
					t.Failf("the metadata has a registration_endpoint")
				}
			},
		},
		likewise(core, "RFC6749/4.1.4/granted", Rule{
			ID: "MCP/M9/pre-registered", Level: May,
			Text: "A client that was registered beforehand gets its tokens.",
		}),
		likewise(best, "RFC9700/2.1/a1-exact-redirect-uri", Rule{
			ID: "MCP/M10/exact-redirect-uri", Level: Must,
			Text: "A redirect URI is good if it equals a registered one.",
		}),
		{
			ID: "MCP/M10/https-or-localhost", Level: Must,
			Text:      "An operator can have redirect URIs with https and to the same computer only.",
			Elsewhere: "provider/redirect_test.go:TestRedirectURIAtRegistration",
		},
		likewise(best, "RFC9700/2.6/a52-tls", Rule{
			ID: "MCP/M11/https", Level: Must,
			Text: "Every endpoint is reached by HTTPS.",
		}),
		likewise(best, "RFC9700/2.2.2/a20-public-refresh-tokens-rotated", Rule{
			ID: "MCP/M12/public-rotated", Level: Must,
			Text: "The refresh token of a public client is replaced at each use.",
		}),
		likewise(bearerTokens, "RFC6750/5.3/one-hour", Rule{
			ID: "MCP/M13/short-lived", Level: Should,
			Text:   "Access tokens live for a short time, an hour at most.",
			Waived: "Mandate's specification asks for 36000 seconds; ACCESS_TOKEN_EXPIRE_SECONDS and each application can have less.",
		}),
		{
			ID: "MCP/M14/scopes-in-metadata", Level: May,
			Text: "The metadata tells the scopes.",
			Check: func(t *T) {
				if scopes, _ := t.Metadata().List("scopes_supported"); len(scopes) == 0 {
					t.Failf("the metadata has no scopes_supported")
				}
			},
		},
		likewise(core, "RFC6749/4.1.4/refresh-token", Rule{
			ID: "MCP/M14/refresh-token-unasked", Level: May,
			Text: "A refresh token comes without the scope offline_access.",
		}),
		{
			ID: "MCP/M15/step-up", Level: Should,
			Text:  "A second request for more scope gives all of it, and the tokens of the first go on working.",
			Needs: codeFlow(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				all := t.Scopes(t.Grant(c))
				first := workingTokens(t, t.Granted(t.Redeem(t.Code(t.Request(c).Set("scope", all[0])))))
				second := t.Granted(t.Redeem(t.Code(t.Request(c).Set("scope", strings.Join(all[:2], " ")))))
				got := strings.Fields(second.Scope)
				if second.Scope != "" && (!slices.Contains(got, all[0]) || !slices.Contains(got, all[1])) {
					t.Errorf("%s was asked for, and the token has %q", strings.Join(all[:2], " "), second.Scope)
				}
				if !t.Works(first.Access) {
					t.Errorf("the first access token works no more")
				}
				if !t.Works(second.Access) {
					t.Errorf("the second access token does not work")
				}
			},
		},
		likewise(best, "RFC9700/2.3/r2-action-verified", Rule{
			ID: "MCP/M16/scope-verified", Level: Must,
			Text: "A resource refuses a token that is not good for it.",
		}),
		{
			ID: "MCP/M16/audience-verified", Level: Must,
			Text:      "A resource server takes no token that was meant for another.",
			Elsewhere: "handlers/resource/resource_test.go:TestRFC6750",
		},
		{
			ID: "MCP/M17/resource-metadata", Level: Must,
			Text:         "A resource server publishes its own metadata, and its challenge leads there.",
			Inapplicable: "It is for the server that speaks the Model Context Protocol; no part of Mandate does.",
		},
		likewise(core, "RFC6749/4.4.3/granted", Rule{
			ID: "MCP/M18/client-credentials", Level: May,
			Text: "A client without a person gets its token by client credentials.",
		}),
		{
			ID: "MCP/M18/enterprise-managed", Level: May,
			Text:         "A company's own provider vouches for the person, by an assertion that is exchanged for a token.",
			Inapplicable: "Mandate takes no assertions.",
		},
	}
}

const resource = "https://mcp.example/conformance"

// metadataAt says whether there is metadata at an address.
func metadataAt(t *T, address string) bool {
	a := t.Get(address)
	return a.Status == http.StatusOK && a.Text("issuer") != ""
}
