package config

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"mandate/provider/loopback"
)

const helpForm = "must be https://host/path or mailto:name@host"

var hexColor = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// checkBrand checks the form of the settings of the brand. Whether a colour stands out, and whether a logo can
// be used, is checked at the start.
func (l *loader) checkBrand() {
	const name, color = "BRAND_NAME", "BRAND_COLOR"
	if l.ok(name) && !isName(l.c.Brand.Name) {
		l.wrong("must have at most 60 characters that can be seen, on one line", name)
	}
	if l.ok(color) && l.c.Brand.Color != "" && !hexColor.MatchString(l.c.Brand.Color) {
		l.wrong("must be a colour: # and six hexadecimal digits (#0d5752). In YAML, write it in quotes", color)
	}
	for _, page := range []struct{ name, raw string }{
		{"HELP_URL", l.c.Brand.HelpURL},
		{"TERMS_URL", l.c.Brand.TermsURL},
		{"PRIVACY_URL", l.c.Brand.PrivacyURL},
	} {
		if l.ok(page.name) && page.raw != "" {
			l.checkPublicPage(page.name, page.raw)
		}
	}
}

// isName reports whether a text can stand in a title and beside a logo.
func isName(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= 60 && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) })
}

// checkPublicPage accepts an address that everybody may open. The help may also be an address for mail.
func (l *loader) checkPublicPage(name, raw string) {
	if name == "HELP_URL" && strings.HasPrefix(raw, "mailto:") {
		u, err := url.Parse(raw)
		if err != nil || !strings.Contains(u.Opaque, "@") {
			l.wrong(helpForm, name)
		}
		return
	}
	u, wrong := webURL(strings.SplitN(raw, "#", 2)[0]) // a part of a page is allowed
	switch {
	case wrong != "" && name == "HELP_URL" && strings.Contains(raw, "@"):
		l.wrong(helpForm, name)
	case wrong != "":
		l.wrong(wrong, name)
	case u.Scheme != "https" && !loopback.InBrowser(u.Hostname()):
		l.wrong("must begin with https://", name)
	}
}
