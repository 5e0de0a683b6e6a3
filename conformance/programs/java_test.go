//go:build foreign

package programs

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/servertest"
	"mandate/testkit"
)

// spring and quarkus build and run a website of a folder of testdata.
func spring(t *testing.T, pom string) *exec.Cmd {
	t.Helper()
	return inJava(
		t,
		"spring",
		pom,
		filepath.Join("target", "program-1.jar"),
	) // its port comes from a variable of Spring Boot
}

func quarkus(t *testing.T, _ *site) *exec.Cmd {
	t.Helper()
	return inJava(t, "quarkus", "pom.xml", filepath.Join("target", "quarkus-app", "quarkus-run.jar"))
}

func inJava(t *testing.T, folder, pom, jar string) *exec.Cmd {
	t.Helper()
	maven, java := testkit.Program(t, "mvn", "maven"), testkit.Program(t, "java", "default-jdk-headless")
	files := []string{pom, "Site.java", "application.properties"}
	dir := installed(t, folder, files, func(dir string) *exec.Cmd {
		for from, to := range map[string]string{"Site.java": "src/main/java/site/",
			"application.properties": "src/main/resources/"} {
			to = filepath.Join(dir, to)
			err := os.MkdirAll(to, 0o700)
			if err == nil {
				err = os.Rename(filepath.Join(dir, from), filepath.Join(to, from))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return exec.Command(maven, "--batch-mode", "--quiet", "--file", filepath.Join(dir, pom), "package")
	})
	return exec.Command(java, "-jar", filepath.Join(dir, jar))
}

func springVersion(pom string) func(*testing.T) string {
	return func(t *testing.T) string {
		return versionIn(t, filepath.Join("spring", pom), "spring-boot-starter-parent</artifactId>\n    <version>", "<")
	}
}

// debianVersion returns the upstream version of a package of Debian that is installed.
func debianVersion(name string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		out, err := exec.Command("dpkg-query", "--show", "--showformat", "${Version}", name).Output()
		if err != nil {
			testkit.Missing(t, "apt-get install "+name)
		}
		version, _, _ := strings.Cut(string(out), "-")
		return version
	}
}

// apache protects a page with the lines of mod_auth_openidc's documentation. The page shows the headers that it adds.
func apache(t *testing.T, s *site) *exec.Cmd {
	t.Helper()
	const modules = "/usr/lib/apache2/modules"
	_, err := os.Stat(filepath.Join(modules, "mod_auth_openidc.so"))
	if err != nil {
		testkit.Missing(t, "apt-get install apache2-bin libapache2-mod-auth-openidc")
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(person{r.Header.Get("OIDC_CLAIM_name"), r.Header.Get("OIDC_CLAIM_email"),
			strings.Split(r.Header.Get("OIDC_CLAIM_groups"), ",")})
	}))
	t.Cleanup(page.Close)
	var lines []string
	for _, name := range []string{"mpm_event", "authn_core", "authz_core", "authz_user", "proxy", "proxy_http",
		"auth_openidc"} {
		lines = append(lines, "LoadModule "+name+"_module "+modules+"/mod_"+name+".so")
	}
	lines = append(lines, "ServerName 127.0.0.1", "Listen "+s.address, "ServerRoot "+s.folder,
		"DefaultRuntimeDir "+s.folder, "PidFile "+s.folder+"/pid",
		"ErrorLog /dev/stderr", "User #65534", "Group #65534",
		"OIDCProviderMetadataURL "+s.server.issuer+"/.well-known/openid-configuration", "OIDCClientID "+s.id,
		"OIDCClientSecret "+s.secret,
		"OIDCRedirectURI "+s.url("/callback"), "OIDCCryptoPassphrase passphrase", `OIDCScope "openid profile email groups"`,
		"<Location />", "AuthType openid-connect", "Require valid-user", "</Location>", "ProxyPass /callback !",
		"ProxyPass / "+page.URL+"/")
	config := filepath.Join(s.folder, "apache2.conf")
	err = os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/sbin/apache2", "-X", "-f", config)
	cmd.Env = servertest.Environment()
	return cmd
}
