package mandate

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"mandate/testkit"
)

// TestBrowserAccessibility checks every page of the product with axe-core of npm: the samples of
// templates show each page with long names, errors and empty lists.
//
// WCAG 2.2, levels A and AA.
func TestBrowserAccessibility(t *testing.T) {
	browser := chromium(t)
	for _, program := range []string{"node", "npm"} {
		testkit.Program(t, program, "nodejs npm")
	}
	packages, err := nodePackages()
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join(packages, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	err = readSources()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	out, err := exec.Command("go", "test", "mandate/templates", "-count=1", "-run", "^TestWriteSamples$", "-args", "-write", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("write the samples: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.html"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the samples: %v, %v", files, err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The one script of a page would leave it.
		w.Header().Set("Content-Security-Policy", "script-src 'none'")
		http.FileServerFS(os.DirFS(folder)).ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	b := (&server{URL: site.URL, BaseURL: site.URL, secrets: &vault{}}).window(t, browser)
	b.provokes = true // the browser reports the script
	for _, screen := range screens {
		if screen.name != "phone-light" && screen.name != "desktop-dark" {
			continue // neither the width nor the colours are new
		}
		b.do(chromedp.EmulateViewport(screen.width, screen.height))
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: screen.scheme}}})
		for _, file := range files {
			name := filepath.Base(file)
			b.do(chromedp.Navigate(site.URL + "/" + name))
			for _, violation := range violations(b, string(axe), screen.scheme == "dark") {
				t.Errorf("%s, %s: %s", strings.TrimSuffix(name, ".html"), screen.name, violation)
			}
		}
	}
}

// violations returns what axe-core finds in a page: everything, or only in its colours.
func violations(b *tab, axe string, colours bool) []string {
	b.Helper()
	rules := `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]`
	if colours {
		rules = `["color-contrast"]`
	}
	return evaluate[[]string](b, axe+`;axe.run({runOnly: `+rules+`, resultTypes: ["violations"]}).then(
		result => result.violations.flatMap(v => v.nodes.map(n => v.id + " (" + v.help + "): " + n.target.join(" ") + ": " + n.html.slice(0, 120))))`)
}
