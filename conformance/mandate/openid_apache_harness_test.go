package mandate

import (
	crand "crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mandate/testkit"
	"mandate/testkit/port"
)

// Debian's Apache with libapache2-mod-auth-openidc protects a page: a relying party
// that is configured and not programmed. The page is an upstream that returns the facts
// that Apache sends about the person. So a request that reaches the page was accepted
// by Apache.

const (
	apacheProgram = "/usr/sbin/apache2"
	apacheModules = "/usr/lib/apache2/modules"
)

// apache is one process of Apache, and its application at the server.
type apache struct {
	URL string
	App application

	log     logBuffer
	process *process
}

// apache registers an application with the flags of `application add`, and starts
// Apache with it. A flag's value that begins with a slash is a path of Apache.
// directives are more lines of its configuration.
func (s *server) apache(t testing.TB, flags []string, directives ...string) *apache {
	t.Helper()
	apacheIsInstalled(t)
	listen := port.Address()
	a := &apache{URL: "http://" + listen}
	all := []string{"--name", "page", "--grant", "authorization_code", "--redirect-uri", a.URL + "/callback"}
	for _, flag := range flags {
		if strings.HasPrefix(flag, "/") {
			flag = a.URL + flag
		}
		all = append(all, flag)
	}
	a.App = s.application(t, all...)
	a.start(t, s.apacheConfig(t, a, listen, echo(t), directives))
	return a
}

func apacheIsInstalled(t testing.TB) {
	t.Helper()
	ownProcesses(t)
	for _, path := range []string{apacheProgram, filepath.Join(apacheModules, "mod_auth_openidc.so")} {
		_, err := os.Stat(path)
		if err != nil {
			testkit.Missing(t, "Apache's mod_auth_openidc is not installed: apt-get install apache2-bin "+
				"libapache2-mod-auth-openidc")
		}
	}
}

// echo is the page that Apache protects. It returns its address.
func echo(t testing.TB) string {
	t.Helper()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(r.Header) // the client may have closed the connection
	}))
	t.Cleanup(echo.Close)
	return echo.URL
}

// apacheConfig writes the complete configuration, like Debian's own for a service.
func (s *server) apacheConfig(t testing.TB, a *apache, listen, upstream string, directives []string) string {
	t.Helper()
	dir := t.TempDir()
	lines := apacheService(dir, listen)
	lines = append(lines,
		"OIDCClientID "+a.App.ClientID, "OIDCRedirectURI "+a.App.RedirectURI,
		"OIDCCryptoPassphrase "+s.secret(crand.Text()),
		`OIDCScope "openid profile email"`, "OIDCPKCEMethod S256", "OIDCRemoteUserClaim preferred_username",
		"OIDCPassUserInfoAs claims json",
		"OIDCCookieSameSite On", "OIDCSessionType server-cache", "OIDCCacheType shm",
	)
	if a.App.ClientSecret != "" {
		lines = append(lines, "OIDCClientSecret "+a.App.ClientSecret)
	}
	issuer := func(line string) bool { return strings.HasPrefix(line, "OIDCProviderIssuer ") }
	if !slices.ContainsFunc(directives, issuer) { // then the directives name the endpoints too
		lines = append(lines, "OIDCProviderMetadataURL "+s.BaseURL+"/o/.well-known/openid-configuration")
	}
	lines = append(lines,
		`RequestHeader set X-Remote-User expr=%{REMOTE_USER}`,
		"<Location />", "AuthType openid-connect", "Require valid-user", "</Location>",
		"<Location /alice>", "Require claim preferred_username:alice", "</Location>",
		"ProxyPass /callback !", "ProxyPass / "+upstream+"/",
	)
	return writeApache(t, dir, append(lines, directives...))
}

func writeApache(t testing.TB, dir string, lines []string) string {
	t.Helper()
	path := filepath.Join(dir, "apache2.conf")
	err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// apacheService is the configuration of the service, without its pages.
func apacheService(dir, listen string) []string {
	var lines []string
	for _, name := range []string{"mpm_event", "authn_core", "authz_core", "authz_user", "headers", "proxy", "proxy_http",
		"auth_openidc"} {
		lines = append(lines, "LoadModule "+name+"_module "+filepath.Join(apacheModules, "mod_"+name+".so"))
	}
	return append(lines,
		"ServerName 127.0.0.1", "Listen "+listen, "ServerRoot "+quote(dir), "DefaultRuntimeDir "+quote(dir),
		"PidFile "+quote(filepath.Join(dir, "pid")),
		"ErrorLog /dev/stderr", "LogLevel warn",
		// The module adds a second answer to some of its own pages.
		"KeepAlive Off",
		// User and group are given by number because their names differ. They matter only
		// if the tests run as root; Apache itself does not.
		"User #65534", "Group #65534",
	)
}

// start runs Apache in one process, so that no process is left after it ends.
func (a *apache) start(t testing.TB, config string) {
	t.Helper()
	cmd := exec.Command(apacheProgram, "-X", "-f", config)
	cmd.Dir = filepath.Dir(config)
	var err error
	a.process, err = launch(cmd, &a.log)
	if err != nil {
		t.Fatalf("start Apache: %v", err)
	}
	t.Cleanup(func() {
		a.stop(t)
		if t.Failed() {
			t.Logf("log of Apache at %s:\n%s", a.URL, a.log.String())
		}
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	waitFor(t, "Apache answers at "+a.URL, func() bool {
		if !a.process.running() {
			t.Fatalf("Apache ended at once with code %d:\n%s", a.process.cmd.ProcessState.ExitCode(), a.log.String())
		}
		answer, err := client.Get(a.URL + "/callback")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil
	})
}

func (a *apache) stop(t testing.TB) {
	t.Helper()
	_ = a.process.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-a.process.exited:
	case <-time.After(30 * time.Second):
		_ = a.process.cmd.Process.Kill()
		<-a.process.exited
		t.Error("Apache did not end within 30 s of SIGTERM")
	}
}

// visit opens a page of Apache and handles the server's pages until Apache shows a
// page. It signs in and makes the decision if the pages ask.
func (a *apache) visit(t testing.TB, b *browser, path string, who person, decision string) {
	t.Helper()
	b.open(t, a.URL+path)
	a.follow(t, b)
	if b.shows("password") {
		b.logIn(t, who)
		a.follow(t, b)
	}
	if b.shows("decision") {
		b.decide(t, decision)
		a.follow(t, b)
	}
}

// follow follows redirects to Apache, and submits the forms that submit themselves by
// script.
func (a *apache) follow(t testing.TB, b *browser) {
	t.Helper()
	for range 10 {
		switch {
		case b.Away != nil && a.serves(b.Away.String()):
			b.open(t, b.Away.String())
		case b.Away == nil && a.sendsItself(b):
			b.submit(t, "", nil)
		default:
			return
		}
	}
	t.Fatalf("the browser is sent in circles: %v", b.Hops)
}

func (a *apache) serves(address string) bool { return strings.HasPrefix(address, a.URL+"/") }

// sendsItself reports whether a script submits the page's form from one site to the
// other: a response by OIDC Form Post §2, or a request by OIDC Core §3.1.2.1.
func (a *apache) sendsItself(b *browser) bool {
	forms := b.forms()
	if len(forms) != 1 {
		return false
	}
	target := attribute(forms[0].node, "action")
	b.server.secret(forms[0].values().Get("code"))
	return a.serves(target) || a.serves(b.URL.String()) && strings.HasPrefix(target, b.server.BaseURL+"/o/authorize/")
}

// told returns the facts about the person that Apache sends to the page, or nil if the
// browser shows another page.
func (a *apache) told(b *browser) http.Header {
	if b.Status != http.StatusOK || b.Away != nil || !a.serves(b.URL.String()) {
		return nil
	}
	var header http.Header
	_ = json.Unmarshal([]byte(b.Body), &header) // nil then
	return header
}
