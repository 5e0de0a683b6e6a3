package templates

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Brand is how the pages and the mail of an operator look. The zero value is the brand of this program.
type Brand struct {
	// Name is the name of the service: in the header and the title of each page, in mail, in authenticator apps and in
	// the browser's list of passkeys.
	//
	// If it is empty, it is Mandate, and authenticator apps show the host of `BASE_URL`.
	Name string `key:"BRAND_NAME" default:"" subject:"Brand"`
	// LogoFile is the [logo](make-it-yours.md#a-logo) in the header: an SVG without scripts that loads nothing, or a
	// PNG, of at most 128 KiB.
	//
	// If it is more than twice as wide as high, it stands without `BRAND_NAME`, because it contains the name. The file
	// is read at the start.
	LogoFile string `key:"BRAND_LOGO_FILE" default:""`
	// Color is the colour of links and buttons, such as `"#0d5752"`.
	//
	// The server does not start if it is hard to read on the backgrounds of the pages: it needs a contrast of 4.5 to 1
	// (WCAG 2.2 §1.4.3). The colours for the dark scheme and for the pointer are derived from it.
	Color string `key:"BRAND_COLOR" default:""`
	// HelpURL is the page that helps people, or `mailto:` and an address. Each page and each message links to it.
	HelpURL string `key:"HELP_URL" default:""`
	// TermsURL is the page with the terms of the service. Each page and each message links to it.
	TermsURL string `key:"TERMS_URL" default:""`
	// PrivacyURL is the page with the privacy policy of the service. Each page and each message links to it.
	PrivacyURL string `key:"PRIVACY_URL" default:""`

	Logo []byte // the content of LogoFile; empty: the first letter of the name
}

const ownName = "Mandate"

// brand is a Brand that was checked.
type brand struct {
	Brand
	palette *palette // nil: the style sheet has the colours
	logo    *logo    // nil: there is none
}

func newBrand(b Brand) (*brand, error) {
	checked := &brand{Brand: b}
	checked.Name = cmp.Or(b.Name, ownName)
	var err error
	if b.Color != "" {
		checked.palette, err = newPalette(b.Color)
		if err != nil {
			return nil, fmt.Errorf("the colour %w", err)
		}
	}
	if len(b.Logo) > 0 {
		checked.logo, err = readLogo(b.Logo)
		if err != nil {
			return nil, fmt.Errorf("the logo %w", err)
		}
	}
	return checked, nil
}

// CheckColor returns what is wrong with the colour of a brand, or nil. A text begins with a verb.
func CheckColor(color string) error {
	_, err := newPalette(color)
	return err
}

// CheckLogo returns what is wrong with a logo, or nil. A text begins with a verb.
func CheckLogo(body []byte) error {
	_, err := readLogo(body)
	return err
}

// files returns the static files of the brand by their names in templates: the style sheet with its colours, the icon
// of the browser's tab, and the logo of the header.
func (b *brand) files(sheet, icon []byte) map[string]asset {
	files := map[string]asset{"style.css": {kind: "text/css; charset=utf-8", body: sheet},
		"icon": {kind: svgType, body: icon}}
	if b.palette != nil {
		files["style.css"] = asset{kind: files["style.css"].kind,
			body: append(sheet[:len(sheet):len(sheet)], b.palette.css()...)}
	}
	if b.Name != ownName {
		files["icon"] = asset{kind: svgType, body: []byte(b.letter())}
	}
	files["logo"] = files["icon"]
	if b.logo != nil {
		files["logo"] = asset{kind: b.logo.kind, body: b.logo.body}
		if !b.logo.wide() {
			files["icon"] = files["logo"]
		}
	}
	return files
}

// letter draws the first letter of the name in the colour of the brand.
func (b *brand) letter() string {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(b.Name))
	ground := "#0d4f4c"
	if b.palette != nil {
		ground = b.palette.light.accent.String()
	}
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7.5" fill="` +
		ground +
		`"/><text x="16" y="23" text-anchor="middle" font-family="system-ui, sans-serif" font-size="20" ` +
		`font-weight="700" fill="#ffffff">` +
		template.HTMLEscapeString(string(unicode.ToUpper(first))) + "</text></svg>"
}

// logoHeight is the height of the logo in the header, in CSS pixels, and mostWidth its largest width.
const (
	logoHeight = 28
	mostWidth  = 200
)

// logoSize returns the size of the logo in the header.
func (b *brand) logoSize() (width, height int) {
	if b.logo == nil {
		return logoHeight, logoHeight
	}
	scale := min(logoHeight/b.logo.height, mostWidth/b.logo.width)
	return max(1, int(math.Round(b.logo.width*scale))), max(1, int(math.Round(b.logo.height*scale)))
}

// wide reports whether the logo stands without the name, because it contains the name.
func (b *brand) wide() bool { return b.logo != nil && b.logo.wide() }

// funcs returns the functions of the layout for the brand.
func (b *brand) funcs() template.FuncMap {
	width, height := b.logoSize()
	return template.FuncMap{
		"brand":       func() string { return b.Name },
		"wide":        b.wide,
		"logo_width":  func() int { return width },
		"logo_height": func() int { return height },
		"help":        func() string { return b.HelpURL },
		"terms":       func() string { return b.TermsURL },
		"privacy":     func() string { return b.PrivacyURL },
	}
}
