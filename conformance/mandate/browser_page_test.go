package mandate

import (
	"encoding/json"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
)

// inspect checks a page of the server as a screen reader reads it. It runs for every
// page that a test opens.
func (b *tab) inspect() {
	b.Helper()
	tree := call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	count := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role, name := said(n.Role), strings.TrimSpace(said(n.Name))
		switch role {
		case "heading":
			if level(n) == "1" {
				role = "main heading"
			}
			fallthrough
		case "button", "link", "textbox", "searchbox", "checkbox", "radio", "radiogroup", "group", "combobox", "spinbutton",
			"navigation", "region", "table", "image":
			if name == "" {
				b.Errorf("%s: a %s has no name", b.URL(), role)
			}
		}
		count[role]++
	}
	for _, role := range []string{"main", "main heading", "banner"} {
		if count[role] != 1 {
			b.Errorf("%s has %d of %s, want 1", b.URL(), count[role], role)
		}
	}
	page := evaluate[struct {
		Title, Language string
		Wide            bool
	}](b,
		`({Title: document.title, Language: document.documentElement.lang, Wide: document.documentElement.scrollWidth > innerWidth})`)
	if !strings.HasSuffix(page.Title, " · Mandate") || page.Language != "en" {
		b.Errorf("%s has the title %q and the language %q", b.URL(), page.Title, page.Language)
	}
	if page.Wide {
		b.Errorf("%s is wider than the window", b.URL())
	}
}

// said returns the text of a value in the accessibility tree.
func said(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var text string
	_ = json.Unmarshal(v.Value, &text) // what is no text is empty
	return text
}

// level returns the level of a heading.
func level(n *accessibility.Node) string {
	for _, p := range n.Properties {
		if p.Name == "level" {
			return string(p.Value.Value)
		}
	}
	return ""
}

// focused returns the id of the focused element, or its name if it has no id. The browser obeys
// autofocus when it draws the page.
func (b *tab) focused() string {
	b.Helper()
	return evaluate[string](b,
		`new Promise(drawn => requestAnimationFrame(() => drawn(document.activeElement.id || document.activeElement.localName)))`)
}
