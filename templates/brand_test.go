package templates

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// Every colour that is accepted has the contrasts of WCAG 2.2 in both schemes, and every other one is refused with a
// darker one that is accepted.
func TestColorsOfABrand(t *testing.T) {
	sheet, err := static.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, err := tokens(string(sheet))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	colors := []string{"#000000", "#0d5752", "#0050b3", "#b3261e", "#6a1b9a", "#767676", "#8a2be2", "#006400", "#ffffff",
		"#ffcc00", "#ff0000", "#00ff00", "#0000ff", "#FFCC00"}
	for range 300 {
		colors = append(colors, fmt.Sprintf("#%06x", random.IntN(1<<24)))
	}
	accepted := 0
	for _, c := range colors {
		p, err := newPalette(c)
		if err != nil {
			m := regexp.MustCompile(
				`^has a contrast of [1-4]\.\d\d to 1 against the background #[0-9a-f]{6}, and links need 4\.5 to 1 \(WCAG 2\.2 §1\.4\.3\): use a darker one, such as (#[0-9a-f]{6})$`).FindStringSubmatch(err.Error())
			if m == nil {
				t.Fatalf("%s: %v", c, err)
			}
			p, err = newPalette(m[1])
			if err != nil {
				t.Fatalf("%s, which was proposed in place of %s: %v", m[1], c, err)
			}
		} else {
			accepted++
		}
		for scheme, tokens := range map[*accents]map[string]color{&p.light: light, &p.dark: dark} {
			tokens["accent"], tokens["accent-over"], tokens["on-accent"] = scheme.accent, scheme.over, scheme.on
		}
		checkContrasts(t, c, light, dark)
	}
	if accepted < 50 || accepted > 250 {
		t.Errorf("%d of %d colours were accepted", accepted, len(colors))
	}
	for _, c := range []string{"", "red", "#fff", "0d5752", "#0d575", "#0d57521", "#gggggg", "#0d5752;}", "rgb(1,2,3)"} {
		if _, err := newPalette(c); err == nil {
			t.Errorf("%q is a colour", c)
		}
	}
}

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, width, height)))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func svgOf(content string) []byte {
	return []byte(
		`<?xml version="1.0"?><!-- a mark --><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 20 10">` + content + `</svg>`)
}

func TestLogos(t *testing.T) {
	for _, body := range [][]byte{
		pngOf(t, 10, 10), pngOf(t, 300, 50), svgOf(""),
		svgOf(`<rect width="1" height="1" fill="url(#a)"/><linearGradient id="a"/><use href="#a"/><use xlink:href="#a"/>`),
		svgOf(
			`<style>@media (prefers-color-scheme: dark) { path { fill: #fff } }</style><image href="data:image/png;base64,AAAA"/>`), svgOf(`<title>Example</title><text>x</text>`),
		[]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="20px" height="10"/>`),
	} {
		if _, err := readLogo(body); err != nil {
			t.Errorf("%.80q: %v", body, err)
		}
	}
	for rule, body := range map[string][]byte{
		"nothing":                nil,
		"text":                   []byte("a logo"),
		"HTML":                   []byte(`<html><body></body></html>`),
		"an svg of no namespace": []byte(`<svg viewBox="0 0 1 1"></svg>`),
		"cut":                    svgOf("")[:80],
		"two roots":              append(svgOf(""), `<svg`...),
		"too large":              svgOf(strings.Repeat("<g></g>", MostLogo/7)),
		"a cut PNG":              pngOf(t, 10, 10)[:40],
		"a huge PNG":             pngOf(t, mostPixels+1, 1),
		"a script":               svgOf(`<script>alert(1)</script>`),
		"a script in capitals":   svgOf(`<SCRIPT>alert(1)</SCRIPT>`),
		"a handler":              svgOf(`<rect onclick="alert(1)"/>`),
		"a handler of the root":  []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" ONLOAD="alert(1)"/>`),
		"HTML inside":            svgOf(`<foreignObject><p xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>`),
		"a link with a script":   svgOf(`<a href="javascript:alert(1)"><rect/></a>`),
		"a link elsewhere":       svgOf(`<a xlink:href="https://evil.example/"><rect/></a>`),
		"a picture elsewhere":    svgOf(`<image href="https://evil.example/x.png"/>`),
		"a document inside":      svgOf(`<image href="data:text/html,x"/>`),
		"a style elsewhere":      svgOf(`<style>@import "https://evil.example/x.css";</style>`),
		"a font elsewhere":       svgOf(`<style>@font-face { src: url( 'https://evil.example/x' ) }</style>`),
		"a style with escapes":   svgOf(`<rect style="fill: u\72l(https://evil.example/x)"/>`),
		"a fill elsewhere":       svgOf(`<rect fill="URL(https://evil.example/x#a)"/>`),
		"a document type": []byte(
			`<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">&a;</svg>`),
		"an instruction": []byte(
			`<?xml-stylesheet href="https://evil.example/x.css"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>`),
		"no size":         []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`),
		"an endless size": []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 Inf NaN"/>`),
	} {
		_, err := readLogo(body)
		if err == nil {
			t.Errorf("%s: accepted", rule)
		} else if first := err.Error()[:2]; first != "is" && first != "ha" && first != "co" && first != "li" &&
			first != "lo" {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

// Any input is accepted or refused, and an accepted logo has a size.
func FuzzLogo(f *testing.F) {
	for _, content := range []string{"", `<a href="#x"/>`, `<style>a{}</style>`, `<image xlink:href="data:image/png,"/>`,
		"<![CDATA[x]]>", "<g/></svg><svg>"} {
		f.Add(svgOf(content))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := readLogo(body)
		if err != nil {
			return
		}
		if l.width <= 0 || l.height <= 0 || l.width != l.width {
			t.Errorf("a logo of %v × %v", l.width, l.height)
		}
	})
}

const address = "https://example.com/"

func TestBrand(t *testing.T) {
	b := Brand{Name: `Müller & "Söhne"`, Logo: svgOf(""), Color: "#8a1c7c", HelpURL: "mailto:help@example.com",
		TermsURL: address + "terms?a=1&b=2", PrivacyURL: address + "privacy"}
	pages, err := New("/auth", b)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range pages.Languages.All() {
		for _, page := range []any{Login{Action: "/login/"}, Consent{Action: "/o/consent/"}, Home{Frame: alice},
			Groups{Frame: admin, Action: "/g"}, ErrorPage{Heading: "x"}} {
			body, err := pages.Render(l, page)
			if err != nil {
				t.Fatal(err)
			}
			text := string(body)
			for _, part := range []string{`Müller &amp; &#34;Söhne&#34;</title>`,
				`<span>Müller &amp; &#34;Söhne&#34;</span></a>`, `<a href="mailto:help@example.com">` + l.T("Help") + "</a>",
				`<a href="https://example.com/terms?a=1&amp;b=2">` + l.T("Terms of service") + "</a>",
				`<a href="https://example.com/privacy">` + l.T("Privacy") + "</a>", `width="56" height="28"`} {
				if !strings.Contains(text, part) {
					t.Errorf("%s, %T: no %s", l.Tag(), page, part)
				}
			}
			if strings.Contains(text, "Mandate") {
				t.Errorf("%T: the page has our name", page)
			}
			body = regexp.MustCompile(`href="(https://example\.com/|mailto:)[^"]*"`).ReplaceAll(body, []byte(`href="/"`))
			for _, fault := range checkDocument(body) {
				t.Errorf("%s, %T: %s", l.Tag(), page, fault)
			}
		}
	}
	sheet, logo := get(t, pages, "style.css"), get(t, pages, "logo")
	if body := sheet.Body.String(); !strings.Contains(body, "--accent: #8a1c7c;") ||
		!strings.HasPrefix(body, "/* The look") {
		t.Errorf("the style sheet ends with %s", body[len(body)-300:])
	}
	if !bytes.Equal(logo.Body.Bytes(), b.Logo) || logo.Header().Get("Content-Type") != svgType ||
		!strings.Contains(logo.Header().Get("Content-Security-Policy"), "default-src 'none'") ||
		!strings.HasSuffix(logo.Header().Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the logo: %v", logo.Header())
	}
	icon := get(t, pages, "icon")
	if icon.Body.String() != logo.Body.String() {
		t.Error("the icon is not the logo")
	}

	// A wide logo stands alone, and says the name to those who do not see it.
	b.Logo = pngOf(t, 400, 40)
	pages, err = New("", b)
	if err != nil {
		t.Fatal(err)
	}
	body, err := pages.Render(pages.Languages.English(), Login{})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(
		`<a class="brand" href="/"><img src="/static/logo\.[0-9a-f]{8}\.png" alt="Müller &amp; &#34;Söhne&#34;" width="200" height="20"></a>`).Match(body) {
		t.Errorf("%s", body)
	}
	if icon := get(t, pages, "icon").Body.String(); !strings.Contains(icon, ">M</text>") ||
		!strings.Contains(icon, `fill="#8a1c7c"`) {
		t.Errorf("the icon: %s", icon)
	}
	for _, wrong := range []Brand{{Color: "#ffff00"}, {Logo: []byte("x")}} {
		if _, err := New("", wrong); err == nil {
			t.Errorf("New accepts %v", wrong)
		}
	}

	// Without a brand, nothing of it is left.
	pages, err = New("", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	body, err = pages.Render(pages.Languages.English(), Login{})
	if err != nil || strings.Contains(string(body), "<footer") ||
		!strings.Contains(string(body), "<span>Mandate</span></a>") {
		t.Errorf("%v %s", err, body)
	}
}

// get returns a static file by its name in templates.
func get(t *testing.T, p *Pages, name string) *httptest.ResponseRecorder {
	t.Helper()
	url, err := p.assets.url("", name)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	p.Static().ServeHTTP(w, httptest.NewRequest("GET", url, nil))
	if w.Code != 200 {
		t.Fatalf("%s: %d", url, w.Code)
	}
	return w
}

func TestBrandOfMail(t *testing.T) {
	mails, err := NewMails(Brand{Name: "Müller & Söhne", Color: "#8a1c7c", HelpURL: "mailto:help@example.com",
		TermsURL: address + "terms?a=1&b=2", PrivacyURL: address + "privacy"})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range mails.Languages.All() {
		for _, s := range mailSamples() {
			_, text, html, err := mails.Render(l, s.page)
			if err != nil {
				t.Fatal(err)
			}
			foot := "\n\n" + strings.ReplaceAll(l.T("Help: {url}"), "{url}", "mailto:help@example.com") + "\n" +
				strings.ReplaceAll(l.T("Terms of service: {url}"), "{url}", address+"terms?a=1&b=2") + "\n" +
				strings.ReplaceAll(l.T("Privacy: {url}"), "{url}", address+"privacy") + "\n"
			if !strings.HasSuffix(text, foot) || strings.Contains(text, "\n\n\n") {
				t.Fatalf("%s, %s: the text ends with %q, want %q", l.Tag(), s.name, text[max(0, len(text)-300):], foot)
			}
			for _, part := range []string{">Müller &amp; Söhne</p>", "background: #8a1c7c;",
				`<a href="https://example.com/terms?a=1&amp;b=2">https://example.com/terms?a=1&amp;b=2</a>`,
				`<a href="mailto:help@example.com">`} {
				if !strings.Contains(html, part) {
					t.Fatalf("%s, %s: no %s in\n%s", l.Tag(), s.name, part, html)
				}
			}
			if strings.Contains(html, "Mandate") || strings.Contains(html, "ZgotmplZ") {
				t.Errorf("%s, %s: %s", l.Tag(), s.name, html)
			}
		}
	}
	_, err = NewMails(Brand{Color: "#ffff00"})
	if err == nil {
		t.Error("NewMails accepts a colour that nobody can read")
	}
}
