package people

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// readAddress returns an email address in the form in which it is stored and compared, and what is wrong with it, or
// "". Every address comes through it: of a form, a command, a list, an invitation, a sign-up and another server.
//
// RFC 5890 §2.3.2.1: a domain in letters beyond ASCII is stored as A-labels, which every program understands. The part
// before the @ has no such form, and only in ASCII does every database compare without upper and lower case in the same
// way.
func readAddress(text string) (address, wrong string) {
	address = strings.TrimSpace(text)
	at := strings.LastIndex(address, "@")
	if at >= 0 && !isASCII(address[at+1:]) && !hiddenInAddress(address) {
		domain, err := idna.Lookup.ToASCII(address[at+1:])
		if err == nil {
			address = address[:at+1] + domain
		}
	}
	return address, wrongAddress(address)
}

// wrongAddress returns what is wrong with an address in its form, or "".
func wrongAddress(address string) string {
	switch {
	case address == "":
		return "This field is required."
	// RFC 6532 §3.2 allows them in an address. But it could look like another one.
	case hiddenInAddress(address):
		return noHidden
	// RFC 2047 §2: some programs decode such a text, and then send to another address.
	case !isAddress(address), strings.Contains(address, "=?"):
		return "This is not an email address: write it as name@example.org."
	case !isASCII(address):
		return "Use an address of ASCII characters."
	}
	return ""
}

// lookedUp returns what somebody has typed to name an account: an address in its form, or any other text as it is.
func lookedUp(typed string) string {
	address, wrong := readAddress(typed)
	if wrong != "" {
		return strings.TrimSpace(typed)
	}
	return address
}

const hardToSee = "Remove the marks that are hard to see: a line through a letter, or a second dot on an i. The name " +
	"could look like that of somebody else."

// misleadingMarks reports whether a name has a mark that is hard to see: a dot above a letter that has one (UTS 39 §4,
// as with i and i̇), or a line through a letter, which makes another letter of it.
func misleadingMarks(name string) bool {
	dotted := false
	for _, r := range norm.NFD.String(name) {
		class := norm.NFD.PropertiesString(string(r)).CCC()
		switch {
		case r == '\u0307' && dotted:
			return true
		case class == 1 && unicode.Is(unicode.Inherited, r): // the class of overlays
			return true
		case class == 0:
			// Without its dot, the letter has it again from the mark.
			dotted = unicode.Is(unicode.Soft_Dotted, r) || r == 'ı' || r == 'ȷ'
		case class == 230: // above: a mark in between moves the dot
			dotted = false
		}
	}
	return false
}
