package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/rules"
	"mandate/conformance/wire"
	"mandate/testkit/headless"
)

// window opens a window of a real browser.
func window(t *testing.T) context.Context {
	t.Helper()
	ctx, end := chromedp.NewContext(headless.Chromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	ctx, end = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(end)
	return ctx
}

// manyFailures is a report with several rules for each cause and each outcome. It has three documents: with each key
// that a filter gets, the browser compares every rule on the page with every cause.
func manyFailures() *engine.Report {
	r := &engine.Report{Issuer: "https://issuer.example", Began: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		Target: "target.yaml", Selection: "all", Documents: rules.Documents()}
	for i, rule := range rules.All() {
		if !slices.Contains([]string{"RFC6749", "RFC7636", "RFC7009"}, rule.Document()) {
			continue
		}
		result := check.Result{Rule: rule, Status: check.Pass}
		switch {
		case rule.Check == nil:
			result.Status, result.Reason = rule.Unchecked()
		case i%6 == 0:
			result.Status, result.Reason = check.Fail, fmt.Sprintf("the server is wrong in the way number %d", i%20)
			result.Exchange = &wire.Exchange{Sent: "POST https://issuer.example/token\n\ngrant_type=client_credentials",
				Got: "200 OK\n\n{}", Repeat: "curl -i https://issuer.example/token -d grant_type=client_credentials"}
		case i%31 == 0:
			result.Status, result.Reason = check.Blocked, "the page needs a script"
		case i%37 == 0:
			result.Status, result.Reason = check.Skip, "the target has no client machine"
		}
		r.Results = append(r.Results, result)
	}
	return r
}

// The scripts below only look at the page, which has none itself.
const (
	shownRules    = `[...document.querySelectorAll('.filtered li')].filter(e => e.checkVisibility()).map(e => e.id)`
	emptySections = `[...document.querySelectorAll('.filtered :is(.document, .clause)')].filter(e => e.checkVisibility() && ![...e.querySelectorAll('li')].some(l => l.checkVisibility())).length`
)

// A person filters the rules with the keyboard, reads the report on a phone, and prints it.
func TestHTMLInABrowser(t *testing.T) {
	report := manyFailures()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = report.HTML(w) }))
	defer server.Close()
	ctx := window(t)
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		err := chromedp.Do(ctx, steps...)
		if err != nil {
			t.Fatal(err)
		}
	}
	do(chromedp.EmulateViewport(375, 800), chromedp.Navigate(server.URL))
	if width := evaluated[int](t, ctx, `document.documentElement.scrollWidth`); width > 375 {
		t.Errorf("the page is %d pixels wide on a phone", width)
	}
	ids := func(with func(check.Result) bool) []string {
		var all []string
		for _, result := range report.Results {
			if with(result) {
				all = append(all, result.Rule.ID)
			}
		}
		return all
	}
	cause := report.Causes()[1]
	for _, c := range []struct {
		label, option string
		want          []string
	}{
		{"Result", "Fail", ids(func(r check.Result) bool { return r.Status == check.Fail && r.Rule.Level == check.Must })},
		{"Result", "Skipped", ids(func(r check.Result) bool { return r.Status == check.Skip })},
		{"Document", "RFC 7636", ids(func(r check.Result) bool { return r.Rule.Document() == "RFC7636" })},
		{"Cause", cause.Text, ids(func(r check.Result) bool {
			return slices.ContainsFunc(cause.Results, func(of check.Result) bool { return of.Rule.ID == r.Rule.ID })
		})},
	} {
		do(chromedp.Navigate(server.URL))
		// One arrow for each option: a name that is typed counts only if the keys come within a second.
		steps := evaluated[int](t, ctx,
			fmt.Sprintf(
				`(() => { const s = [...document.querySelectorAll('label')].find(l => l.textContent.startsWith(%q)).querySelector('select'); s.focus(); return document.activeElement == s ? [...s.options].findIndex(o => o.text.startsWith(%q)) : -1 })()`, c.label, c.option))
		if steps < 1 {
			t.Fatalf("%s has no option %q, or takes no focus", c.label, c.option)
		}
		do(chromedp.KeyEvent(strings.Repeat(kb.ArrowDown, steps)))
		shown := evaluated[[]string](t, ctx, shownRules)
		if !slices.Equal(shown, c.want) || len(shown) == 0 {
			t.Errorf("%s %q: %d rules are shown, want %d", c.label, c.option, len(shown), len(c.want))
		}
		if empty := evaluated[int](t, ctx, emptySections); empty > 0 {
			t.Errorf("%s %q: %d headings have no rule", c.label, c.option, empty)
		}
	}
	do(chromedp.Navigate(server.URL))
	if all := evaluated[[]string](t, ctx, shownRules); len(all) != len(report.Results) {
		t.Errorf("without a filter %d of %d rules are shown", len(all), len(report.Results))
	}
	hidden :=
		`[...document.querySelectorAll('li.missed details:not(.again) pre')].filter(e => !e.checkVisibility()).length`
	if evaluated[int](t, ctx, hidden) == 0 {
		t.Error("every request is open on the screen")
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if err != nil {
		t.Fatal(err)
	}
	if n := evaluated[int](t, ctx, hidden); n > 0 {
		t.Errorf("%d requests of failures are not printed", n)
	}
	if evaluated[bool](t, ctx, `document.querySelector('.filters').checkVisibility()`) {
		t.Error("the filters are printed")
	}
	pictures(t, ctx, server.URL)
}

func evaluated[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// pictures saves the report as pictures and as a PDF, if MANDATE_TEST_SCREENSHOTS names a folder.
func pictures(t *testing.T, ctx context.Context, address string) {
	folder := os.Getenv("MANDATE_TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	save := func(name string, content []byte, err error) {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{375, 1280} {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia,
				emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			if err == nil {
				err = chromedp.Do(ctx, chromedp.EmulateViewport(width, 3000), chromedp.Navigate(address))
			}
			if err != nil {
				t.Fatal(err)
			}
			picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			save(fmt.Sprintf("report-%d-%s.png", width, scheme), picture, err)
		}
	}
	paper, err := chromedp.Run(ctx, chromedp.PrintToPDF())
	save("report.pdf", paper, err)
}
