package errorcode_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
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

// TestMessagesDocs writes the table of the messages of programs.
func TestMessagesDocs(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| The program says | It means | What to do |\n|---|---|---|\n")
	for _, m := range errorcode.Messages() {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", m.Says, m.Means, m.Cure)
	}
	testkit.DocsBlock(t, "troubleshooting.md", "messages", table.String()+"\n")
}

// A page and a link need each of these parts, and a code is never a usual word of a sentence.
func TestEachCodeIsExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range errorcode.All() {
		if c.Name == "" || c.Source == "" || !strings.HasSuffix(
			c.Cause,
			".",
		) || !strings.HasSuffix(c.Cure, ".") || !strings.Contains(c.Name, "_") || seen[c.Name] {
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
			if err != nil || !strings.HasPrefix(
				uri,
				base+errorcode.Path+c.Name+"/",
			) || u.RawQuery != "" || u.Path != "/auth/errors/"+c.Name+"/" {
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
	if got := errorcode.URI(
		base,
		"invalid_request",
		"code_challenge is missing: this application must",
	); got != base+"/errors/invalid_request/#pkce-missing" {
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
		"The request does not identify the client: use HTTP Basic":                                                                                               "invalid_client not-sent",
		"This application is registered for tls_client_auth, and the request has no client certificate: use the endpoint":                                        "invalid_client no-certificate",
		"There is no scope 'roles' on this server: its operator can add it to SCOPES.":                                                                           "invalid_scope unknown",
		"The device polls too often: wait five seconds more than before, now and before each later poll.":                                                        "slow_down",
		"state is longer than 4096 bytes.":                                                                                                                       "invalid_request",
	} {
		found, certain := errorcode.Explain(text)
		if !certain || strings.TrimSpace(found[0].Code.Name+" "+found[0].Case.ID) != want {
			t.Errorf("%q: %t %s, want %s", text, certain, short(found), want)
		}
	}
}

// A message of a program in front of this server, as people copy it: with more around it, or only a part of it.
func TestExplainFindsMessagesOfPrograms(t *testing.T) {
	for text, want := range map[string]string{
		`Error: Email in id_token (bob@example.org) isn't verified`: "oauth2-proxy: `email",
		`email "bob@example.org" isn't verified`: "oauth2-proxy: `email " +
			"... isn't verified`",
		`2026/11/27 [error] LOCALPART IS INVALID: "b@b"`: "Matrix Synapse",
		`msg="oidc: issuer did not match the issuer returned by provider, expected \"x\""`: "`issuer did not match " +
			"the issuer returned",
		"only requests to HTTPS are allowed":                                                       "openid-client: `only requests",
		"OAUTH_WWW_AUTHENTICATE_CHALLENGE":                                                         "openid-client: `server responded",
		"Unexpected error when authenticating":                                                     "Keycloak",
		"404 Client Error: Not Found for url: https://a.example/.well-known/openid-configuration":  "`404",
		"The application's redirect URI is not registered":                                         "`The redirect URI of this",
		"The program that sent you here uses a client ID that this server does not know.":          "The page `The program",
		"connect ECONNREFUSED 127.0.0.1:8000":                                                      "Node.js: `fetch failed`",
		`Get "http://a.example/o/.well-known/openid-configuration": dial tcp: connection refused`:  "Node.js: `fetch failed`",
		"ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed": "Node.js: `unable to verify",
		"404 Not Found":               "",
		"the":                         "",
		"groups":                      "",
		"unsupported":                 "",
		"https://must/use?http":       "",
		"the subway has a subsidiary": "",
	} {
		found, certain := errorcode.Explain(text)
		if want == "" {
			if certain {
				t.Errorf("%q: %s", text, short(found))
			}
			continue
		}
		if !certain || len(found) != 1 || !strings.HasPrefix(found[0].Message.Says, want) {
			t.Errorf("%q: %t %s, want %s", text, certain, short(found), want)
		}
	}
	// A code says nothing about the program that shows it.
	for _, code := range []string{"invalid_request", "invalid_client", "unsupported_response_type", "login_required"} {
		if found, certain := errorcode.Explain(code); !certain || len(found) != 1 || found[0].Code.Name != code {
			t.Errorf("%s: %t %s", code, certain, short(found))
		}
	}
	// Both the table and a program explain this.
	found, certain := errorcode.Explain(
		"The refresh token was already used. All tokens of its token family have been revoked.",
	)
	if !certain || len(found) != 2 || found[0].Code.Name != "invalid_grant" ||
		!strings.Contains(found[1].Message.Cure, "--refresh-rotation off") {
		t.Errorf("%t %s", certain, short(found))
	}
}

// Each message is found by what the program says, and a reader of a terminal has no link of the docs.
func TestEachMessageIsFound(t *testing.T) {
	for _, m := range errorcode.Messages() {
		if m.Says == "" || m.Means == "" || m.Cure == "" || strings.HasPrefix(m.Means, "the same") {
			t.Errorf("%+v", m)
		}
		if plain := m.Plain(); strings.Contains(plain.Cure, "](") ||
			strings.Contains(plain.Says+plain.Means+plain.Cure, "*") {
			t.Errorf("%+v", plain)
		}
		for _, said := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m.Says, -1) {
			if _, code := errorcode.Find(said[1]); code || len(said[1]) < 9 {
				continue
			}
			found, certain := errorcode.Explain("12:00 program: " + said[1] + " (1)")
			if !certain || !slices.ContainsFunc(found, func(f errorcode.Match) bool { return f.Message == m.Plain() }) {
				t.Errorf("%q: %t %s", said[1], certain, short(found))
			}
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
	for text, want := range map[string]string{
		"the code verifier is not the one belonging to that challenge of the authorisation": "invalid_grant",
		"code verifier belonging to that challenge":                                         "invalid_grant",
		"redirect uri is not registered for this application":                               "invalid_request",
		"the refresh token has been used already":                                           "invalid_grant",
		"error authenticating with identity provider":                                       "Keycloak",
	} {
		found, certain := errorcode.Explain(text)
		if certain || !slices.ContainsFunc(found, func(m errorcode.Match) bool {
			return m.Code.Name == want || m.Message.Says != "" && strings.HasPrefix(m.Message.Says, want)
		}) {
			t.Errorf("%q: %t %s", text, certain, short(found))
		}
	}
	for _, text := range []string{
		"zzz qqq",
		"the",
		"token",
		"my cat has eaten the server",
		"hello world this is a test of nonsense",
		"where can I buy a new token machine for my kitchen",
		"panic: runtime error: index out of range [3] with length 3",
		"dial tcp 127.0.0.1:5432: connect: connection refused",
		"pq: password authentication failed for user mandate",
		"The printer is out of paper. Ask your administrator.",
		"permission denied",
		"no space left on device",
		"Uncaught TypeError: Cannot read properties of undefined (reading 'name')",
		"502 Bad Gateway nginx/1.22.1",
		"lorem ipsum dolor sit amet consectetur",
		"this application does not work",
		"the server sends an error",
		"please change the registered name of my dog",
		"my application for the apartment was registered, and the client of the landlord wants a certificate from the " +
			"bakery, the dentist and the zoo",
	} {
		if found, certain := errorcode.Explain(text); certain || len(found) != 0 {
			t.Errorf("%q: %t %s", text, certain, short(found))
		}
	}
}

// short names the rows.
func short(found []errorcode.Match) string {
	var rows []string
	for _, m := range found {
		rows = append(rows, fmt.Sprintf("%s %s %q%s", m.Code.Name, m.Case.ID, m.Description, m.Message.Says))
	}
	return strings.Join(rows, "; ")
}
