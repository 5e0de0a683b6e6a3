package mandate

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const logoSVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><circle cx="20" cy="20" r="18" fill="#8a1c7c"/></svg>`

// An operator gives the server their own name, logo, colour and links. Strangers still cannot look like the operator:
// the consent page says that an application has chosen its name.
func TestBrand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "logo.svg")
	err := os.WriteFile(file, []byte(logoSVG), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	v := newFixture(t, options{database: newSQLite(t),
		settings: []string{"BRAND_NAME: Example & Söhne", "BRAND_LOGO_FILE: " + file, `BRAND_COLOR: "#8a1c7c"`,
			"HELP_URL: mailto:help@example.org", "TERMS_URL: https://example.org/terms",
			"PRIVACY_URL: https://example.org/privacy#cookies"}})
	b := v.browser(t)
	b.open(t, "/login/")
	const header = `<a class="brand" href="/"><img src="(/static/logo\.[0-9a-f]{8}\.svg)" alt="" width="28" height="28"><span>Example &amp; Söhne</span></a>`
	const links = `<li><a href="mailto:help@example.org">Help</a></li>\s*<li><a href="https://example.org/terms">Terms of service</a></li>\s*<li><a href="https://example.org/privacy#cookies">Privacy</a></li>`
	branded := func() {
		t.Helper()
		if !regexp.MustCompile(header).MatchString(b.Body) || !regexp.MustCompile(links).MatchString(b.Body) ||
			strings.Contains(b.Body, "Mandate") {
			t.Errorf("%s:\n%s", b.URL, b.Body)
		}
	}
	branded()
	found := regexp.MustCompile(header).FindStringSubmatch(b.Body)
	if found == nil {
		t.FailNow()
	}
	logo := v.get(t, found[1], nobody)
	policy := logo.Header.Get("Content-Security-Policy")
	if logo.Status != http.StatusOK || string(logo.Body) != logoSVG ||
		logo.Header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "sandbox") || logo.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the logo: %d %v %s", logo.Status, logo.Header, logo.Body)
	}
	sheet := regexp.MustCompile(`/static/style\.[0-9a-f]{8}\.css`).FindString(b.Body)
	if css := v.get(t, sheet, nobody); !strings.Contains(string(css.Body), "--accent: #8a1c7c;") {
		t.Errorf("%s: %d", sheet, css.Status)
	}
	if strings.Contains(b.Body, "style=") {
		t.Error("the page has a style of its own")
	}
	address, _ := v.authorizeURL(v.casual)
	b.open(t, address)
	b.logIn(t, v.alice)
	branded()
	if !strings.Contains(b.Body, "An application asks to act for you. It calls itself") {
		t.Errorf("%s", b.Body)
	}
	b.open(t, "/account/factors/totp/")
	if !strings.Contains(b.Body, "issuer=Example%20%26%20S%C3%B6hne") {
		t.Errorf("the authenticator app gets another name: %s", b.Body)
	}
	b.open(t, "/nowhere/")
	branded()
}
