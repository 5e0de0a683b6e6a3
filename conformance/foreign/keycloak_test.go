//go:build foreign

package foreign

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"mandate/conformance/servertest"
	"mandate/testkit"
	"mandate/testkit/port"
)

// The distribution of Keycloak for which testdata/keycloak.yaml holds.
const (
	keycloakVersion = "26.4.7"
	keycloakSHA256  = "aca60ab72ae4d67adc6b8fe7fca5e08d16a6bb5e4a4f2ebb54050e3f5503fd2b"
)

func TestKeycloak(t *testing.T) {
	k := startKeycloak(t)
	t.Run("Script", func(t *testing.T) { checkServer(t, "keycloak", k.scripted) })
	t.Run("Register", func(t *testing.T) { checkServer(t, "keycloak-register", k.registered) })
}

// startKeycloak runs Keycloak with a database of its own, and the realm of testdata.
func startKeycloak(t *testing.T) *keycloak {
	k := &keycloak{java: javaProgram(t), dir: installKeycloak(t), url: "http://" + port.Address(),
		password: "pw " + rand.Text()}
	imported := filepath.Join(k.dir, "data", "import")
	err := os.CopyFS(imported, os.DirFS(filepath.Join("testdata", "keycloak")))
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(k.url)
	if err != nil {
		t.Fatal(err)
	}
	admin := rand.Text()
	cmd := k.program("kc.sh", "start-dev", "--http-host="+address.Hostname(), "--http-port="+address.Port(),
		"--import-realm")
	cmd.Env = append(cmd.Env, "JAVA_OPTS_KC_HEAP=-Xms64m -Xmx512m", "PERSON_PASSWORD="+k.password,
		"KC_BOOTSTRAP_ADMIN_USERNAME=admin", "KC_BOOTSTRAP_ADMIN_PASSWORD="+admin)
	serve(t, cmd, k.issuer()+"/.well-known/openid-configuration")
	k.admin(t, "config", "credentials", "--server", k.url, "--realm", "master", "--user", "admin", "--password", admin)
	// Everybody has two roles of the administration API. A token has the second one only if its request had the scope
	// phone: the realm says so.
	k.admin(t, "add-roles", "-r", realmName, "--rname", "default-roles-"+realmName, "--cclientid", "realm-management",
		"--rolename", "query-users", "--rolename", "view-clients")
	return k
}

var javaVersion = regexp.MustCompile(`version "(\d+)`)

// javaProgram returns the path of a Java that Keycloak accepts.
func javaProgram(t *testing.T) string {
	t.Helper()
	const packages = "openjdk-17-jre-headless"
	path := testkit.Program(t, "java", packages)
	out, err := exec.Command(path, "-version").CombinedOutput()
	found := javaVersion.FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("java -version: %v\n%s", err, out)
	}
	version, _ := strconv.Atoi(string(found[1]))
	if version < 17 {
		testkit.Missing(t, "Keycloak needs Java 17 or later, java is "+string(found[1])+": apt-get install "+packages)
	}
	return path
}

// installKeycloak unpacks the distribution in a folder of the test. Maven downloads it once, from the repository that
// its settings name, to a folder that outlasts the test.
func installKeycloak(t *testing.T) string {
	t.Helper()
	maven, tar := testkit.Program(t, "mvn", "maven"), testkit.Program(t, "tar", "tar")
	repository := filepath.Join(servertest.Cached(t, "keycloak"), "maven")
	name := "keycloak-quarkus-dist"
	archive := filepath.Join(repository, "org", "keycloak", name, keycloakVersion, name+"-"+keycloakVersion+".tar.gz")
	_, err := os.Stat(archive)
	if err != nil {
		run(t, t.TempDir(), maven, "--batch-mode", "--quiet", "-Dmaven.repo.local="+repository,
			"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get", "-Dtransitive=false",
			"-Dartifact=org.keycloak:"+name+":"+keycloakVersion+":tar.gz")
	}
	if sum := sha256Of(t, archive); sum != keycloakSHA256 {
		t.Fatalf("%s has the SHA-256 %s, want %s: delete it, and run the test again", archive, sum, keycloakSHA256)
	}
	dir := t.TempDir()
	run(t, dir, tar, "-xzf", archive, "--strip-components", "1")
	return dir
}

func sha256Of(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
