package openid

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// browser does what the suite's browser does by a plan.
type browser struct {
	t      *testing.T
	http   *http.Client
	at     string
	status int
	page   *html.Node
	typed  map[*html.Node]string
	shown  int
}

func newBrowser(t *testing.T) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, http: &http.Client{Jar: jar, Timeout: 20 * time.Second}}
}

// visit opens an address and does the tasks of the first entry that is for it.
func (b *browser) visit(entries []visit, address string) {
	b.t.Helper()
	i := slices.IndexFunc(entries, func(v visit) bool { return v.Limit >= 0 && matches(v.Match, address) })
	if i < 0 {
		b.t.Fatalf("no entry is for %s", address)
	}
	if entries[i].Limit == 1 {
		entries[i].Limit = -1
	}
	b.show(b.http.Get(address))
	for _, task := range entries[i].Tasks {
		switch {
		case matches(task.Match, b.at):
			for _, command := range task.Commands {
				b.do(task.Task, command)
			}
		case !task.Optional:
			b.t.Fatalf("%s: is at %s, not at %s", task.Task, b.at, task.Match)
		}
	}
}

func (b *browser) show(response *http.Response, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	b.at, b.status, b.typed = response.Request.URL.String(), response.StatusCode, map[*html.Node]string{}
	b.page, err = html.Parse(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	// submit.js sends such a form by itself.
	for n := range b.page.Descendants() {
		if n.Data == "form" && has(n, "data-submit") {
			b.send(n, nil)
			return
		}
	}
}

func (b *browser) do(task string, command []any) {
	b.t.Helper()
	word := func(i int) string {
		if i >= len(command) {
			return ""
		}
		return fmt.Sprint(command[i])
	}
	found := b.find(word(1), word(2))
	switch {
	case word(0) == "text" && len(command) == 4 && len(found) == 1 && found[0].Data == "input":
		b.typed[found[0]] = word(3)
	// The suite takes the first of many: on these pages there is to be no doubt.
	case word(0) == "click" && len(command) == 3 && len(found) == 1 && found[0].Data == "button":
		b.send(form(found[0]), found[0])
	case word(0) == "wait" && word(1) == "contains" && len(command) == 4 && strings.Contains(b.at, word(2)):
	case word(0) == "wait" && len(command) == 4 && len(found) > 0:
	case word(0) == "wait" && len(command) == 6 && len(found) > 0 &&
		regexp.MustCompile(word(4)).MatchString(text(found[0])):
		b.shown++
	default:
		b.t.Fatalf("%s: %v cannot be done at %s", task, command, b.at)
	}
}

// find looks an element up by the selectors that the plans use.
func (b *browser) find(kind, selector string) (found []*html.Node) {
	for n := range b.page.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		ok := false
		switch kind {
		case "id":
			ok = value(n, "id") == selector
		case "class":
			ok = slices.Contains(strings.Fields(value(n, "class")), selector)
		case "xpath":
			ok = "//"+n.Data == selector || "//"+n.Data+"[@value='"+value(n, "value")+"']" == selector
		}
		if ok {
			found = append(found, n)
		}
	}
	return found
}

// send sends a form by a button of it.
func (b *browser) send(form, button *html.Node) {
	b.t.Helper()
	if form == nil || value(form, "method") != "post" {
		b.t.Fatalf("at %s a button is in no form that is posted", b.at)
	}
	fields := url.Values{}
	for n := range form.Descendants() {
		if n.Data == "input" || n == button {
			typed, ok := b.typed[n]
			if !ok {
				typed = value(n, "value")
			}
			fields.Set(value(n, "name"), typed)
		}
	}
	fields.Del("")
	here, err := url.Parse(b.at)
	if err != nil {
		b.t.Fatal(err)
	}
	target, err := here.Parse(value(form, "action"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.show(b.http.PostForm(target.String(), fields))
}

// matches compares with a pattern in which a star is any text.
func matches(pattern, address string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(address)
}

func form(n *html.Node) *html.Node {
	for n != nil && n.Data != "form" {
		n = n.Parent
	}
	return n
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func value(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var words []string
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			words = append(words, strings.Fields(d.Data)...)
		}
	}
	return strings.Join(words, " ")
}
