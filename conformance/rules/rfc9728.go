package rules

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc9728 returns the rules about Protected Resource Metadata. They are about the target's api, and are skipped if it has
// no metadata.
func rfc9728() []Rule {
	api := []Need{need.API}
	return []Rule{
		{
			ID: "RFC9728/1.2/https", Level: Must,
			Text:  "The identifier of a resource is an https URL.",
			Needs: api,
			Check: func(t *T) { wantTLS(t, describedAPI(t).Text("resource")) },
		},
		{
			ID: "RFC9728/1.2/no-fragment", Level: Must,
			Text:  "The identifier of a resource has no fragment.",
			Needs: api,
			Check: func(t *T) {
				if id := describedAPI(t).Text("resource"); strings.Contains(id, "#") {
					t.Failf("resource is %s", id)
				}
			},
		},
		{
			ID: "RFC9728/2/resource", Level: Must,
			Text:  "The metadata has the identifier of the resource.",
			Needs: api,
			Check: func(t *T) {
				if m := describedAPI(t); m.Text("resource") == "" {
					t.Failf("resource is %s", Quoted(m["resource"]))
				}
			},
		},
		{
			ID: "RFC9728/2/authorization-servers", Level: Must,
			Text:  "authorization_servers lists issuer identifiers, each exactly as its server writes it (RFC 8414 §2).",
			Needs: api,
			Check: func(t *T) {
				listed := listedIn(t, describedAPI(t), "authorization_servers")
				for _, issuer := range listed {
					if u, err := url.Parse(issuer); err != nil || !isURL(issuer) || u.Host == "" || strings.ContainsAny(issuer, "?#") {
						t.Errorf("%q is not the URL of an issuer", issuer)
					}
					if issuer != t.Issuer() && strings.TrimSuffix(issuer, "/") == strings.TrimSuffix(t.Issuer(), "/") {
						t.Errorf("%q is listed, but the issuer is %q", issuer, t.Issuer())
					}
				}
			},
		},
		{
			ID: "RFC9728/2/scopes", Level: Should,
			Text:  "The metadata has the scopes that a client can request for the resource.",
			Needs: api,
			Check: func(t *T) {
				if scopes, _ := describedAPI(t).List("scopes_supported"); len(scopes) == 0 || slices.Contains(scopes, "") {
					t.Failf("scopes_supported is %q", scopes)
				}
			},
		},
		{
			ID: "RFC9728/2/bearer-methods", Level: Must,
			Text:  "bearer_methods_supported has only the values header, body and query.",
			Needs: api,
			Check: func(t *T) {
				for _, method := range listedIn(t, describedAPI(t), "bearer_methods_supported") {
					if !slices.Contains([]string{"header", "body", "query"}, method) {
						t.Errorf("bearer_methods_supported has %q", method)
					}
				}
			},
		},
		{
			ID: "RFC9728/2/name", Level: Should,
			Text:  "The metadata has a name of the resource for people.",
			Needs: api,
			Check: func(t *T) {
				if m := describedAPI(t); m.Text("resource_name") == "" {
					t.Failf("resource_name is %s", Quoted(m["resource_name"]))
				}
			},
		},
		{
			ID: "RFC9728/2/keys", Level: Must,
			Text:         "jwks_uri is an https URL, and resource_signing_alg_values_supported does not have none.",
			Inapplicable: "Mandate's guard does not sign the responses of an API.",
		},
		{
			ID: "RFC9728/2.2/signed", Level: May,
			Text:         "Metadata can also be a signed JWT, with iss.",
			Inapplicable: "Mandate's guard does not sign the metadata; TLS protects it.",
		},
		{
			ID: "RFC9728/3/well-known", Level: Must,
			Text:  "The metadata is at the URL with the well-known part between the host and the path of the identifier.",
			Needs: api,
			Check: func(t *T) {
				id := describedAPI(t).Text("resource")
				if a := t.Get(resourceMetadataURL(id)); !isDescription(a) {
					t.Failf("the resource is %s, and %s answers %s", id, resourceMetadataURL(id), a)
				}
			},
		},
		{
			ID: "RFC9728/3.1/final-slash", Level: Must,
			Text:     "A path that is only a slash is left out of that URL.",
			TestedBy: "handlers/resource/metadata_test.go:TestMetadataAddress",
		},
		{
			ID: "RFC9728/3.2/json", Level: Must,
			Text:  "The response is 200 with a JSON object of the type application/json.",
			Needs: api,
			Check: func(t *T) {
				a := describedAt(t)
				if a.Status != http.StatusOK || a.MediaType() != "application/json" || a.JSON() == nil {
					t.Failf("the metadata is %s with the type %s", a, cmp.Or(a.MediaType(), "none"))
				}
			},
		},
		{
			ID: "RFC9728/3.2/no-empty", Level: Must,
			Text:  "A member without values is left out.",
			Needs: api,
			Check: func(t *T) {
				m := describedAPI(t)
				for name, value := range m {
					list, is := m.List(name)
					// RFC 9728 §2: this member can say that there is none.
					if name != "bearer_methods_supported" && (is && len(list) == 0 || value == nil || value == "") {
						t.Errorf("%s is %s", name, Quoted(value))
					}
				}
			},
		},
		{
			ID: "RFC9728/3.3/identical", Level: Must,
			Text:  "The resource in the metadata is identical to the identifier from which a client builds the URL of the metadata.",
			Needs: api,
			Check: func(t *T) {
				id, known := describedAPI(t).Text("resource"), t.API().Resource
				a := t.Last()
				if id == "" {
					t.Blockedf("the metadata at %s has no resource (RFC9728/2/resource)", a.URL)
				}
				if known != "" && id != known {
					t.Failf("the metadata is about %q, but clients use %q", id, known)
				}
				if at := resourceMetadataURL(id); strings.TrimSuffix(at, "/") != strings.TrimSuffix(a.URL.String(), "/") {
					t.Failf("the metadata at %s is about %s, whose metadata is at %s", a.URL, id, at)
				}
			},
		},
		{
			// Of a client the document requires that both are identical. Then an API has one address only. Clients accept an
			// address below the identifier, and a draft of an update allows it.
			ID: "RFC9728/3.3/of-request", Level: Should,
			Text:  "A challenge leads to the metadata of the resource at the requested URL, or above it.",
			Needs: api,
			Check: func(t *T) {
				id := describedAPI(t).Text("resource")
				if base := strings.TrimSuffix(id, "/"); t.API().URL != id && t.API().URL != base && !strings.HasPrefix(t.API().URL, base+"/") {
					t.Failf("the metadata of %s is about %s", t.API().URL, id)
				}
			},
		},
		{
			ID: "RFC9728/4/protected-resources", Level: May,
			Text:         "The authorization server lists the resources that use it.",
			Inapplicable: "Mandate does not tell strangers which APIs use it.",
		},
		{
			ID: "RFC9728/5.1/challenge", Level: May,
			Text:  "The challenge to a request without a token has the URL of the metadata.",
			Needs: api,
			Check: func(t *T) {
				describedAPI(t)
				a := t.Get(t.API().URL)
				wantPointer(t, a)
			},
		},
		{
			ID: "RFC9728/5.1/insufficient-scope", Level: May,
			Text:  "The challenge to a token with insufficient scope has it too.",
			Needs: restrictedNeeds(),
			Check: func(t *T) {
				describedAPI(t)
				a := askRestricted(t)
				blockIfAccepted(t, a)
				wantPointer(t, a)
			},
		},
		{
			ID: "RFC9728/7.2/not-all-scopes", Level: Should,
			Text:         "A client does not request all the scopes in the metadata.",
			Inapplicable: "This binds clients.",
		},
		{
			// The document says this without a keyword.
			ID: "RFC9728/7.10/cacheable", Level: May,
			Text:  "Clients can cache the metadata for an appropriate time.",
			Needs: api,
			Check: func(t *T) {
				describedAPI(t)
				a := describedAt(t)
				if said := a.Header.Get("Cache-Control"); !strings.Contains(said, "max-age=") || strings.Contains(said, "no-store") {
					t.Failf("Cache-Control is %q", said)
				}
			},
		},
	}
}

// resourceMetadataURL returns the URL of the metadata of a resource.
//
// RFC 9728 §3.1: the well-known part stands between the host and the path. A path that is only a slash is left out.
func resourceMetadataURL(id string) string {
	u, err := url.Parse(id)
	if err != nil {
		return ""
	}
	path := u.EscapedPath()
	if path == "/" {
		path = ""
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return u.Scheme + "://" + u.Host + "/.well-known/oauth-protected-resource" + path
}

// pointer returns the URL of the metadata in the challenge of an answer, or "".
func pointer(a *wire.Answer) string {
	for _, c := range challengesOf(a) {
		if at := strings.Join(c.params["resource_metadata"], " "); at != "" {
			return at
		}
	}
	return ""
}

// describedAt returns the answer with the metadata of the target's api. Without metadata the check is skipped.
func describedAt(t *T) *wire.Answer {
	named := pointer(t.Get(t.API().URL))
	if named != "" && !isURL(named) {
		t.Blockedf("the challenge has resource_metadata=%q, which is no URL", named)
	}
	if named != "" {
		return t.Get(named)
	}
	at := resourceMetadataURL(cmp.Or(t.API().Resource, t.API().URL))
	a := t.Get(at)
	if !isDescription(a) {
		t.Skipf("the rule applies to an api with metadata: its challenge has no resource_metadata, and %s answers %s", at, a)
	}
	return a
}

func isDescription(a *wire.Answer) bool {
	return a.Status == http.StatusOK && check.Metadata(a.JSON()).Text("resource") != ""
}

// describedAPI returns the metadata of the target's api.
func describedAPI(t *T) check.Metadata {
	a := describedAt(t)
	if a.Status != http.StatusOK || a.JSON() == nil {
		t.At(a)
		t.Blockedf("the challenge leads to %s, which answers %s", a.URL, a)
	}
	t.At(a)
	return a.JSON()
}

// listedIn returns a member that is a list. Without it the check is skipped.
func listedIn(t *T, m check.Metadata, name string) []string {
	if m[name] == nil {
		t.Skipf("the rule applies to metadata with %s", name)
	}
	list, is := m.List(name)
	if !is {
		t.Failf("%s is %s, want a list", name, Quoted(m[name]))
	}
	return list
}

// wantPointer asserts that a challenge has the URL of the metadata.
func wantPointer(t *T, a *wire.Answer) {
	t.At(a)
	if at := pointer(a); !isURL(at) || !isDescription(t.Get(at)) {
		t.At(a)
		t.Failf("the challenge has resource_metadata=%q, and the metadata is not there", at)
	}
}
