package resources

import (
	"testing"

	"mandate/provider/indicator"
	"mandate/storage"
)

func resource(uri, name, introspectors string) storage.Resource {
	return storage.Resource{Key: indicator.Normal(uri), URI: uri, Name: name, Introspectors: introspectors}
}

func TestSet(t *testing.T) {
	self := resource("https://server.example", "server", "")
	s := newSet(&self,
		[]storage.Resource{resource("https://API.example", "configured", storage.NewIntrospectors([]string{"a", "b c"}))},
		[]storage.Resource{resource("https://api.example/", "stored", "c"),
			resource("https://other.example/v1", "other", "d"), resource("https://SERVER.example/", "added before", "")})
	for uri, want := range map[string]string{
		"https://API.example":          "configured",
		"https://api.example/":         "configured",
		"https://api.example:443":      "configured",
		"https://other.example/v1":     "other",
		"https://OTHER.example:443/v1": "other",
		"https://other.example/v1/":    "",
		"https://other.example/v":      "",
		"https://other.example/V1":     "",
		"https://server.example":       "server",
		"https://server.example/":      "server",
		"https://SERVER.example/":      "server",
		"":                             "",
	} {
		got := ""
		if r := s.resource(uri); r != nil {
			got = r.Name
		}
		if got != want {
			t.Errorf("%q is %q, want %q", uri, got, want)
		}
	}
	for uri, want := range map[string]string{"https://other.example/v1/": "other", "https://other.example/v1": "other",
		"https://other.example/v1//": "", "https://other.example/": ""} {
		got := ""
		if r := s.requested(uri); r != nil {
			got = r.Name
		}
		if got != want {
			t.Errorf("a request for %q is for %q, want %q", uri, got, want)
		}
	}
	var listed []string
	for _, r := range s.list {
		listed = append(listed, r.Name)
	}
	// The one that is now the server stays in the list: somebody must be able to delete it.
	if want := []string{"configured", "other", "added before"}; len(listed) != len(want) || listed[0] != want[0] ||
		listed[1] != want[1] || listed[2] != want[2] {
		t.Errorf("the list is %q, want %q", listed, want)
	}
	for id, want := range map[string]bool{"a": true, "b c": true, "d": true, "b": false, "c": false, "": false,
		"a b": false} {
		if s.introspectors[id] != want {
			t.Errorf("%q introspects: %v, want %v", id, !want, want)
		}
	}
}

// RFC 6749 appendix A.1: an application with a space in its client id is one application, and neither of its words.
func TestIntrospector(t *testing.T) {
	for _, list := range []string{
		storage.NewIntrospectors([]string{"first", "urn:my second"}),
		"first\nurn:my second", // as versions before wrote it
	} {
		r := resource("https://api.example", "", list)
		audience := Audience{self: new(storage.Resource), of: []*storage.Resource{&r}}
		for id, want := range map[string]bool{"first": true, "urn:my second": true, "firs": false, "first2": false,
			"second": false, "urn:my": false, "": false} {
			if audience.KnownTo(id, false).Empty() == want {
				t.Errorf("%q: %q introspects: %v, want %v", list, id, !want, want)
			}
		}
	}
}

// What was issued for a stored resource stays valid when the operator writes the resource into the
// configuration.
func TestConfiguredResourceInheritsGeneration(t *testing.T) {
	configured, stored, self := resource("https://api.example/", "configured", ""),
		resource("https://api.example/", "stored", ""), resource("https://server.example", "server", "")
	stored.Generation, stored.CreatedAt = "g", 100
	list := []storage.Resource{configured}
	got := newSet(&self, list, []storage.Resource{stored}).resource("https://api.example")
	if got.Name != "configured" || got.Generation != "g" || got.CreatedAt != 100 || list[0].Generation != "" {
		t.Errorf("%+v, and the configuration has %+v", got, list[0])
	}
}
