package mandate

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mandate/provider/passkey/passkeytest"
)

// The sign-in as a state machine: what a browser may reach by password, authenticator app, recovery code,
// passkey and another server, in any order, with wrong and old answers in between. Random walks compare
// the server with a model that knows only the rules. After each step, a browser has a session exactly
// where the model says so, with its acr and amr, and its earlier cookie is worth nothing.
//
// MANDATE_TEST_WALKS is the number of walks on each database. A failed walk prints its steps.
func TestAttackFactorModel(t *testing.T) {
	attack(t, "second factor bypassed by an order of steps that nobody thought of",
		"CVE-2025-64103, CVE-2026-105211 (zitadel)")
	walks := 6
	if n, err := strconv.Atoi(os.Getenv("MANDATE_TEST_WALKS")); err == nil {
		walks = n
	}
	onADatabase(t, func(t *testing.T, db database) {
		c := newCompany(t, "company")
		s := startServer(t, options{database: db, host: "localhost", provider: []string{"OIDC_ENABLED: true", openidScopes},
			settings: []string{privateNetworks, "SIGN_IN_SERVERS: [" + c.setting("") + "]"}})
		c.start(t, s)
		shop := s.relyingParty(t, "--skip-consent")
		for n := range walks {
			if t.Failed() {
				break
			}
			if n%6 == 5 { // the server counts wrong answers of a network, until it ends
				s.stop(t)
				s.start(t)
			}
			w := &walk{T: t, server: s, company: c, shop: shop, random: rand.New(rand.NewPCG(20261125, uint64(n)))}
			w.begin(n)
			if n%2 > 0 { // half of the people have every factor at first
				for _, name := range []string{"password", "add an app", "new recovery codes", "add a passkey"} {
					w.does(w.tabs[0], w.named(name))
				}
			}
			for range 50 {
				w.step()
			}
		}
	})
}

// walk is one person, and what the model knows about the person and their browsers.
type walk struct {
	*testing.T
	*server
	company *company
	shop    application
	random  *rand.Rand
	trace   []string

	person  person
	version int  // of the password
	linked  bool // to the account at the company
	app     *authenticator
	code    string // the last one that was accepted, as long as no later one may be used
	codes   []string
	keys    []heldKey
	spent   string   // a recovery code that was used
	dead    struct { // what the person had
		app  *authenticator
		keys []heldKey
	}
	wrong map[string]int // wrong answers so far: the server limits them

	tabs    []*walker
	mallory *walker // of another person, who has an authenticator app too, and stops at the second step
}

// walker is a browser, and what the model knows about it.
type walker struct {
	*browser
	session string // the methods of the login; empty: nobody is signed in
	stale   bool   // the sign-in is too long ago for a change of factors
	cookie  string
	ticket  string // the methods of the first step of a sign-in
	version int    // the password at that step
}

// begun reports whether somebody has begun a sign-in in a browser, or is signed in.
func (b *walker) begun() bool { return b.ticket != "" || b.session != "" }

// heldKey is a passkey, and the path of its page.
type heldKey struct {
	*passkeytest.Authenticator
	path string
}

func (w *walk) begin(n int) {
	w.Helper()
	w.wrong = map[string]int{}
	w.person = w.server.person(w.T, fmt.Sprint("alice", n))
	for range 2 {
		w.tabs = append(w.tabs, &walker{browser: w.browser(w.T)})
	}
	// The person has an account at the company.
	w.company.person(w.T, w.person.Name, map[string]any{})
	w.signedIn(w.T, w.person).addsAccountOf(w.T, w.company, w.person.Name)
	w.linked = true
	other := w.server.person(w.T, fmt.Sprint("mallory", n))
	w.withApp(w.T, other)
	w.mallory = &walker{browser: w.browser(w.T)}
	w.mallory.open(w.T, "/login/?next=%2Faccount%2F")
	w.mallory.logIn(w.T, other)
	w.mallory.awaitsCode(w.T, "mallory")
}

func (w *walk) step() {
	w.Helper()
	b := w.tabs[w.random.IntN(len(w.tabs))]
	var may []walkStep
	for _, one := range w.steps() {
		may = append(may, slices.Repeat([]walkStep{one}, one.often(b))...)
	}
	w.does(b, may[w.random.IntN(len(may))])
}

// does does a step in a browser, and compares what came of it with the model.
func (w *walk) does(b *walker, one walkStep) {
	w.Helper()
	if w.Failed() {
		return
	}
	w.trace = append(w.trace, fmt.Sprintf("%d %s", slices.Index(w.tabs, b), one.name))
	one.do(b)
	for _, b := range w.tabs {
		w.compare(b)
	}
	if w.Failed() {
		w.Logf("the walk of %s: %s", w.person.Name, strings.Join(w.trace, ", "))
	}
}

// compare checks that a browser has reached what the model says.
func (w *walk) compare(b *walker) {
	w.Helper()
	at := w.trace[len(w.trace)-1]
	if in := b.isSignedIn(w.T); in != (b.session != "") {
		w.Errorf("%s: signed in: %t, want the login %q", at, in, b.session)
		return
	}
	if b.session == "" {
		return
	}
	if !strings.Contains(b.Body, "<bdi>"+w.person.Name+"</bdi>") {
		w.Errorf("%s: somebody else is signed in", at)
	}
	cookie := b.browser.cookie(w.T, "/", "mandate_session")
	if cookie == b.cookie {
		return
	}
	if old := b.cookie; old != "" {
		if a := w.get(w.T, "/account/", withCookie("mandate_session", old)); a.Status != http.StatusSeeOther {
			w.Errorf("%s: the cookie of before: %d", at, a.Status)
		}
	}
	b.cookie = cookie
	address, verifier := w.authorizeURL(w.shop, "scope", "openid", "prompt", "none", "state", "s&1")
	b.open(w.T, address)
	got := w.redeem(w.T, w.shop, b.sentBack(w.T, at, "code").Get("code"), verifier)
	if claims, want := w.verified(w.T, w.shop, "RS256", got.IDToken), modelACR(b.session); acrOf(claims) != want {
		w.Errorf("%s: the ID token says %s, want %s", at, acrOf(claims), want)
	}
}

// modelACR is what the ID token says about a login.
func modelACR(login string) string {
	value := "urn:mandate:acr:password"
	words := strings.Fields(login)
	switch {
	case slices.Contains(words, "pop"):
		value = "urn:mandate:acr:passkey"
	case slices.Contains(words, "otp"):
		value = mfa
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "elsewhere" })
	if twoFactors(login) {
		words = append(words, "mfa")
	}
	if len(words) == 0 {
		return value + " <nil>"
	}
	return fmt.Sprint(value, " ", words)
}

func twoFactors(login string) bool { return login != "pwd" && login != "elsewhere" }

func adds(login string, words ...string) string {
	for _, word := range words {
		if !slices.Contains(strings.Fields(login), word) {
			login = strings.TrimSpace(login + " " + word)
		}
	}
	return login
}

func (w *walk) hasFactor() bool { return w.app != nil || len(w.keys) > 0 }

// waits reports whether a browser waits for the second step of a sign-in.
func (w *walk) waits(b *walker) bool {
	return b.ticket != "" && b.version == w.version && w.hasFactor()
}

// fresh reports whether the person may change factors in a browser.
func (w *walk) fresh(b *walker) bool {
	return b.session != "" && !b.stale && (!w.hasFactor() || twoFactors(b.session))
}

// first is the first step of a sign-in.
func (w *walk) first(b *walker, login string) {
	if w.hasFactor() {
		b.ticket, b.version = login, w.version
		return
	}
	w.signs(b, login)
}

// signs begins a session. The company says that the login there is a new one.
func (w *walk) signs(b *walker, login string) { b.session, b.ticket, b.stale = login, "", false }

// second is a second factor, and reports whether the server looks at it.
func (w *walk) second(b *walker, words ...string) bool {
	switch {
	case w.waits(b):
		w.signs(b, adds(b.ticket, words...))
	case b.session != "":
		b.session = adds(b.session, words...)
	default:
		return false
	}
	return true
}

// guess sends a wrong answer, unless the server has seen so many that it would count them.
func (w *walk) guess(b *walker, by, code string) {
	if w.wrong["factor"]++; code == "" || w.wrong["factor"] > 6 {
		return
	}
	b.answersHere(w.T, by, code)
	w.wasRefused(b, "the answer "+code+" by "+by)
}

// wasRefused fails unless the page of the second factor refuses what was shown. Without a first step, or
// without a factor, there is no such page.
func (w *walk) wasRefused(b *walker, what string) {
	if w.hasFactor() && (w.waits(b) || b.session != "") && b.Status != http.StatusUnprocessableEntity {
		w.Errorf("%s: %d %s", what, b.Status, b.URL)
	}
}

// answersHere answers the page of the second factor, wherever the browser is.
func (b *walker) answersHere(t testing.TB, by, code string) {
	t.Helper()
	b.send(t, "/login/factor/", params("by", by, "code", code, "next", "/account/"))
}

// shows answers the page of the second factor by a passkey, and reports whether the page asks for one.
func (b *walker) showsKey(t testing.TB, k *passkeytest.Authenticator) bool {
	t.Helper()
	b.open(t, "/login/factor/?next=%2Faccount%2F&acr=urn%3Amandate%3Aacr%3Apasskey")
	if !strings.Contains(b.Body, `data-passkey="step"`) {
		return false
	}
	options, form := b.asked(t, b.URL.RequestURI())
	form.Set("response", k.Get(options))
	k.Counter++
	b.send(t, "/login/factor/", form)
	return true
}

func (b *walker) signsByKey(t testing.TB, k *passkeytest.Authenticator) {
	t.Helper()
	options, form := b.asked(t, "/login/?next=%2Faccount%2F")
	form.Set("response", k.Get(options))
	k.Counter++
	b.send(t, "/login/passkey/", form)
}

// nextStep lets the present code be used, as after half a minute.
func (w *walk) nextStep() {
	w.newStep(w.T)
	w.code = ""
}

// walkStep is what a person or an attacker does in a browser. often is its weight among all steps; 0: it
// would do nothing now.
type walkStep struct {
	name  string
	often func(*walker) int
	do    func(*walker)
}

// times returns a weight that depends on a condition.
func times(n int, when bool) int {
	if when {
		return n
	}
	return 0
}

func (w *walk) steps() []walkStep {
	return slices.Concat(w.firstSteps(), w.secondSteps(), w.wrongSteps(), w.factorSteps(), w.otherSteps())
}

func (w *walk) named(name string) walkStep {
	steps := w.steps()
	return steps[slices.IndexFunc(steps, func(s walkStep) bool { return s.name == name })]
}

// firstSteps begin a sign-in.
func (w *walk) firstSteps() []walkStep {
	return []walkStep{
		{"password", func(*walker) int { return 6 }, func(b *walker) {
			b.send(w.T, "/login/", params("username", w.person.Name, "password", w.person.Password, "next", "/account/"))
			w.first(b, "pwd")
		}},
		{"the company", func(*walker) int { return 2 }, func(b *walker) {
			b.signInWith(w.T, w.company, w.person.Name, "/login/?next=%2Faccount%2F")
			if w.linked {
				w.first(b, "elsewhere")
			}
		}},
		{"passkey alone", func(*walker) int { return times(4, len(w.keys) > 0) }, func(b *walker) {
			if len(w.keys) > 0 {
				b.signsByKey(w.T, w.keys[0].Authenticator)
				w.signs(b, "pop user")
			}
		}},
	}
}

// secondSteps show a second factor, or one that was used already.
func (w *walk) secondSteps() []walkStep {
	return []walkStep{
		{"code", func(b *walker) int { return times(12, w.app != nil && b.begun()) }, func(b *walker) {
			if w.app == nil {
				return
			}
			w.nextStep()
			code := w.app.code(0)
			b.answersHere(w.T, "totp", code)
			if w.second(b, "otp") {
				w.code = code
			}
		}},
		{"recovery code", func(b *walker) int { return times(6, len(w.codes) > 0 && b.begun()) }, func(b *walker) {
			if len(w.codes) == 0 {
				return
			}
			b.answersHere(w.T, "recovery", w.codes[0])
			if w.second(b, "otp") {
				w.spent, w.codes = w.codes[0], w.codes[1:]
			}
		}},
		{"the same code again", func(b *walker) int { return times(6, w.code != "" && b.begun()) },
			func(b *walker) { w.guess(b, "totp", w.code) }},
		{"the same recovery code again", func(b *walker) int { return times(6, w.spent != "" && b.begun()) },
			func(b *walker) { w.guess(b, "recovery", w.spent) }},
		{"passkey as the second step", func(b *walker) int { return times(8, len(w.keys) > 0 && b.begun()) },
			func(b *walker) {
				if len(w.keys) > 0 && b.showsKey(w.T, w.keys[0].Authenticator) && !w.second(b, "pop", "user") {
					w.Error("a page for nobody asks for a passkey")
				}
			}},
	}
}

// wrongSteps are what must change nothing.
func (w *walk) wrongSteps() []walkStep {
	return []walkStep{
		{"wrong password", func(*walker) int { return times(1, w.wrong["password"] < 6) }, func(b *walker) {
			w.wrong["password"]++
			b.send(w.T, "/login/", params("username", w.person.Name, "password", "not "+w.person.Password, "next", "/account/"))
			checkEqual(w.T, "the status of a wrong password", b.Status, http.StatusUnprocessableEntity)
		}},
		{"wrong code", func(b *walker) int { return times(2, b.begun()) }, func(b *walker) { w.guess(b, "totp", "12345") }},
		{"code of the old app", func(b *walker) int { return times(4, w.dead.app != nil && b.begun()) }, func(b *walker) {
			if old := w.dead.app; old != nil {
				w.guess(b, "totp", old.code(0))
			}
		}},
		{"passkey alone, without verification", func(*walker) int { return times(2, len(w.keys) > 0) }, func(b *walker) {
			if len(w.keys) > 0 {
				lazy := w.keys[0].Copy()
				lazy.Unverified = true
				b.signsByKey(w.T, lazy)
			}
		}},
		{"removed passkey", func(*walker) int { return times(2, len(w.dead.keys) > 0) }, func(b *walker) {
			if len(w.dead.keys) > 0 {
				b.signsByKey(w.T, w.dead.keys[0].Authenticator)
				b.showsKey(w.T, w.dead.keys[0].Authenticator)
			}
		}},
		{"passkey as the second step, without verification",
			func(b *walker) int { return times(2, len(w.keys) > 0 && b.begun()) }, func(b *walker) {
				if len(w.keys) > 0 {
					lazy := w.keys[0].Copy()
					lazy.Unverified = true
					if b.showsKey(w.T, lazy) {
						w.wasRefused(b, "a passkey that did not verify the person")
					}
				}
			}},
		{"mallory shows what is alice's", func(*walker) int { return times(2, w.hasFactor()) }, func(*walker) {
			m := w.mallory
			if w.app != nil && w.wrong["mallory"] < 6 {
				w.nextStep()
				w.wrong["mallory"]++
				m.answersHere(w.T, "totp", w.app.code(0))
			}
			if len(w.codes) > 0 && w.wrong["mallory"] < 6 {
				w.wrong["mallory"]++
				m.answersHere(w.T, "recovery", w.codes[0])
			}
			for _, k := range w.keys {
				options, form := m.asked(w.T, "/login/?next=%2Faccount%2F")
				form.Set("by", "passkey")
				form.Set("response", k.Copy().Get(options))
				m.send(w.T, "/login/factor/", form)
			}
			if m.isSignedIn(w.T) {
				w.Error("mallory is signed in")
			}
		}},
	}
}

// factorSteps change how the person signs in.
func (w *walk) factorSteps() []walkStep {
	return []walkStep{
		{"add an app", func(b *walker) int { return times(12, b.session != "" && w.app == nil) }, func(b *walker) {
			b.open(w.T, "/account/factors/totp/")
			shown, may := shownKey.MatchString(b.Body), w.fresh(b) && w.app == nil
			if shown != may {
				w.Errorf("the page of a new app is shown: %t, want %t: %s", shown, may, b.URL)
				return
			}
			if may {
				app := b.addsApp(w.T)
				w.app, w.code, b.session = &app, "", adds(b.session, "otp")
			}
		}},
		{"add an app too late", func(b *walker) int { return times(2, w.fresh(b) && w.app == nil) }, func(b *walker) {
			b.open(w.T, "/account/factors/totp/")
			if !shownKey.MatchString(b.Body) {
				return
			}
			w.ages()
			form := b.forms()[slices.IndexFunc(b.forms(), func(f form) bool { return f.has("secret") })].values()
			form.Set("code", appOf(w.T, b.browser).code(0))
			b.send(w.T, "/account/factors/totp/", form)
		}},
		{"remove the app", func(b *walker) int { return times(4, b.session != "" && w.app != nil) }, func(b *walker) {
			b.send(w.T, "/account/factors/totp/remove/", url.Values{})
			if w.fresh(b) && w.app != nil {
				w.dead.app, w.app = w.app, nil
				w.losesCodes()
			}
		}},
		{"new recovery codes", func(b *walker) int { return times(4, b.session != "") }, func(b *walker) {
			b.send(w.T, "/account/factors/codes/", url.Values{})
			if w.fresh(b) && w.hasFactor() {
				w.codes = nil
				for _, found := range shownCode.FindAllStringSubmatch(b.Body, -1) {
					w.codes = append(w.codes, w.secret(found[1]))
				}
			}
			if n := len(shownCode.FindAllString(b.Body, -1)); (n > 0) != (w.fresh(b) && w.hasFactor()) {
				w.Errorf("%d recovery codes are shown", n)
			}
		}},
		{"add a passkey", func(b *walker) int { return times(4, b.session != "" && len(w.keys) < 2) }, func(b *walker) {
			if len(w.keys) == 2 {
				return
			}
			if !w.fresh(b) {
				b.open(w.T, "/account/passkeys/new/")
				if strings.Contains(b.Body, `data-passkey="create"`) {
					w.Error("a stale session gets a request for a new passkey")
				}
				return
			}
			key := b.newPasskey(w.T)
			w.keys = append(w.keys, heldKey{key, b.URL.Path})
			b.session = adds(b.session, "pop", "user")
		}},
		{"remove a passkey", func(b *walker) int { return times(2, b.session != "" && len(w.keys) > 0) }, func(b *walker) {
			if len(w.keys) == 0 {
				return
			}
			b.send(w.T, w.keys[0].path+"remove/", url.Values{})
			if w.fresh(b) {
				w.dead.keys, w.keys = append(w.dead.keys, w.keys[0]), w.keys[1:]
				w.losesCodes()
			}
		}},
	}
}

// otherSteps are everything else.
func (w *walk) otherSteps() []walkStep {
	return []walkStep{
		{"sign out", func(b *walker) int { return times(6, b.session != "") }, func(b *walker) {
			b.send(w.T, "/logout/", nil)
			b.session = ""
		}},
		{"five minutes later", func(b *walker) int { return times(1, b.session != "") }, func(*walker) { w.ages() }},
		{"another password", func(b *walker) int { return 1 + times(3, w.waits(b)) }, func(*walker) {
			w.version++
			w.person.Password = w.secret(fmt.Sprintf("pw %s %d", w.person.Password, w.version))
			w.mustCLI(w.T, w.person.Password+"\n", "user", "passwd", w.person.Name, "--password-stdin")
			w.ends()
		}},
		{"the operator removes the factors", func(*walker) int { return times(1, w.hasFactor()) }, func(*walker) {
			w.mustCLI(w.T, "", "user", "reset-factors", w.person.Name)
			if w.app != nil {
				w.dead.app = w.app
			}
			// The account at the company may have been added by whoever has the factors.
			w.app, w.dead.keys, w.keys, w.linked = nil, append(w.dead.keys, w.keys...), nil, false
			w.losesCodes()
			w.ends()
		}},
	}
}

// losesCodes: without a second factor there is nothing that recovery codes would replace.
func (w *walk) losesCodes() {
	if !w.hasFactor() {
		w.codes = nil
	}
}

// ends: the person is signed out everywhere.
func (w *walk) ends() {
	for _, b := range w.tabs {
		b.session = ""
	}
}

// ages: every sign-in is longer ago than a change of factors allows.
func (w *walk) ages() {
	w.earlier(w.T, 301)
	for _, b := range w.tabs {
		b.stale = true
	}
}
