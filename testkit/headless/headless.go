// Package headless gives tests a real browser.
package headless

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"mandate/testkit"
)

// shared is the browser of the tests that run at the same time. It is a package variable because these tests have no
// other place in common.
var shared struct {
	sync.Mutex
	users int
	ctx   context.Context
	end   func()
}

// Chromium returns the browser of this test and of all that run at the same time. The first of them starts it, and the
// last one ends it. A test opens windows with chromedp.WithNewBrowserContext: they share no cookies with another test.
// The browser resolves names below .example and .lan to this machine, and no other name. Without a browser the test
// ends as testkit.Missing does.
func Chromium(t testing.TB) context.Context {
	t.Helper()
	program := program(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.users == 0 {
		var err error
		shared.ctx, shared.end, err = start(program)
		if err != nil {
			t.Fatalf("start Chromium: %v", err)
		}
	}
	shared.users++
	t.Cleanup(leave)
	return shared.ctx
}

func leave() {
	shared.Lock()
	defer shared.Unlock()
	shared.users--
	if shared.users == 0 {
		shared.end()
	}
}

// program returns the path of the browser. The one without any window is preferred: it takes half the processor time.
func program(t testing.TB) string {
	t.Helper()
	names := []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}
	i := slices.IndexFunc(names, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	if i < 0 {
		testkit.Missing(t, "Chromium is not installed: apt-get install chromium-headless-shell")
	}
	return names[i]
}

func start(program string) (ctx context.Context, end func(), err error) {
	dir, err := os.MkdirTemp("", "c") // a short name: its path is part of that of a socket
	if err != nil {
		return nil, nil, err
	}
	flags := append(
		chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.DisableGPU, chromedp.NoSandbox,
		chromedp.WindowSize(1280, 800), chromedp.IgnoreCertErrors, chromedp.Env("TMPDIR="+dir),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true),
		chromedp.Flag(
			"host-resolver-rules",
			"MAP *.example 127.0.0.1, MAP *.lan 127.0.0.1, EXCLUDE 127.0.0.1, EXCLUDE localhost, MAP * ~NOTFOUND",
		),
	)
	process, kill := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, closed := chromedp.NewContext(process)
	end = func() {
		closed()
		kill()
		os.RemoveAll(dir)
	}
	err = chromedp.Do(ctx)
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("%s: %w", program, err)
	}
	return ctx, end, nil
}
