package mandate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"mandate/testkit/headless"
)

// chromium returns the browser of all tests, in which each opens windows of its own.
func chromium(t *testing.T) context.Context {
	t.Helper()
	ownProcesses(t)
	t.Parallel()
	return headless.Chromium(t)
}

// tab is a browser window as a person uses it: the test finds elements by role and
// name. A test fails if the browser reports an error or sends a request to another
// host.
type tab struct {
	testing.TB
	ctx    context.Context
	server *server

	Status int64  // of the current page
	absent string // addresses with this prefix may answer with an error; "": none

	mu        sync.Mutex
	hosts     map[string]bool            // the hosts that may receive requests
	sent      []string                   // the address of each request
	documents map[network.RequestID]bool // requests for pages and frames, and for what may be absent
	problems  []string
	provokes  bool // errors of this tab do not fail the test
}

// window opens a browser without cookies. The arguments are the other hosts that it may
// visit.
func (s *server) window(t testing.TB, browser context.Context, hosts ...string) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	return s.newTab(t, ctx, end, hosts)
}

func (s *server) newTab(t testing.TB, ctx context.Context, end func(), hosts []string) *tab {
	t.Helper()
	b := &tab{TB: t, ctx: ctx, server: s, hosts: map[string]bool{}, documents: map[network.RequestID]bool{}}
	for _, host := range append(hosts, strings.TrimPrefix(s.URL, "http://")) {
		b.hosts[host] = true
	}
	err := chromedp.Listen(ctx, b.notice)
	if err == nil {
		err = chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, audits.Enable, cdp.Empty{})
			if err == nil { // other tests have windows in this browser too, and only one of all has the focus
				_, err = cdp.Call(
					ctx, t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true},
				)
			}
			return err
		}))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.answer(t)
		end()
	})
	return b
}

// opened waits for a window that a page has opened at an address with this prefix, and
// returns it.
func (b *tab) opened(address string, hosts ...string) *tab {
	b.Helper()
	var id target.ID
	waitFor(b, "another window", func() bool {
		targets, err := chromedp.Targets(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		i := slices.IndexFunc(
			targets, func(i *target.Info) bool { return i.Type == "page" && strings.HasPrefix(i.URL, address) },
		)
		if i >= 0 {
			id = targets[i].TargetID
		}
		return i >= 0
	})
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
	other := b.server.newTab(b.TB, ctx, end, hosts)
	other.until("location.href.startsWith(" + quote(address) + ")")
	return other
}

// in returns the same window for a subtest. Errors in the window then fail the subtest.
func (b *tab) in(t testing.TB) *tab {
	t.Helper()
	b.TB = t
	t.Cleanup(func() { b.answer(t) })
	return b
}

// notice receives all events of the tab.
func (b *tab) notice(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	complain := func(format string, args ...any) { b.problems = append(b.problems, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.sent = append(b.sent, e.Request.URL)
		if e.Type == network.ResourceTypeDocument || b.absent != "" && strings.HasPrefix(e.Request.URL, b.absent) {
			b.documents[e.RequestID] = true
		}
		u, err := url.Parse(e.Request.URL)
		if err != nil || !b.hosts[u.Host] && u.Scheme != "data" {
			complain("a request left for %s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		if !b.documents[e.RequestID] && e.Response.Status >= 400 {
			complain("%s answered %d", e.Response.URL, e.Response.Status)
		}
	case *log.EventEntryAdded:
		// The browser reports an error for every page with an error status.
		if !b.documents[e.Entry.NetworkRequestID] {
			complain("the browser's log: %s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		args, _ := json.Marshal(e.Args)
		complain("console.%s %s", e.Type, args)
	case *runtime.EventExceptionThrown:
		complain("exception: %s at %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL)
	case *audits.EventIssueAdded:
		// Chromium reports a redirect without an interaction as a tracker's behaviour.
		// For an authorization server it is normal.
		if e.Issue.Code != audits.InspectorIssueCodeBounceTrackingIssue {
			details, _ := json.Marshal(e.Issue.Details)
			complain("issue: %s %s", e.Issue.Code, details)
		}
	}
}

// answer fails a test for errors in the tab.
func (b *tab) answer(t testing.TB) {
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	// Events that the page has already caused arrive before the answer to this command.
	// The page may be closed.
	_, _ = chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void]("0"))
	if b.provokes {
		return
	}
	for _, problem := range b.complaints() {
		t.Error(problem)
	}
}

// complaints returns the errors since the last call. A test that provokes errors calls
// it.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// requests returns the requested addresses since the last call.
func (b *tab) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := b.sent
	b.sent = nil
	return sent
}

const patience = 30 * time.Second

// do runs a step that opens no other page.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	err := chromedp.Do(ctx, steps...)
	if err != nil {
		b.Fatalf("at %s: %v", b.URL(), err)
	}
}

// leave runs a step that opens another page, and waits for that page.
func (b *tab) leave(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	response, err := chromedp.RunResponse(ctx, steps...)
	if err != nil || response == nil {
		b.Fatalf("from %s: no other page: %v; the browser says %q", b.URL(), err, b.complaints())
	}
	b.Status = response.Status
	if strings.HasPrefix(response.URL, b.server.URL+"/") {
		b.inspect()
	}
	address := b.URL()
	b.server.secret(address.Query().Get("code"))
}

// open opens a path of the server or a complete address.
func (b *tab) open(address string) {
	b.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.server.URL + address
	}
	b.leave(chromedp.Navigate(address))
}

func (b *tab) reload() {
	b.Helper()
	b.leave(chromedp.Reload())
}

// back goes to the previous page. The browser may restore it without loading it.
func (b *tab) back() {
	b.Helper()
	from := b.URL().String()
	evaluate[chromedp.Void](b, "history.back()")
	b.until("location.href != " + quote(from))
	b.Status = 200
	b.inspect()
}

// until waits until a page is completely loaded and the condition is true. Between two
// pages no condition can be evaluated.
func (b *tab) until(condition string) {
	b.Helper()
	waitFor(b, condition, func() bool {
		ctx, stop := context.WithTimeout(b.ctx, patience)
		defer stop()
		there, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("document.readyState == 'complete' && "+condition))
		return err == nil && there
	})
}

// URL returns the address of the page.
func (b *tab) URL() *url.URL {
	address, err := url.Parse(evaluate[string](b, "location.href"))
	if err != nil {
		b.Fatal(err)
	}
	return address
}

// evaluate runs a script in the page, even if the page's own scripts are disabled.
func evaluate[T any](b *tab, expression string) T {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

// call sends a command of the DevTools protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.Fatalf("%s: %v", command.Method, err)
	}
	return result
}
