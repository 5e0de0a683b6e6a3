package templates

import (
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"
)

// What an application has registered cannot leave its place in a program.
func TestSnippetsQuoteWhatIsRegistered(t *testing.T) {
	pages, err := New("", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(snippetFiles, "snippets/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	const evil = `</script><!-- '"` + "`" + `$(touch /tmp/x)${x}\n\` + "\u2028"
	ordinary := SnippetValues{"https://id.example/o", "https://id.example/o/authorize/", "https://id.example/o/token/",
		"https://id.example/o/introspect/", "https://id.example/o/device_authorization/", "", "client", "read write", "",
		"https://app.example/back", "/back", "/", "https://app.example/", "127.0.0.1", "127.0.0.1", 8080}
	seen := 0
	for _, of := range []struct{ userInfo, resource string }{{"", ""}, {"", "https://api.example.org/"},
		{"https://id.example/o/userinfo/", ""}} {
		ordinary.UserInfoURL, ordinary.Resource = of.userInfo, of.resource
		bad := SnippetValues{evil, evil, evil, evil, evil, "", evil, evil, "", evil, evil, evil, evil, evil, evil, 8080}
		if of.userInfo != "" {
			bad.UserInfoURL = evil
		}
		if of.resource != "" {
			bad.Resource = evil
		}
		for _, values := range []SnippetValues{ordinary, bad} {
			for _, kind := range []string{"website", "browser", "native", "device", "service", "api"} {
				found, err := pages.Snippets(kind, values)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range found {
					seen++
					if s.Language == "Go" {
						checkGo(t, s)
					}
					if s.Language == "HTML and JavaScript" &&
						(strings.Count(s.Code, "</script>") != 1 || strings.Contains(s.Code, "<!--")) {
						t.Errorf("%s: a value ends the script", s.ID)
					}
					if strings.Contains(s.Code, evil) && s.Language != "curl" || strings.Contains(s.Code, "<no value>") {
						t.Errorf("%s contains a value as it was registered:\n%s", s.ID, s.Code)
					}
				}
			}
		}
	}
	if seen != 6*len(files) {
		t.Errorf("%d programs were made of %d files", seen, len(files))
	}
	if got := quoteShell(`a'b`); got != `'a'\''b'` {
		t.Errorf("the shell reads %s", got)
	}
}

// checkGo checks that a program in Go is complete and formatted.
func checkGo(t *testing.T, s Snippet) {
	t.Helper()
	_, err := parser.ParseFile(token.NewFileSet(), s.ID, s.Code, parser.AllErrors)
	if err != nil {
		t.Errorf("%s: %v\n%s", s.ID, err, s.Code)
		return
	}
	formatted, err := format.Source([]byte(s.Code))
	if err != nil || strings.TrimSpace(string(formatted)) != s.Code {
		t.Errorf("%s is not formatted: %v", s.ID, err)
	}
}
