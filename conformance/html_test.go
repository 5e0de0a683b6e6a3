package conformance

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/rules"
	"mandate/conformance/wire"
)

// Text from a hostile server that would act in the browser of a reader.
const hostile = `</pre></style></title><script>alert(1)</script><img src=https://attacker.example/x onerror=alert(1)><a href="javascript:alert(1)">"'` + "`{{.}}"

// hostileReport has every outcome, with the hostile text in each place for text from a server.
func hostileReport() *engine.Report {
	r := &engine.Report{Issuer: "https://issuer.example/" + hostile, Began: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		Duration: 1234 * time.Millisecond,
		Target:   "target.yaml", Selection: "all", Version: "mandate v1.0.0", Documents: rules.Documents()}
	for i, rule := range rules.All() {
		result := check.Result{Rule: rule,
			Status: []check.Status{check.Pass, check.Fail, check.Skip, check.Blocked, check.Broken, check.Unobservable,
				check.Inapplicable}[i%7]}
		if result.Status != check.Pass {
			result.Reason = "because " + hostile
		}
		if result.Status == check.Fail {
			result.Exchange = &wire.Exchange{Sent: "GET " + hostile, Got: "200 OK\n" + hostile, Repeat: "curl " + hostile}
			result.Earlier = 2
		}
		r.Results = append(r.Results, result)
	}
	return r
}

func rendered(t *testing.T, r *engine.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	err := r.HTML(&b)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A browser silently corrects wrong HTML, so the test looks at the tokens.
func TestHTMLIsWellFormed(t *testing.T) {
	var open []string
	ids, headings := map[string]bool{}, []string{}
	z := html.NewTokenizer(bytes.NewReader(rendered(t, hostileReport())))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		switch token.Type {
		case html.StartTagToken:
			if slices.Contains([]string{"p", "h1", "h2", "h3", "h4"}, token.Data) {
				if slices.Contains(open, "p") {
					t.Errorf("<%s> inside of <p>", token.Data)
				}
				headings = append(headings, strings.TrimPrefix(token.Data, "p"))
			}
			if id := attributeOf(&html.Node{Attr: token.Attr}, "id"); id != "" {
				if ids[id] {
					t.Errorf("the id %s stands twice", id)
				}
				ids[id] = true
			}
			if token.Data != "meta" {
				open = append(open, token.Data)
			}
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("</%s> closes %v", token.Data, open)
			}
			open = open[:len(open)-1]
		case html.SelfClosingTagToken:
			t.Errorf("<%s/> closes itself", token.Data)
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
	level := byte('0')
	for _, h := range headings {
		if h == "" {
			continue
		}
		if h[1] > level+1 {
			t.Errorf("<%s> comes after a heading of level %c", h, level)
		}
		level = h[1]
	}
	if slices.ContainsFunc(rules.All(), func(r check.Rule) bool { return !ids[r.ID] }) {
		t.Error("a rule is missing, or has no id that a link could lead to")
	}
}

func TestHTMLIsHarmless(t *testing.T) {
	body := rendered(t, hostileReport())
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	ids, links, shown := map[string]bool{}, []string{}, 0
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			shown += strings.Count(n.Data, hostile)
			continue
		}
		if slices.Contains([]string{"script", "img", "iframe", "object", "embed", "link", "base", "form"}, n.Data) {
			t.Errorf("there is a <%s>", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "href":
				links = append(links, a.Val)
			case a.Key == "src" || a.Key == "style" || strings.HasPrefix(a.Key, "on") ||
				strings.Contains(a.Val, "attacker.example"):
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
		}
		if n.Data == "style" && (strings.Contains(textIn(n), "url(") || strings.Contains(textIn(n), "@import") ||
			strings.Contains(textIn(n), "attacker")) {
			t.Error("the style loads something")
		}
	}
	if shown < 100 {
		t.Errorf("what the server sent is shown %d times: it has to be seen as it came", shown)
	}
	for _, link := range links {
		if specification(link) {
			continue
		}
		// HTML §7.4.6.4: a browser decodes the fragment to find the element.
		to, err := url.PathUnescape(strings.TrimPrefix(link, "#"))
		if err != nil || link[0] != '#' || !ids[to] {
			t.Errorf("a link leads to %s", link)
		}
	}
	if len(links) == 0 || bytes.Contains(body, []byte("ZgotmplZ")) {
		t.Error("there is no link, or html/template refused a value")
	}
}

// specification reports whether a link leads to a document of the rules.
func specification(link string) bool {
	u, err := url.Parse(link)
	return err == nil && u.Scheme == "https" &&
		slices.Contains([]string{"www.rfc-editor.org", "datatracker.ietf.org", "openid.net", "modelcontextprotocol.io"},
			u.Host)
}

func textIn(n *html.Node) string {
	if n.FirstChild == nil {
		return ""
	}
	return n.FirstChild.Data
}

func TestVerdict(t *testing.T) {
	result := func(level check.Level, status check.Status) check.Result {
		return check.Result{Rule: check.Rule{Level: level}, Status: status}
	}
	for want, results := range map[string][]check.Result{
		"No MUST rule could be tried. 1 rule was not tried.":                                                                        {result(check.Must, check.Skip)},
		"1 of 1 MUST rules could not be tried, because a step before it did not work.":                                              {result(check.Must, check.Blocked)},
		"1 of 3 MUST rules could not be tried, because a step before it did not work. The other 2 hold.":                            {result(check.Must, check.Pass), result(check.Must, check.Pass), result(check.Must, check.Blocked)},
		"1 of the 1 MUST rules that could be tried does not hold. 1 more MUST rule was not reached: a step before it did not work.": {result(check.Must, check.Fail), result(check.Must, check.Blocked)},
		"2 of 3 MUST rules could not be tried, because a step before them did not work. The other one holds.":                       {result(check.Must, check.Pass), result(check.Must, check.Blocked), result(check.Must, check.Blocked)},
		"All 2 MUST rules that could be tried hold.":                                                                                {result(check.Must, check.Pass), result(check.Must, check.Pass), result(check.May, check.Fail), result(check.Should, check.Unobservable)},
		"1 of the 2 MUST rules that could be tried does not hold. 1 of 2 SHOULD rules is not followed.": {
			result(check.Must, check.Pass), result(check.Must, check.Fail),
			result(check.Should, check.Fail), result(check.Should, check.Pass)},
		"2 of the 2 MUST rules that could be tried do not hold. 1 check is broken, and of its rules nothing is known.": {
			result(check.Must, check.Fail), result(check.Must, check.Fail),
			result(check.Must, check.Broken)},
	} {
		if got := (&engine.Report{Results: results}).Verdict(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func attributeOf(n *html.Node, name string) string {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if i < 0 {
		return ""
	}
	return n.Attr[i].Val
}
