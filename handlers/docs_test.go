package handlers

import (
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"

	"mandate/handlers/resource"
	"mandate/handlers/web"
	"mandate/templates"
)

// TestEndpointsDocs compares the paths in docs/endpoints-and-errors.md with the routes of a server that has all of
// them.
func TestEndpointsDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/endpoints-and-errors.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 2 {
			continue
		}
		for _, found := range regexp.MustCompile("`(/[^`]*)`").FindAllStringSubmatch(cells[1], -1) {
			documented = append(documented, withSlash(found[1]))
		}
	}
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{
		Verifier:             verifier{},
		Audience:             "https://id.example.com",
		AuthorizationServers: []string{"https://id.example.com/o"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := web.New(Config{
		BaseURL:      &url.URL{Scheme: "https", Host: "id.example.com"},
		SampleAPI:    guard,
		OpenID:       true,
		RPLogout:     true,
		Registration: true,
	}, nil, pages)
	if err != nil {
		t.Fatal(err)
	}
	routes := routes(s).(*router)
	paths := map[string]bool{}
	for path := range maps.Keys(routes.fixed) {
		paths[withSlash(path)] = true
	}
	err = routes.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		paths[withSlash(path)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(documented)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(paths)), documented); diff != "" {
		t.Errorf("docs/endpoints-and-errors.md does not have each path once (-routes +page):\n%s", diff)
	}
}

// withSlash is a path with its final slash: each is answered with and without it.
func withSlash(path string) string { return strings.TrimSuffix(path, "/") + "/" }
