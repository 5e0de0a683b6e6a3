//go:build foreign

package foreign

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mandate/conformance/need"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit"
)

// The distribution of Keycloak for which testdata/keycloak.yaml holds.
const (
	keycloakVersion = "26.4.7"
	keycloakSHA256  = "aca60ab72ae4d67adc6b8fe7fca5e08d16a6bb5e4a4f2ebb54050e3f5503fd2b"
)

func TestKeycloak(t *testing.T) { checkServer(t, "keycloak", startKeycloak) }

// startKeycloak runs Keycloak with a database of its own, and a realm with a person and a client for each role.
func startKeycloak(t *testing.T) *target.Target {
	java := javaProgram(t)
	dir := installKeycloak(t)
	listen := servertest.FreeAddress()
	host, port, _ := strings.Cut(listen, ":")
	k := &keycloak{url: "http://" + listen, password: rand.Text()}
	k.target = &target.Target{Issuer: k.url + "/realms/" + realmName, User: target.User{Username: "alice", Password: "pw " + rand.Text()},
		Scope: "openid profile email", Clients: map[need.Need]*target.Client{}, Backchannel: servertest.FreeAddress(),
		// Its own API: any token with a role of an administrator may read the realm's name, and what else it may read
		// depends on the scope.
		API: target.API{URL: k.admin(), Restricted: k.admin() + "/client-scopes", Scope: apiRole}}
	k.writeRealm(t, filepath.Join(dir, "data", "import", "realm.json"))
	cmd := exec.Command(filepath.Join(dir, "bin", "kc.sh"), "start-dev", "--http-host="+host, "--http-port="+port, "--import-realm")
	cmd.Dir, cmd.Env = dir, append(servertest.Environment(), "JAVA="+java, "JAVA_OPTS_KC_HEAP=-Xms64m -Xmx512m",
		"KC_BOOTSTRAP_ADMIN_USERNAME="+administrator, "KC_BOOTSTRAP_ADMIN_PASSWORD="+k.password)
	serve(t, cmd, k.target.Issuer+"/.well-known/openid-configuration")
	k.addScope(t)
	return k.target
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
	repository := filepath.Join(cached(t, "keycloak"), "maven")
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
