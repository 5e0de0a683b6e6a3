package programs

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	gocmp "github.com/google/go-cmp/cmp"

	"mandate/testkit/headless"
	"mandate/testkit/port"
)

// spa is a single-page application of an administrator, on https. Its host and that of Mandate are of one site: a
// browser sends cookies in frames to no other site.
var spa = program{
	name: "oidc-client-ts (react-oidc-context), in Chromium", version: nodeVersion("node", "oidc-client-ts"),
	settings: "`loadUserInfo: true`",
	flags:    []string{"--client-type", "public"}, redirect: "/callback", shows: complete,
}

func TestSinglePage(t *testing.T) {
	t.Parallel()
	inBrowser := chromium(t)
	listen := port.Address()
	_, number, err := net.SplitHostPort(listen)
	if err != nil {
		t.Fatal(err)
	}
	s := startAt(t, listen, "auth.company.example:"+number, true)
	app := singlePage(t)
	id, _ := s.register(t, spa, app+spa.redirect, app+"/silent")
	first := tab(t, inBrowser)
	first.open(app + "/#" + url.Values{"authority": {s.issuer}, "client_id": {id}}.Encode())
	first.signIn(chromedp.Evaluate[chromedp.Void]("void signIn()"))
	first.wantShown()

	// Both tabs refresh with the same refresh token, at the same time.
	second := tab(t, inBrowser)
	second.open(app + "/")
	for range 3 {
		begin := time.Now().Add(time.Second).UnixMilli() // both tabs have this clock
		renewals := make(chan string)
		for _, one := range []*window{first, second} {
			go func() { renewals <- one.later("renew", begin) }()
		}
		for range 2 {
			wantPerson(t, "a tab that renews", <-renewals)
		}
	}
	// Without a refresh token, the renewal is a request with prompt=none in a frame.
	wantPerson(t, "prompt=none", second.later("renewInFrame", 0))
	if text := first.later("renew", 0); text == "" {
		t.Error("the first tab has ended")
	}
	spa.record(t)
}

// singlePage serves testdata/spa, and returns its address.
func singlePage(t *testing.T) string {
	t.Helper()
	library := filepath.Join(nodePackages(t, "node"), "node_modules", "oidc-client-ts", "dist", "browser",
		"oidc-client-ts.js")
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file := filepath.Join("testdata", "spa", "index.html")
		if r.URL.Path == "/oidc-client-ts.js" {
			file = library
		}
		http.ServeFile(w, r, file)
	}))
	t.Cleanup(site.Close)
	at, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "https://app.company.example:" + at.Port()
}

// chromium opens a browser without cookies, whose windows share the cookies that they receive.
func chromium(t *testing.T) context.Context {
	t.Helper()
	ctx, end := chromedp.NewContext(headless.Chromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	err := chromedp.Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// window is a tab of the browser.
type window struct {
	*testing.T
	ctx context.Context
}

func tab(t *testing.T, browser context.Context) *window {
	t.Helper()
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	err := chromedp.Do(ctx) // it opens the tab, which lives as long as this context
	if err != nil {
		t.Fatal(err)
	}
	return &window{t, ctx}
}

func (w *window) open(address string) {
	w.Helper()
	w.run(chromedp.Navigate(address))
}

// signIn signs alice in, and approves, after a step that leads to Mandate.
func (w *window) signIn(start chromedp.Action[chromedp.Void]) {
	w.Helper()
	w.leave(start)
	w.leave(chromedp.SendKeys(chromedp.CSS("#username"), alice.username),
		chromedp.SendKeys(chromedp.CSS("#password"), alice.password+"\r"))
	w.leave(chromedp.Click(chromedp.CSS("button[value=approve]:not([aria-disabled])")))
}

func (w *window) run(steps ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	w.within(func(ctx context.Context) error { return chromedp.Do(ctx, steps...) })
}

// leave runs steps that lead to another page, and waits for that page: an element that was found before it came cannot
// be used any more.
func (w *window) leave(steps ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	w.within(func(ctx context.Context) error {
		_, err := chromedp.RunResponse(ctx, steps...)
		return err
	})
}

func (w *window) within(work func(context.Context) error) {
	w.Helper()
	ctx, stop := context.WithTimeout(w.ctx, time.Minute)
	defer stop()
	err := work(ctx)
	if err != nil {
		at, _ := chromedp.Run(w.ctx, chromedp.Evaluate[string]("location.href + ': ' + document.body.innerText"))
		w.Fatalf("%v: the browser is at %s", err, at)
	}
}

// later calls a function of the page at a time, and returns what it promises.
func (w *window) later(function string, at int64) string {
	wait := "new Promise(go => setTimeout(go, Math.max(0, at - Date.now())))"
	call := "(at => " + wait + ".then(" + function + "))(" + strconv.FormatInt(at, 10) + ")"
	text, err := chromedp.Run(w.ctx, chromedp.Evaluate[string](call, chromedp.EvalAwaitPromise))
	if err != nil {
		w.Errorf("%s: %v", function, err)
	}
	return text
}

// wantShown waits until the page shows alice.
func (w *window) wantShown() {
	w.Helper()
	w.run(chromedp.WaitVisible(chromedp.CSS("#shown")))
	text, err := chromedp.Run(w.ctx, chromedp.Text(chromedp.CSS("#shown")))
	if err != nil {
		w.Fatal(err)
	}
	wantPerson(w.T, "the login", text)
}

func wantPerson(t *testing.T, what, text string) {
	t.Helper()
	var got person
	err := json.Unmarshal([]byte(text), &got)
	if err != nil {
		t.Errorf("%s: %s", what, text)
		return
	}
	slices.Sort(got.Groups)
	if diff := gocmp.Diff(spa.shows, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
