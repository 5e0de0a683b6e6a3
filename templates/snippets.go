package templates

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// snippetFiles holds the code that the page of an application shows. The name of a file is its kind of
// application and its language. The tests of conformance/mandate run the same code.
//
//go:embed snippets/*.txt
var snippetFiles embed.FS

// Snippet is a program for an application. ID names its element of the page.
type Snippet struct{ ID, Language, Code string }

// Sample contains the programs for one kind of application.
type Sample struct {
	Title    string
	Snippets []Snippet
}

// SnippetValues are what a snippet contains of an application and of the server. The client secret is never
// among them.
type SnippetValues struct {
	Issuer, AuthorizeURL, TokenURL, IntrospectURL string
	DeviceURL                                     string
	// says who has signed in; empty: the application does not learn it
	UserInfoURL     string
	ClientID, Scope string // Scope may be empty. For an API, it is what a token needs
	// the URI of the API for which the tokens are, and its address; empty: the server itself
	Resource               string
	Redirect, RedirectPath string
	StartPath              string // where a website sends people to sign in
	// the same at the host of the redirect URI, for which the cookies are
	StartURL                      string
	LoopbackHost, LoopbackLiteral string // 127.0.0.1 or ::1, and the same as a part of a URL
	// where a website listens, unless the variable PORT says another port
	Port uint64
}

// programmingLanguages are the languages of the snippets, in the order of the page.
func programmingLanguages() []struct{ extension, name string } {
	return []struct{ extension, name string }{{"sh", "curl"}, {"go", "Go"}, {"mjs", "JavaScript"}, {"py", "Python"},
		{"html", "HTML and JavaScript"}}
}

// parseSnippets parses all snippets.
func parseSnippets() (*template.Template, error) {
	t := template.New("snippets").Funcs(template.FuncMap{"q": quoteText, "sh": quoteShell, "fields": strings.Fields})
	t, err := t.ParseFS(snippetFiles, "snippets/*.txt")
	if err != nil {
		return nil, err
	}
	return t.ParseFS(proxyFiles, "proxies/*.txt")
}

// Snippets returns the programs for a kind of application with these values.
func (p *Pages) Snippets(kind string, values SnippetValues) ([]Snippet, error) {
	var found []Snippet
	for _, l := range programmingLanguages() {
		t := p.snippets.Lookup(kind + "." + l.extension + ".txt")
		if t == nil {
			continue
		}
		var b bytes.Buffer
		err := t.Execute(&b, values)
		if err != nil {
			return nil, fmt.Errorf("render the snippet %s.%s: %w", kind, l.extension, err)
		}
		found = append(found, Snippet{ID: kind + "-" + l.extension, Language: l.name, Code: strings.TrimSpace(b.String())})
	}
	return found, nil
}

// quoteText writes a text as a literal that Go, JavaScript and Python read in the same way. The literal can also
// stand in a script of an HTML page. Its end would otherwise be in the hands of whoever registers the application.
func quoteText(text string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "<", `\u003c`), err
}

// quoteShell writes a text as a word of the shell.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
