package mandate

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mandate/testkit"
)

// TestSecuredNimbus uses the OAuth 2.0 SDK of Nimbus for Java, with the parts of FAPI 2.0: pushed
// requests, private_key_jwt, DPoP, request objects and signed responses.
func TestSecuredNimbus(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := newSecuredServer(t, db)
		app, input := s.keyed(t, "nimbus", "--require-pushed-requests")
		proofs := s.boundFlow(t, s.nimbus, app, input, nil)
		checkNonces(t, proofs, "POST /o/par/ 400", "POST /o/par/ 201", "POST /o/token/ 200", "POST /o/token/ 200",
			"GET /o/userinfo/ 200", "GET /resource 401", "GET /resource 200")
		profiled, with := s.profiled(t, "nimbus-fapi")
		s.boundFlow(t, s.nimbus, profiled, with, map[string]any{"object": true})
		got := s.nimbus(t, app, "client_credentials", adding(input, "scope", "read"))
		if got["token_type"] != "DPoP" || got["scope"] != "read" {
			t.Errorf("client credentials: %v", got)
		}
		wantError(t, s.nimbus(t, app, "client_credentials", adding(input, "scope", "admin")), "invalid_scope")
		// A token that a client got for itself is about no person.
		got = s.nimbus(t, app, "userinfo", adding(input, "token", got["access_token"], "subject", "nobody"))
		wantError(t, got, "invalid_token")
		if text, _ := got["error_description"].(string); !strings.Contains(text, "about no person") {
			t.Errorf("the error does not say why: %v", got)
		}
	})
}

// nimbus runs a step of the OAuth 2.0 SDK of Nimbus.
func (s *server) nimbus(t testing.TB, app application, step string, input map[string]any) map[string]any {
	t.Helper()
	for _, program := range []string{"java", "javac", "mvn"} {
		testkit.Program(t, program, "default-jdk-headless maven")
	}
	program, err := nimbusClient()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	return s.foreign(t, program, app, step, input)
}

// nimbusClient lets Maven copy the packages, which it keeps in its own folder, and starts the
// program, which Java compiles.
var nimbusClient = sync.OnceValues(func() (*foreignProgram, error) {
	folder := filepath.Join("testdata", "nimbus")
	jars := filepath.Join(binaryDir, "nimbus")
	out, err := exec.Command("mvn", "--batch-mode", "--quiet", "--file", filepath.Join(folder, "pom.xml"),
		"dependency:copy-dependencies", "-DoutputDirectory="+jars).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("mvn: %w\n%s", err, out)
	}
	err = checkSums(jars, filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		return nil, err
	}
	return startForeign(exec.Command("java", "-cp", filepath.Join(jars, "*"), filepath.Join(folder, "Client.java")))
})

// checkSums compares the files of a folder with a list in the format of sha256sum.
func checkSums(folder, list string) error {
	want, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	var got bytes.Buffer
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&got, "%x  %s\n", sha256.Sum256(content), filepath.Base(file))
	}
	if !bytes.Equal(got.Bytes(), want) {
		return fmt.Errorf("the packages are not those of %s, but\n%s", list, got.String())
	}
	return nil
}
