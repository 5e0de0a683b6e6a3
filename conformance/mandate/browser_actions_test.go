package mandate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// text returns the text of the page.
func (b *tab) text() string { return evaluate[string](b, "document.body.innerText") }

// section returns the text of the section whose heading has an id.
func (b *tab) section(id string) string {
	return evaluate[string](b, `document.getElementById("`+id+`").closest("section").innerText`)
}

// expect fails unless the page has this status and main heading.
func (b *tab) expect(status int64, heading string) {
	b.Helper()
	got := evaluate[string](b, `(document.querySelector("h1") || document.body).innerText`)
	if b.Status != status || got != heading {
		b.Fatalf("the browser shows %d %q at %s, want %d %q:\n%s", b.Status, got, b.URL(), status, heading, b.text())
	}
}

// says fails unless the page shows each of these texts.
func (b *tab) says(texts ...string) {
	b.Helper()
	shown := b.text()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			b.Errorf("%s does not say %q:\n%s", b.URL(), text, shown)
		}
	}
}

// find returns the only element with this role and this accessible name. It waits until
// the element is enabled.
func (b *tab) find(role, name string) cdp.BackendNodeID {
	b.Helper()
	var node *accessibility.Node
	waitFor(b, "the "+role+" "+name+" can be used", func() bool {
		all := b.all(role, name)
		if len(all) != 1 {
			b.Fatalf("%s shows %d %s with the name %q, want 1:\n%s", b.URL(), len(all), role, name, b.text())
		}
		node = all[0]
		return !b.off(node)
	})
	return node.BackendDOMNodeID
}

// off reports whether an element is disabled for a screen reader.
func (b *tab) off(node *accessibility.Node) bool {
	return slices.ContainsFunc(node.Properties, func(p *accessibility.Property) bool {
		return p.Name == accessibility.PropertyNameDisabled && string(p.Value.Value) == "true"
	})
}

func (b *tab) all(role, name string) []*accessibility.Node {
	b.Helper()
	document := call(b, dom.GetDocument, dom.GetDocumentParams{})
	found := call(b, accessibility.QueryAXTree,
		accessibility.QueryAXTreeParams{BackendNodeID: document.Root.BackendNodeID, Role: role, AccessibleName: name})
	return slices.DeleteFunc(found.Nodes, func(n *accessibility.Node) bool { return n.Ignored })
}

// click clicks an element with the mouse at its position on the screen.
func (b *tab) click(node cdp.BackendNodeID) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: node})
		if err != nil {
			return chromedp.Void{}, err
		}
		shape, err := cdp.Call(ctx, t, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: node})
		if err != nil || len(shape.Quads) == 0 {
			return chromedp.Void{}, fmt.Errorf("it has no place on the screen: %v", err)
		}
		q := shape.Quads[0]
		return chromedp.MouseClickXY((q[0]+q[4])/2, (q[1]+q[5])/2)(ctx, t)
	}
}

// press clicks a button that sends a form.
func (b *tab) press(name string) {
	b.Helper()
	b.leave(b.click(b.find("button", name)))
}

// follow clicks a link.
func (b *tab) follow(name string) {
	b.Helper()
	b.leave(b.click(b.find("link", name)))
}

// tick clicks a checkbox or a radio button.
func (b *tab) tick(role, name string) {
	b.Helper()
	b.do(b.click(b.find(role, name)))
}

// unfold shows what is folded below a line of the page.
func (b *tab) unfold(name string) {
	b.Helper()
	b.do(b.click(b.find("DisclosureTriangle", name)))
}

// fill replaces the content of a field.
func (b *tab) fill(label, text string) {
	b.Helper()
	b.do(b.click(b.find("textbox", label)))
	evaluate[chromedp.Void](b, "document.activeElement.select()")
	if text == "" {
		b.do(chromedp.KeyEvent("\b"))
		return
	}
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

// value returns the content of a field.
func (b *tab) value(label string) string {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, dom.Focus, dom.FocusParams{BackendNodeID: b.find("textbox", label)})
		return err
	}))
	return evaluate[string](b, "document.activeElement.value")
}

// logIn fills in the login page, which the tab must show.
func (b *tab) logIn(p person) {
	b.Helper()
	b.expect(200, "Sign in")
	name := "Username"
	if len(b.all("textbox", "Username or email address")) > 0 { // a server that sends mail
		name = "Username or email address"
	}
	b.fill(name, p.Name)
	b.fill("Password", p.Password)
	b.press("Sign in")
}
