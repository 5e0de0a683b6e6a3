package programs

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mandate/conformance/browser"
	"mandate/conformance/servertest"
	"mandate/conformance/wire"
	"mandate/testkit/port"
)

// program is a program of another project, with the settings of its documentation.
type program struct {
	name    string
	version func(*testing.T) string
	// what a person sets beside issuer, identifier, secret and scopes; "" if nothing
	settings string
	grant    string   // "" for authorization_code
	flags    []string // of `mandate application add`, beside name, grant and redirect URI
	// of `mandate application add --for`: it has exactly the settings that this prints
	preset   string
	below    string                                // where its address is below that of the site, with a preset
	redirect string                                // the path of its redirect URI, without a preset
	login    string                                // the path where people begin
	presses  bool                                  // people press a button there
	button   func(page *wire.Answer) *browser.Form // the form of this button, if scripts write it
	secured  bool                                  // it wants https
	shows    person
	foreign  bool   // only `make foreign` tries it
	page     string // what its page shows, if that is no JSON
	refused  string // where it cannot sign anybody in: what Mandate says about it on the page of the application

	start func(t *testing.T, s *site) *exec.Cmd
	// what its page reads by scripts, if it does not show the person itself
	reads func(t *testing.T, s *site, v *visitor) []byte
	also  func(t *testing.T, s *site, v *visitor) // what else alice does
}

// person is what a program knows about the person who has signed in. A program may have no place for some of it.
type person struct {
	Name   string   `json:"name"`
	Email  string   `json:"email"`
	Groups []string `json:"groups"`
}

var (
	complete = person{"Alice Liddell", "alice@example.com", []string{"admins", "staff"}}
	noGroups = person{"Alice Liddell", "alice@example.com", nil}
	noName   = person{"", "alice@example.com", []string{"admins", "staff"}}
)

// site is a running program.
type site struct {
	address, id, secret string
	folder              string // for its data
	query               string // of the path where people begin
	printed             string // the settings that Mandate prints for it
	server              *server
}

func (s *site) url(path string) string { return "http://" + s.address + path }

// fast are the programs that every run of the tests tries.
var fast = []program{
	{
		name: "goth (gothic), the library of Gitea and Forgejo", version: goVersion("goth", "github.com/markbates/goth"),
		redirect: "/auth/openid-connect/callback", login: "/auth/openid-connect", shows: complete,
		start: func(t *testing.T, s *site) *exec.Cmd {
			cmd := exec.Command(fromGo(t, "goth", "."))
			cmd.Env = append(servertest.Environment(), "SESSION_SECRET=a secret of this website")
			return cmd
		},
	},
	{
		name:    "kube-apiserver, its OpenID Connect authenticator behind a client as kubelogin",
		version: goVersion("kubernetes", "k8s.io/apiserver"),
		login:   "/login", secured: true, shows: noName,
		start: func(t *testing.T, _ *site) *exec.Cmd { return exec.Command(fromGo(t, "kubernetes", ".")) },
	},
	{
		name: "Flask with Authlib", version: pythonVersion("python", "authlib"), redirect: "/auth", login: "/login",
		shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "python", "authlib_flask.py") },
	},
	{
		name: "flask-oidc", version: pythonVersion("python", "flask-oidc"), redirect: "/authorize", login: "/",
		shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "python", "flask_oidc_site.py") },
	},
	{
		name: "mozilla-django-oidc", version: pythonVersion("python", "mozilla-django-oidc"), redirect: "/oidc/callback/",
		login: "/", shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inPython(t, "python", "mozilla_django_oidc_site.py") },
	},
	{
		name: "Auth.js (@auth/express)", version: nodeVersion("node", "@auth/express"), redirect: "/auth/callback/mandate",
		login: "/auth/signin", presses: true,
		shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inNode(t, "node", "authjs.mjs") },
	},
	{
		name: "express-openid-connect", version: nodeVersion("node", "express-openid-connect"),
		settings: "`response_type: code`",
		redirect: "/callback", login: "/", shows: complete,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inNode(t, "node", "express-openid-connect.mjs") },
	},
	{
		name: "express-openid-connect without a setting", version: nodeVersion("node", "express-openid-connect"),
		redirect: "/callback", login: "/", refused: "unsupported_response_type",
		start: func(t *testing.T, _ *site) *exec.Cmd {
			cmd := inNode(t, "node", "express-openid-connect.mjs")
			cmd.Env = append(cmd.Env, "DEFAULTS=true")
			return cmd
		},
	},
	{
		name: "passport-openidconnect", version: nodeVersion("node", "passport-openidconnect"), redirect: "/oauth2/redirect",
		login: "/login", shows: noGroups,
		start: func(t *testing.T, _ *site) *exec.Cmd { return inNode(t, "node", "passport.mjs") },
	},
	oauth2Proxy,
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, p := range fast {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.try(t)
		})
	}
}

// try runs the program, signs alice in, and records that.
func (p program) try(t *testing.T) {
	t.Helper()
	p.signsIn(t)
	p.record(t)
}

// signsIn runs the program, and signs alice in.
func (p program) signsIn(t *testing.T) {
	t.Helper()
	s := p.run(t)
	v := newVisitor(t, s.server)
	p.signIn(t, s, v)
	if p.refused != "" {
		s.wantReason(t, p.refused)
		return
	}
	p.wantShown(t, s, v)
	if p.also != nil {
		p.also(t, s, v)
	}
	// Who is signed in at Mandate, and has agreed, is asked nothing.
	again := newVisitor(t, s.server)
	again.signInAtMandate(t)
	p.signIn(t, s, again)
	p.wantShown(t, s, again)
	if len(again.asked) > 0 {
		t.Errorf("at the second login Mandate asks for %v", again.asked)
	}
	if p.preset != "" {
		p.wantVerified(t)
	}
}

// run registers the program, and starts it.
func (p program) run(t *testing.T) *site {
	t.Helper()
	s := &site{address: port.Address(), folder: t.TempDir(), server: startServer(t, p.secured)}
	if p.preset != "" {
		s.registerFor(t, p.preset, p.below)
	} else {
		s.id, s.secret = s.server.register(t, p, s.url(p.redirect))
	}
	cmd := p.start(t, s)
	if cmd.Env == nil {
		cmd.Env = servertest.Environment()
	}
	cmd.Env = append(cmd.Env, "ADDRESS="+s.address, "ISSUER="+s.server.issuer, "CLIENT_ID="+s.id,
		"CLIENT_SECRET="+s.secret, "FOLDER="+s.folder,
		"SERVER_ADDRESS=127.0.0.1", "SERVER_PORT="+s.address[strings.LastIndex(s.address, ":")+1:]) // those of Spring Boot
	if p.secured {
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+s.server.ca)
	}
	servertest.Serve(t, cmd, s.server.client, s.url(cmp.Or(p.ready(), p.login)),
		func(status int) bool { return status < http.StatusInternalServerError })
	return s
}

// ready returns the path that shows that the program is ready, if it is not that of the login.
func (p program) ready() string {
	if p.secured {
		return "/healthz"
	}
	return ""
}

// signIn goes to the program, and answers what Mandate asks.
func (p program) signIn(t *testing.T, s *site, v *visitor) {
	t.Helper()
	v.visit(t, s.url(p.login)+s.query)
	if !p.presses {
		return
	}
	v.check(t, v.Submit(p.form(t, v.Page)))
	v.answer(t)
}

// form returns the form whose button people press.
func (p program) form(t *testing.T, at *wire.Answer) *browser.Form {
	t.Helper()
	if p.button != nil {
		return p.button(at)
	}
	page := browser.Parse(at)
	if len(page.Forms) == 0 {
		t.Fatalf("the page has no button: %s %s", at, at.Body)
	}
	form := page.Forms[0]
	form.Press(form.First())
	return form
}

// wantReason waits until Mandate shows on the page of the application why its request was refused.
func (s *site) wantReason(t *testing.T, reason string) {
	t.Helper()
	var shown string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		shown = s.server.cli(t, "", "application", "show", s.id)
		if strings.Contains(shown, reason) {
			return
		}
	}
	t.Errorf("Mandate does not say why, %q:\n%s", reason, shown)
}

// wantShown asserts that the program shows alice.
func (p program) wantShown(t *testing.T, s *site, v *visitor) {
	t.Helper()
	if p.page != "" {
		if page := browser.Parse(v.Page); v.Page.Status != http.StatusOK || !strings.Contains(string(v.Page.Body), p.page) {
			t.Errorf("the page does not show %q: %s at %s: %s", p.page, v.Page, v.Page.URL, page.Text)
		}
		return
	}
	shown := v.Page.Body
	if p.reads != nil {
		shown = p.reads(t, s, v)
	}
	var got person
	err := json.Unmarshal(shown, &got)
	if err != nil {
		t.Fatalf("the program shows no person, but %s at %s: %s", v.Page, v.Page.URL, shown)
	}
	slices.Sort(got.Groups)
	if len(got.Groups) == 0 {
		got.Groups = nil
	}
	if diff := gocmp.Diff(p.shows, got); diff != "" {
		t.Errorf("the program does not show what Mandate knows (-want +got):\n%s%s", diff, shown)
	}
}
