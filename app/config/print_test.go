package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func printed(c *Config) string {
	var out bytes.Buffer
	c.Print(&out)
	return out.String()
}

func TestConfigPrint(t *testing.T) {
	got := printed(mustLoad(t, "LISTEN: :9000\n"+
		"DATABASE_URL: postgres://u:hun%40ter2@db/m?sslmode=disable&password=hunter3\n"+
		"RULES: [{PATH: /a/, METHODS: [GET, PUT]}]\nUPSTREAM: http://api\n"+
		"SMTP_URL: smtp://me:hunter6@mail.example.org:587\nMAIL_FROM: Example <noreply@example.org>\n"+
		"OAUTH2_PROVIDER:\n  SCOPES: {b: \"B \\\"b\\\" ü 😀 \\u2028\", a: 'A: # a'}\n"+
		"  RESOURCE_SERVER_INTROSPECTION_URL: https://a/\n  RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [hunter4, hunter5]\n",
		"MANDATE_SECRET_KEY="+testKey))
	for _, want := range []string{
		"BASE_URL: \"http://127.0.0.1:9000\" # default\n",
		"LISTEN: \":9000\" # ",
		"mandate.yaml:1\n",
		"DATABASE_URL: \"postgres://u:********@db/m?sslmode=disable&password=********\" # ",
		"SMTP_URL: \"smtp://me:********@mail.example.org:587\" # ",
		"MAIL_FROM: \"Example <noreply@example.org>\" # ",
		"SECRET_KEY: \"********\" # environment: MANDATE_SECRET_KEY\n",
		"RULES: [{PATH: \"/a/\", METHODS: [\"GET\", \"PUT\"], SCOPES: [], MAX_AGE: 0, ACR_VALUES: [], WEBSOCKET: false, " +
			"PATH_AS_WRITTEN: false}] # ",
		"OAUTH2_PROVIDER:\n  SCOPES: {\"b\": \"B \\\"b\\\" ü 😀 \\u2028\", \"a\": \"A: # a\"} # ",
		"  DEFAULT_SCOPES: [\"__all__\"] # default\n",
		"  ACCESS_TOKEN_EXPIRE_SECONDS: 36000 # default\n",
		"  RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [\"********\", \"********\"] # ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(got, "hunter") || strings.Contains(got, testKey) || strings.Contains(got, "ter2") {
		t.Error("shows a secret")
	}
	if t.Failed() {
		t.Log(got)
	}
}

// The printed configuration can be loaded and is the same. A masked secret is
// refused.
func TestConfigPrintLoads(t *testing.T) {
	key := filepath.Join(t.TempDir(), "ke\ny")
	err := os.WriteFile(key, []byte(testKey), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"",
		"SECRET_KEY_FILE: '" + strings.ReplaceAll(key, "\n", "\n\n") + "'\nDATABASE_URL: postgres:///m\n",
		"TRUSTED_PROXIES: [\"::1\", 10.0.0.0/8]\nSESSION_COOKIE_AGE: 60\nOAUTH2_PROVIDER: {DEFAULT_SCOPES: [], SCOPES: " +
			"{'a:{': \"x \\u2028\\u200b\\ufeff\"}}\n",
		"UPSTREAM: http://api\nRULES: [{PATH: /, METHODS: [GET], SCOPES: [a]}, {PATH: /x}]\nOAUTH2_PROVIDER: " +
			"{RESOURCE_SERVER_INTROSPECTION_URL: 'https://a/', RESOURCE_SERVER_AUTH_TOKEN_FILE: testdata/token}\n",
	} {
		c, err := load(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := load(t, printed(c))
		if err != nil {
			t.Errorf("%v\n%s", err, printed(c))
			continue
		}
		if diff := cmp.Diff(withoutSource(printed(c)), withoutSource(printed(again))); diff != "" {
			t.Error(diff)
		}
	}
	_, err = load(t, printed(mustLoad(t, "SECRET_KEY: "+testKey+"\n")))
	if err == nil || !strings.Contains(err.Error(), "SECRET_KEY: contains ********") {
		t.Errorf("a masked key: %v", err)
	}
}

// withoutSource removes the comments, which name another file.
func withoutSource(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		end := strings.LastIndex(line, " # ")
		if end >= 0 {
			lines[i] = line[:end]
		}
	}
	return lines
}
