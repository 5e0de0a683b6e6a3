package rules

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

// rfc9728 has the checks of the rules about Protected Resource Metadata.
var rfc9728 = checks{
	"RFC9728/1.2/https": func(t *T) { wantTLS(t, describedAPI(t).Text("resource")) },
	"RFC9728/1.2/no-fragment": func(t *T) {
		if id := describedAPI(t).Text("resource"); strings.Contains(id, "#") {
			t.Failf("resource is %s", id)
		}
	},
	"RFC9728/2/resource": func(t *T) {
		if m := describedAPI(t); m.Text("resource") == "" {
			t.Failf("resource is %s", Quoted(m["resource"]))
		}
	},
	"RFC9728/2/authorization-servers": func(t *T) {
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
	"RFC9728/2/scopes": func(t *T) {
		if scopes, _ := describedAPI(t).List("scopes_supported"); len(scopes) == 0 || slices.Contains(scopes, "") {
			t.Failf("scopes_supported is %q", scopes)
		}
	},
	"RFC9728/2/bearer-methods": func(t *T) {
		for _, method := range listedIn(t, describedAPI(t), "bearer_methods_supported") {
			if !slices.Contains([]string{"header", "body", "query"}, method) {
				t.Errorf("bearer_methods_supported has %q", method)
			}
		}
	},
	"RFC9728/2/name": func(t *T) {
		if m := describedAPI(t); m.Text("resource_name") == "" {
			t.Failf("resource_name is %s", Quoted(m["resource_name"]))
		}
	},
	"RFC9728/3/well-known": func(t *T) {
		id := describedAPI(t).Text("resource")
		if a := t.Get(resourceMetadataURL(id)); !isDescription(a) {
			t.Failf("the resource is %s, and %s answers %s", id, resourceMetadataURL(id), a)
		}
	},
	"RFC9728/3.2/json": func(t *T) {
		a := describedAt(t)
		if a.Status != http.StatusOK || a.MediaType() != "application/json" || a.JSON() == nil {
			t.Failf("the metadata is %s with the type %s", a, cmp.Or(a.MediaType(), "none"))
		}
	},
	"RFC9728/3.2/no-empty": func(t *T) {
		m := describedAPI(t)
		for name, value := range m {
			list, is := m.List(name)
			// RFC 9728 §2: this member can say that there is none.
			if name != "bearer_methods_supported" && (is && len(list) == 0 || value == nil || value == "") {
				t.Errorf("%s is %s", name, Quoted(value))
			}
		}
	},
	"RFC9728/3.3/identical": func(t *T) {
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
	"RFC9728/3.3/of-request": func(t *T) {
		id := describedAPI(t).Text("resource")
		if base := strings.TrimSuffix(id, "/"); t.API().URL != id && t.API().URL != base &&
			!strings.HasPrefix(t.API().URL, base+"/") {
			t.Failf("the metadata of %s is about %s", t.API().URL, id)
		}
	},
	"RFC9728/5.1/challenge": func(t *T) {
		describedAPI(t)
		a := t.Get(t.API().URL)
		wantPointer(t, a)
	},
	"RFC9728/5.1/insufficient-scope": func(t *T) {
		describedAPI(t)
		a := askRestricted(t)
		blockIfAccepted(t, a)
		wantPointer(t, a)
	},
	"RFC9728/7.10/cacheable": func(t *T) {
		describedAPI(t)
		a := describedAt(t)
		if said := a.Header.Get("Cache-Control"); !strings.Contains(said, "max-age=") || strings.Contains(said, "no-store") {
			t.Failf("Cache-Control is %q", said)
		}
	},
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
