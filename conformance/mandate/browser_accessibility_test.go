package mandate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	err = testkit.ExamineSources(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	out, err := exec.Command("go", "test", "mandate/templates", "-count=1", "-run", "^TestWriteSamples$", "-args",
		"-write", folder).CombinedOutput()
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
	b.do(chromedp.Navigate(site.URL + "/" + filepath.Base(files[0])))
	evaluate[chromedp.Void](b, string(axe)+";0")
	for _, file := range files {
		name := filepath.Base(file)
		b.show(screens[0])
		evaluate[chromedp.Void](b, fmt.Sprintf(become, name))
		found := violations(b, `"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"`)
		b.show(screens[3]) // neither the width nor the colours are those of the first
		for _, violation := range append(found, violations(b, `"color-contrast"`)...) {
			t.Errorf("%s: %s", strings.TrimSuffix(name, ".html"), violation)
		}
	}
}

// become replaces the page of the tab by another one. The scripts stay, so that the browser compiles axe-core only
// once, which takes longer than to check a page.
const become = `fetch(%q).then(answer => answer.text()).then(page => new Promise(loaded => {
	document.open();
	addEventListener("load", () => loaded());
	document.write(page);
	document.close();
}))`

// violations returns what axe-core, which the page has, finds by some of its rules.
func violations(b *tab, rules string) []string {
	b.Helper()
	return evaluate[[]string](b, `axe.run({runOnly: [`+rules+`], resultTypes: ["violations"]}).then(
		result => result.violations.flatMap(v => v.nodes.map(n => v.id + " (" + v.help + "): " + n.target.join(" ") + ": " + n.html.slice(0, 120))))`)
}
