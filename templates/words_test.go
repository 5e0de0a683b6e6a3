package templates

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template/parse"
	"unicode"

	"golang.org/x/net/html"

	"mandate/templates/languages"
)

// withoutText are the parts that only pages for administrators and developers use, and "state", which writes
// attributes.
var withoutText = []string{"owned", "copyable", "copying", "uri", "state",
	"restriction", "onwards"}

// A page that people read contains no text of its own: all its text is in the catalogue.
func TestNoTextOutsideOfTheCatalogue(t *testing.T) {
	read := append(slices.Clone(translated()), "layout.html", "parts.html")
	for _, name := range read {
		body, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range untranslated(t, name, string(body)) {
			t.Errorf("%s: %s: write it as {{t %q}}, and add it to templates/languages/catalogue.txt", name, fault, fault)
		}
	}
	mails, err := fs.Glob(mailFiles, "mail/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mails {
		body, err := mailFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range untranslated(t, name, string(body)) {
			t.Errorf("%s: %s: write it as {{t %q}}, and add it to templates/languages/catalogue.txt", name, fault, fault)
		}
	}
}

// The summary of what is wrong with a form names the fields in the language of the page.
func TestNamesOfFieldsAreTranslated(t *testing.T) {
	all, err := languages.Load()
	if err != nil {
		t.Fatal(err)
	}
	wrong := regexp.MustCompile(`wrong "([a-z_]+)"`)
	for _, name := range translated() {
		body, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range wrong.FindAllStringSubmatch(string(body), -1) {
			english := fieldName(all.English(), found[1])
			for _, tag := range []string{"de", "fr", "es"} {
				l := all.Listed(tag)
				if got := fieldName(l, found[1]); english != "" && (!l.Knows(english) || got != l.Text(english)) {
					t.Errorf("%s: the field %s is %q in %s, want %q", name, found[1], got, tag, l.Text(english))
				}
			}
		}
	}
}

// What the test must find, and what it must not.
func TestUntranslated(t *testing.T) {
	for _, text := range []string{`Sign in`, `<p>Sign in</p>`, `<p aria-label="Sign in"></p>`,
		`<p data-none="Not used."></p>`, `<img alt="A logo">`, `{{template "x" field "id" "Username" .Name}}`,
		`{{template "x" field "id" (t "Username") .Name | hint "At most six."}}`, `{{or .Label "Go back"}}`,
		`{{if .A}}<p>{{else}}Text{{end}}`, `<p>{{.A}} of {{.B}}</p>`} {
		if len(untranslated(t, "x", text)) == 0 {
			t.Errorf("%s: nothing was found", text)
		}
	}
	for _, text := range []string{`<p class="lead">{{t "Sign in"}}</p>`,
		`<input type="hidden" name="next" value="{{.Next}}">`,
		`{{template "x" field "id" (t "Username") .Name | complete "off"}}`, `{{t "Hello {name}" "name" (strong .Name)}}`,
		`<p lang="en">Only for developers</p>`, `{{n "{n} left." "{n} left." .N}}`, `· Mandate`} {
		if found := untranslated(t, "x", text); len(found) > 0 {
			t.Errorf("%s: %q", text, found)
		}
	}
}

// ownNames are words that no language changes.
var ownNames = []string{"Mandate", "UTC"}

// untranslated returns the text in a template that is not in the catalogue.
func untranslated(t *testing.T, name, body string) []string {
	t.Helper()
	trees := map[string]*parse.Tree{}
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	_, err := tree.Parse(body, "", "", trees)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for part, tree := range trees {
		if slices.Contains(withoutText, part) {
			continue
		}
		var text strings.Builder
		flatten(tree.Root, &text, &found)
		found = append(found, textsIn(text.String())...)
	}
	return found
}

// flatten writes the text of a template, with a mark in the place of each action, and notes the texts that are given to
// functions.
func flatten(n parse.Node, text *strings.Builder, found *[]string) {
	branch := func(b *parse.BranchNode) {
		arguments(b.Pipe, found)
		flatten(b.List, text, found)
		if b.ElseList != nil {
			flatten(b.ElseList, text, found)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, one := range n.Nodes {
			flatten(one, text, found)
		}
	case *parse.TextNode:
		text.Write(n.Text)
	case *parse.ActionNode:
		text.WriteString("\u00b7")
		arguments(n.Pipe, found)
	case *parse.TemplateNode:
		text.WriteString("\u00b7")
		arguments(n.Pipe, found)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	}
}

// arguments notes the literals in a pipe that look like text for people. Those of t, n and f are in the catalogue.
func arguments(p *parse.PipeNode, found *[]string) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		if name, ok := c.Args[0].(*parse.IdentifierNode); ok && slices.Contains([]string{"t", "n", "f"}, name.Ident) {
			for _, arg := range c.Args[1:] {
				if inner, ok := arg.(*parse.PipeNode); ok {
					arguments(inner, found)
				}
			}
			continue
		}
		for _, arg := range c.Args {
			switch a := arg.(type) {
			case *parse.PipeNode:
				arguments(a, found)
			case *parse.StringNode:
				if strings.IndexFunc(a.Text, unicode.IsUpper) == 0 || strings.HasSuffix(a.Text, ".") {
					*found = append(*found, a.Text)
				}
			}
		}
	}
}

// readAloud are the attributes whose values people read.
var readAloud = []string{"alt", "title", "placeholder", "aria-label", "data-none", "data-known", "data-early"}

// textsIn returns the texts of a piece of HTML that contain letters. Text in an element with the attribute lang is
// none: its language is known.
func textsIn(markup string) []string {
	var found []string
	note := func(text string) {
		for _, name := range ownNames {
			text = strings.ReplaceAll(text, name, "")
		}
		if strings.IndexFunc(text, unicode.IsLetter) >= 0 {
			found = append(found, strings.Join(strings.Fields(text), " "))
		}
	}
	depth := 0 // how many elements are open since one with the attribute lang
	z := html.NewTokenizer(bytes.NewReader([]byte(markup)))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		switch token.Type {
		case html.TextToken:
			if depth == 0 {
				note(token.Data)
			}
		case html.StartTagToken:
			language := false
			for _, a := range token.Attr {
				language = language || a.Key == "lang" && a.Val == "en"
				if slices.Contains(readAloud, a.Key) {
					note(a.Val)
				}
			}
			if (language || depth > 0) && !slices.Contains(void, token.Data) {
				depth++
			}
		case html.EndTagToken:
			depth = max(0, depth-1)
		}
	}
	return found
}

// A page is in the language in which it is rendered. A page for developers has its frame in that language, and its
// content in English.
func TestLanguages(t *testing.T) {
	pages, err := New("", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	for tag, words := range map[string][]string{"en": {"Sign in", "Account"}, "de": {"Anmelden", "Konto"},
		"fr": {"Se connecter", "Compte"}, "es": {"Iniciar sesión", "Cuenta"}} {
		l := pages.Languages.Listed(tag)
		login, err := pages.Render(l, Login{})
		if err != nil {
			t.Fatal(err)
		}
		people, err := pages.Render(l, Users{Frame: admin})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(login), `<html lang="`+tag+`">`) ||
			!strings.Contains(string(login), "<h1>"+words[0]+"</h1>") ||
			!strings.Contains(string(login), `<main id="main" class="narrow" tabindex="-1">`) {
			t.Errorf("%s: %s", tag, login)
		}
		content := ` lang="en"`
		if tag == "en" {
			content = ""
		}
		for _, part := range []string{`<html lang="` + tag + `">`, ">" + words[1] + "</a>",
			`<main id="main" tabindex="-1"` + content + ">", "<title" + content + ">People ·", "<h1>People</h1>"} {
			if !strings.Contains(string(people), part) {
				t.Errorf("%s: the page for administrators has no %s", tag, part)
			}
		}
	}
}

// A value is escaped in every language, and stands in the element that the template says.
func TestFill(t *testing.T) {
	pages, err := New("", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range pages.Languages.All() {
		for _, test := range []struct {
			text   string
			values []any
			want   string
		}{
			{"a {b} c", []any{"b", "<i>"}, "string a <i> c"},
			{"a {b} c", []any{"b", 3}, "string a 3 c"},
			{"a & {b} c", []any{"b", elements()["strong"].(func(string) template.HTML)("<i>")},
				"template.HTML a &amp; <strong><bdi>&lt;i&gt;</bdi></strong> c"},
			{"{b} {c}", []any{"b", elements()["bdi"].(func(string) template.HTML)("{c}"), "c", "<i>"},
				"template.HTML <bdi>{c}</bdi> &lt;i&gt;"},
			{"{a}", []any{"a", link("javascript:alert(1)", "x")}, `template.HTML <a href="#ZgotmplZ">x</a>`},
			{"{a}", []any{"a", link("//example.com", "x")}, `template.HTML <a href="#ZgotmplZ">x</a>`},
			{"{a}", []any{"a", link(`/x"y`, "<x>")}, `template.HTML <a href="/x&#34;y">&lt;x&gt;</a>`},
		} {
			got, err := fill(l, test.text, test.values)
			if err != nil || fmt.Sprintf("%T %v", got, got) != test.want {
				t.Errorf("%s: %T %v, %v; want %s", test.text, got, got, err, test.want)
			}
		}
	}
	_, err = fill(pages.Languages.English(), "{a}", []any{"a", struct{}{}})
	if err == nil {
		t.Error("fill accepts a value of any type")
	}
}

// Every page is well formed in every language, and no text of another language is left in it.
func TestEveryPageInEveryLanguage(t *testing.T) {
	pages, err := New("/auth", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range pages.Languages.All()[1:] {
		for _, s := range peopleSamples() {
			body, err := pages.Render(l, s.page)
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if page, ok := s.page.(Excluded); ok && page.BackURI != "" {
				body = bytes.Replace(body, []byte(`action="`+page.BackURI+`"`), []byte(`action="/"`), 1)
			}
			if post, ok := s.page.(FormPost); ok {
				body = bytes.Replace(body, []byte(`action="`+post.Action+`"`), []byte(`action="/"`), 1)
			}
			body = regexp.MustCompile(`<a [^>]*rel="noopener noreferrer nofollow">`).ReplaceAll(body, []byte(`<a href="/">`))
			for _, fault := range checkDocument(body) {
				t.Errorf("%s, %s: %s", l.Tag(), s.name, fault)
			}
			if regexp.MustCompile(`\{[a-z]+\}|%!|%\[`).Match(bytes.ReplaceAll(body, []byte("javascript:{{.}}"), nil)) {
				t.Errorf("%s, %s: a place of a text is empty", l.Tag(), s.name)
			}
		}
	}
}
