package openid

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An expected result is one entry of the files that the suite's driver takes with
// --expected-skips-file and --expected-failures-file.
type expected struct {
	Name      string `json:"test-name"`
	Variant   string `json:"variant"`
	File      string `json:"configuration-filename"`
	Block     string `json:"current-block"`
	Condition string `json:"condition"`
	Result    string `json:"expected-result"`
}

// checkExpected requires the files of expected results in the folder.
func checkExpected(t *testing.T, folder string) {
	t.Helper()
	const answered = "Verify authorization endpoint response"
	claims := []expected{}
	for _, module := range []string{"oidcc-scope-email", "oidcc-alternate-happy-flow"} {
		claims = append(
			claims,
			expected{Name: module, Variant: "*", File: "*", Block: answered,
				Condition: "EnsureIdTokenDoesNotContainEmailForScopeEmail", Result: "warning"},
		)
	}
	dynamic := []expected{}
	for _, f := range []struct{ module, block, condition string }{
		{"server-rotate-keys", "", "VerifyNewJwksHasNewSigningKey"},
		{"discovery-endpoint-verification", "", "OIDCCCheckDiscEndpointResponseTypesSupportedDynamic"},
		{"discovery-endpoint-verification", "", "OIDCCCheckDiscEndpointGrantTypesSupportedDynamic"},
		{"idtoken-rs256", answered, "CheckTokenEndpointHttpStatus200"},
		{"userinfo-rs256", answered, "CheckTokenEndpointHttpStatus200"},
		{"redirect-uri-query-OK", answered, "CheckTokenEndpointHttpStatus200"},
		{"server", answered, "CheckTokenEndpointHttpStatus200"},
		{"registration-jwks-uri", answered, "CheckTokenEndpointHttpStatus200"},
		{"refresh-token-rp-key-rotation", answered, "CheckTokenEndpointHttpStatus200"},
		{"refresh-token", answered, "CheckTokenEndpointHttpStatus200"},
		{"registration-tos-uri", "", "WebRunner"},
		{"registration-tos-uri", "", "oidcc-registration-tos-uri"},
		{"request-uri-unsigned", "", "CheckDiscEndpointRequestUriParameterSupported"},
		{"request-uri-signed-rs256", "", "CheckDiscEndpointRequestUriParameterSupported"},
		{"request-uri-signed-rs256", answered, "CheckIfAuthorizationEndpointError"},
	} {
		dynamic = append(
			dynamic,
			expected{
				Name:      "oidcc-" + f.module,
				Variant:   "*",
				File:      "*",
				Block:     f.block,
				Condition: f.condition,
				Result:    "failure",
			},
		)
	}
	for name, want := range map[string][]expected{
		"expected-warnings-claims.json": claims,
		"expected-skips.json": {{
			Name:    "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
			Variant: "*",
			File:    "*",
		},
			{Name: "oidcc-ensure-request-object-with-redirect-uri", Variant: "*", File: "*"}},
		"expected-skips-dynamic.json": {{
			Name:    "oidcc-idtoken-unsigned",
			Variant: "*",
			File:    "*",
		}, {Name: "oidcc-request-uri-unsigned", Variant: "*", File: "*"},
			{Name: "oidcc-ensure-request-object-with-redirect-uri", Variant: "*", File: "*"}},
		"expected-failures-dynamic.json": dynamic,
		"expected-warnings.json": {{
			Name:      "fapi2-security-profile-final-test-claims-parameter-identity-claims",
			Variant:   "*",
			File:      "*",
			Condition: "CheckForUnexpectedClaimsInIdToken",
			Result:    "warning",
		}},
		"expected-failures.json": append(slices.Clone(claims), expected{
			Name:      "oidcc-server-rotate-keys",
			Variant:   "*",
			File:      "*",
			Condition: "VerifyNewJwksHasNewSigningKey",
			Result:    "failure",
		}),
	} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		var got []expected
		err = json.Unmarshal(content, &got)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFolder requires that setup.sh refuses a path that the suite's driver cannot
// read.
func TestFolder(t *testing.T) {
	for _, name := range []string{"a:b", "a~b", "a b", "a+b"} {
		out, err := exec.Command(
			"sh", "setup.sh", "-o", filepath.Join(t.TempDir(), name), "http://127.0.0.1:8000",
		).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("has a character that is not in A-Z")) {
			t.Errorf("setup.sh took the folder %q: %v\n%s", name, err, out)
		}
	}
}
