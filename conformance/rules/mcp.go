package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// mcp has the checks of what the Model Context Protocol requires of an authorization server.
var mcp = checks{
	"MCP/M2/metadata": func(t *T) {
		for _, address := range check.MetadataAddresses(t.Issuer()) {
			if metadataAt(t, address) {
				return
			}
		}
		t.Failf("there is no metadata at %s", strings.Join(check.MetadataAddresses(t.Issuer()), ", "))
	},
	"MCP/M2/every-address": func(t *T) {
		for _, address := range check.MetadataAddresses(t.Issuer()) {
			if !metadataAt(t, address) {
				t.Errorf("there is no metadata at %s", address)
			}
		}
	},
	"MCP/M3/issuer-identical": func(t *T) {
		if issuer := publishedMetadata(t).Text("issuer"); issuer != t.Issuer() {
			t.Failf("the issuer in the metadata is %q, want %s", issuer, t.Issuer())
		}
	},
	"MCP/M4/s256-in-metadata": func(t *T) {
		if m := publishedMetadata(t); !m.Lists("code_challenge_methods_supported", "S256") {
			t.Failf("code_challenge_methods_supported is %s, without S256", Quoted(m["code_challenge_methods_supported"]))
		}
	},
	"MCP/M5/resource-taken": mcpResourceTaken,
	"MCP/M5/audience-bound": mcpAudienceBound,
	"MCP/M6/iss": func(t *T) {
		wantIssuerInAnswers(t)
		if m := publishedMetadata(t); !m.Is(issSupported) {
			t.Errorf("%s of the metadata is %s, want true", issSupported, Quoted(m[issSupported]))
		}
	},
	"MCP/M7/client-id-metadata": func(t *T) {
		if m := publishedMetadata(t); !m.Is("client_id_metadata_document_supported") {
			t.Failf("client_id_metadata_document_supported of the metadata is %s, want true",
				Quoted(m["client_id_metadata_document_supported"]))
		}
	},
	"MCP/M7/redirect-host-shown": func(t *T) {
		text := consentPageOf(t, t.Documents().Publish(t, "redirect-host", nil))
		if !strings.Contains(text, "client.example") {
			t.Failf("the consent page does not show client.example, the host of the redirect URI")
		}
	},
	"MCP/M14/scopes-in-metadata": func(t *T) {
		if scopes, _ := publishedMetadata(t).List("scopes_supported"); len(scopes) == 0 {
			t.Failf("the metadata has no scopes_supported")
		}
	},
	"MCP/M15/step-up": mcpStepUp,
	"MCP/M17/resource-metadata": func(t *T) {
		a := t.Get(t.API().URL)
		wantPointer(t, a)
		if servers, _ := check.Metadata(t.Get(pointer(a)).JSON()).List("authorization_servers"); !slices.Contains(servers,
			t.Issuer()) {
			t.Failf("authorization_servers is %q, without %s", servers, t.Issuer())
		}
	},
	"MCP/M17/scope-in-challenge": func(t *T) {
		if t.API().Restricted == "" {
			t.Skipf("the rule needs an address that requires a scope: name it in the target under api, as wider")
		}
		a := t.Get(t.API().Restricted)
		if got := strings.Join(challengeOf(t, a).params["scope"], " "); !sameWords(got, t.API().Scope) {
			t.Failf("the challenge has the scope %q, want %q", got, t.API().Scope)
		}
	},
	"MCP/M17/no-offline-access": func(t *T) {
		if describedAPI(t).Lists("scopes_supported", "offline_access") {
			t.Failf("scopes_supported contains offline_access")
		}
	},
}

func mcpResourceTaken(t *T) {
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
			t.Failf("the token request with resource=%s is answered with %s, want a token or invalid_target", resource.URI,
				a.Failure())
		}
	}
}

func mcpAudienceBound(t *T) {
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
}

func mcpStepUp(t *T) {
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
