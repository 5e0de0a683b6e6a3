//go:build foreign

package programs

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/servertest"
	"mandate/testkit"
)

func keycloakVersion(t *testing.T) string {
	return versionIn(t, filepath.Join("keycloak", "pom.xml"), "<keycloak.version>", "<")
}

// keycloak runs Keycloak with Mandate as an identity provider of a realm. A website, to which it sends people after the
// login, shows what it knows.
func keycloak(t *testing.T, s *site) *exec.Cmd {
	t.Helper()
	maven, java := testkit.Program(t, "mvn", "maven"), testkit.Program(t, "java", "default-jdk-headless")
	dir := installed(t, "keycloak", []string{"pom.xml"}, func(dir string) *exec.Cmd {
		return exec.Command(maven, "--batch-mode", "--quiet", "--file", filepath.Join(dir, "pom.xml"), "package")
	})
	own := filepath.Join(s.folder, "keycloak") // it writes to its folder
	realm, err := os.ReadFile(filepath.Join("testdata", "keycloak", "realm.json"))
	if err == nil && s.printed != "" {
		realm, err = withProvider(realm, s.printed)
	}
	if err == nil {
		err = os.CopyFS(own, os.DirFS(filepath.Join(dir, "target", "keycloak-"+keycloakVersion(t))))
	}
	imported := filepath.Join(own, "data", "import")
	if err == nil {
		err = os.MkdirAll(imported, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(imported, "company-realm.json"), realm, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	website := keycloakWebsite(t, s.url("/realms/company/protocol/openid-connect"))
	s.query = "?" + url.Values{
		"response_type": {"code"},
		"client_id":     {"website"},
		"redirect_uri":  {website + "/"},
		"scope":         {"openid profile email"},
		"kc_idp_hint":   {"mandate"},
	}.Encode()
	host, port, _ := strings.Cut(s.address, ":")
	cmd := exec.Command(
		filepath.Join(own, "bin", "kc.sh"),
		"start-dev",
		"--http-host="+host,
		"--http-port="+port,
		"--import-realm",
	)
	cmd.Env = append(servertest.Environment(), "JAVA="+java, "JAVA_OPTS_KC_HEAP=-Xms64m -Xmx512m", "WEBSITE="+website)
	return cmd
}

// withProvider replaces the identity provider of a realm. The printed one asks for no groups.
func withProvider(realm []byte, provider string) ([]byte, error) {
	var made map[string]any
	err := json.Unmarshal(realm, &made)
	if err != nil {
		return nil, err
	}
	made["identityProviders"] = []json.RawMessage{json.RawMessage(provider)}
	return json.Marshal(made)
}

// keycloakWebsite is a website that signs people in with Keycloak.
func keycloakWebsite(t *testing.T, keycloak string) string {
	var website *httptest.Server
	website = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := http.PostForm(
			keycloak+"/token",
			url.Values{"grant_type": {"authorization_code"}, "code": {r.FormValue("code")},
				"redirect_uri": {
					website.URL + "/",
				}, "client_id": {"website"}, "client_secret": {"a secret of the website"}},
		)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		var token struct {
			Access string `json:"access_token"`
		}
		err = json.NewDecoder(answer.Body).Decode(&token)
		if err != nil {
			t.Errorf("%s: %v", answer.Status, err)
			return
		}
		ask, err := http.NewRequest(http.MethodGet, keycloak+"/userinfo", nil)
		if err != nil {
			t.Error(err)
			return
		}
		ask.Header.Set("Authorization", "Bearer "+token.Access)
		known, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Error(err)
			return
		}
		defer known.Body.Close()
		_, _ = io.Copy(w, known.Body)
	}))
	t.Cleanup(website.Close)
	return website.URL
}
