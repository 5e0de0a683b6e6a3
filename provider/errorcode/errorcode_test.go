package errorcode_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mandate/provider/errorcode"
	"mandate/testkit"
)

// TestErrorsDocs writes the table of the error codes.
func TestErrorsDocs(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| `error` | Document | Cause | What to do |\n|---|---|---|---|\n")
	for _, c := range errorcode.All() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", c.Name, c.Source, c.Cause, c.Cure)
	}
	testkit.DocsBlock(t, "endpoints-and-errors.md", "errors", table.String()+"\n")
}

// A page and a link need each of these parts, and a code is never a usual word of a sentence.
func TestEachCodeIsExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range errorcode.All() {
		if c.Name == "" || c.Source == "" || !strings.HasSuffix(c.Cause, ".") || !strings.HasSuffix(c.Cure, ".") || !strings.Contains(c.Name, "_") || seen[c.Name] {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
		for _, one := range c.Cases {
			if one.ID == "" || one.Words == "" || !strings.HasSuffix(one.Cure, ".") || seen[c.Name+one.ID] {
				t.Errorf("%s: %+v", c.Name, one)
			}
			seen[c.Name+one.ID] = true
		}
	}
}

// A case whose words no description has would never be found, and one behind a wider one neither.
func TestEachCaseFitsADescription(t *testing.T) {
	used := map[string]bool{}
	for _, d := range errorcode.Descriptions() {
		c, found := errorcode.Find(d.Code)
		if !found {
			t.Errorf("%s is not in the table", d.Code)
		}
		if one, found := c.Case(d.Text); found {
			used[c.Name+" "+one.ID] = true
		}
	}
	for _, c := range errorcode.All() {
		for _, one := range c.Cases {
			if !used[c.Name+" "+one.ID] {
				t.Errorf("%s: no description leads to the case %s (%q)", c.Name, one.ID, one.Words)
			}
		}
	}
}

// RFC 6749 §4.1.2.1, §5.2: error_uri is a URI reference of the characters %x21, %x23-5B and %x5D-7E.
func TestErrorURIHasOnlyItsCharacters(t *testing.T) {
	const base = "https://id.example.com/auth"
	for _, c := range errorcode.All() {
		descriptions := []string{"", `"\ <script>` + "\x00ü"}
		for _, one := range c.Cases {
			descriptions = append(descriptions, one.Words)
		}
		for _, d := range descriptions {
			uri := errorcode.URI(base, c.Name, d)
			u, err := url.Parse(uri)
			if err != nil || !strings.HasPrefix(uri, base+errorcode.Path+c.Name+"/") || u.RawQuery != "" || u.Path != "/auth/errors/"+c.Name+"/" {
				t.Errorf("%q: %v", uri, err)
			}
			for _, r := range uri {
				if r != 0x21 && (r < 0x23 || r > 0x5b) && (r < 0x5d || r > 0x7e) {
					t.Errorf("%q has the character %q", uri, r)
				}
			}
		}
	}
	if got := errorcode.URI(base, "of_somebody_else", "code_challenge is missing"); got != "" {
		t.Errorf("a code that the table does not have leads to %s", got)
	}
	if got := errorcode.URI(base, "invalid_request", "code_challenge is missing: this application must"); got != base+"/errors/invalid_request/#pkce-missing" {
		t.Errorf("%s", got)
	}
}

// People copy what they see: a page, an address, a response, a line of a log.
func TestExplainFindsWhatPeopleCopy(t *testing.T) {
	for text, want := range map[string]string{
		"invalid_grant": "invalid_grant",
		`{"error":"invalid_client","error_description":"x"}`:                                                                                                     "invalid_client",
		"code_challenge is missing: this application must use PKCE (RFC 7636) with code_challenge_method=S256.":                                                  "invalid_request pkce-missing",
		"Code_challenge is missing: this application must use PKCE":                                                                                              "invalid_request pkce-missing",
		"https://app.example/cb?error=invalid_request&error_description=code_challenge%20is%20missing%3A%20this":                                                 "invalid_request pkce-missing",
		"https://app.example/cb?error=invalid_request&error_description=code_challenge+is+missing%3A+this":                                                       "invalid_request pkce-missing",
		"The authorization code is unknown, expired, or already used.":                                                                                           "invalid_grant code-unknown",
		"The refresh token was already used. All tokens of its token family have been revoked.":                                                                  "invalid_grant refresh-used",
		"time=2026 level=INFO route=/o/token/ error=invalid_grant description=\"code_verifier is missing: the authorization request had a code_challenge.\" a=b": "invalid_grant code-verifier",
		"There is no scope 'roles' on this server: its operator can add it to SCOPES.":                                                                           "invalid_scope unknown",
		"The device polls too often: wait five seconds more than before, now and before each later poll.":                                                        "slow_down",
		"state is longer than 4096 bytes.": "invalid_request",
	} {
		found, certain := errorcode.Explain(text)
		if !certain || len(found) != 1 || strings.TrimSpace(found[0].Code.Name+" "+found[0].Case.ID) != want {
			t.Errorf("%q: %t %s, want %s", text, certain, short(found), want)
		}
	}
}

// Every description that the server sends is found again, with its code, when values of a request stand in it.
func TestExplainFindsEachDescription(t *testing.T) {
	byText := map[string]map[string]bool{}
	for _, d := range errorcode.Descriptions() {
		if byText[d.Text] == nil {
			byText[d.Text] = map[string]bool{}
		}
		byText[d.Text][d.Code] = true
	}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		sent := strings.ReplaceAll(text, "…", "'a value'")
		found, certain := errorcode.Explain(sent)
		if len(text) > 25 && (!certain || !byText[text][found[0].Code.Name]) {
			t.Errorf("%q: %t %s", sent, certain, short(found))
		}
	}
}

// A text with a mistake gets what is nearest, and one of something else gets nothing.
func TestExplainNamesTheNearest(t *testing.T) {
	found, certain := errorcode.Explain("the code verifier is not the one belonging to that challenge of the authorisation")
	if certain || len(found) == 0 || found[0].Code.Name != "invalid_grant" {
		t.Errorf("%t %s", certain, short(found))
	}
	found, certain = errorcode.Explain("zzz qqq")
	if certain || len(found) != 0 {
		t.Errorf("%t %s", certain, short(found))
	}
}

// short names the rows.
func short(found []errorcode.Match) string {
	var rows []string
	for _, m := range found {
		rows = append(rows, fmt.Sprintf("%s %s %q", m.Code.Name, m.Case.ID, m.Description))
	}
	return strings.Join(rows, "; ")
}
