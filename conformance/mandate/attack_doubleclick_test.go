package mandate

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// pressed is the result of pressing the approval button repeatedly after the page got
// the focus.
type pressed struct {
	Presses  int
	Millis   float64 // the time until the button was enabled
	Focus    bool    // the button still has the focus
	Said, At string
}

// A page of another site covers the consent page, or leads to it between the two clicks
// of a double click. The second click would then approve a page that nobody has read.
func TestAttackDoubleClickAllows(t *testing.T) {
	attack(t, "clickjacking by double click (CWE-1021)", "")
	browser := chromium(t)
	s := startServer(t, options{})
	alice := s.person(t, "alice")
	client := newSite(t, "http", "127.0.0.1")
	app := s.application(t, "--name", "Holiday Planner", "--client-type", "public", "--grant", "authorization_code",
		"--redirect-uri", client.URL+"/back")
	asks := func(b *tab) {
		b.open(first(s.authorizeURL(app, "scope", "read")))
	}
	b := s.window(t, browser, client.Host)
	asks(b)
	b.logIn(alice)

	// RFC 9700 §4.16: a click that was meant for another page approves nothing.
	t.Run("the button waits for half a second of focus", func(t *testing.T) {
		b := b.in(t)
		b.expect(200, "Allow access to your account?")
		got := evaluate[pressed](b, `new Promise(done => {
			const button = document.querySelector("[value=approve]"), got = {Presses: 0, Said: ""};
			button.focus();
			dispatchEvent(new Event("blur"));
			dispatchEvent(new Event("focus"));
			const from = performance.now();
			const press = () => {
				if (!button.hasAttribute("aria-disabled")) {
					done({...got, Millis: performance.now() - from, Focus: document.activeElement === button, At: location.href});
					return;
				}
				if (performance.now() - from < 490) { // a later press may count, before a busy browser draws the button as enabled
					got.Presses++;
					button.click();
					got.Said = document.querySelector("[role=status]").innerText;
				}
				requestAnimationFrame(press);
			};
			press();
		})`)
		if got.Presses == 0 || got.Millis < 500 || !got.Focus || got.Said != "This button works half a second after you "+
			"come to the page. Press it again." || got.At != b.URL().String() {
			t.Errorf("got %+v", got)
		}
		if said := evaluate[string](b, `document.querySelector("[role=status]").innerText`); said != "" {
			t.Errorf("the button can be used, and the page says %q", said)
		}
	})

	t.Run("it waits again where the page was out of sight", func(t *testing.T) {
		b := b.in(t)
		for what, leave := range map[string]string{
			"the focus is lost":  `dispatchEvent(new Event("blur"))`,
			"the page is hidden": `Object.defineProperty(document, "visibilityState", {value: "hidden", configurable: true}), document.dispatchEvent(new Event("visibilitychange")), delete document.visibilityState`,
		} {
			b.find("button", "Allow") // it waits until the button is enabled
			off := evaluate[bool](b,
				`(`+leave+
					`, document.querySelector("[value=approve]").click(), document.querySelector("[value=approve]").ariaDisabled === "true")`)
			if !off {
				t.Errorf("%s: the button can be used", what)
			}
			evaluate[chromedp.Void](b, `dispatchEvent(new Event("focus"))`)
		}
		b.expect(200, "Allow access to your account?")
	})

	t.Run("then it takes the mouse and the keyboard", func(t *testing.T) {
		b := b.in(t)
		b.press("Allow")
		b.expect(200, "Back at the client")
		asks(b)
		b.find("button", "Allow")
		evaluate[chromedp.Void](b, `document.querySelector("[value=approve]").focus()`)
		b.leave(chromedp.KeyEvent("\r"))
		b.expect(200, "Back at the client")
		if !b.URL().Query().Has("code") {
			t.Errorf("the browser is at %s", b.URL())
		}
	})

	t.Run("without a script the form works at once", func(t *testing.T) {
		b := b.in(t)
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		asks(b)
		allow := b.all("button", "Allow")
		if len(allow) != 1 || b.off(allow[0]) {
			t.Fatal("the button cannot be used")
		}
		b.leave(b.click(allow[0].BackendDOMNodeID))
		b.expect(200, "Back at the client")
		if !b.URL().Query().Has("code") {
			t.Errorf("the browser is at %s", b.URL())
		}
	})
}
