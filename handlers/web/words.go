package web

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"mandate/templates/languages"
)

// BrowserName returns a short name for a browser, or "" if its User-Agent contains no known
// name. Every User-Agent contains Mozilla, and most contain the names of other browsers. So
// the order matters: the first mark that is found decides.
func BrowserName(l *languages.Language, agent string) string {
	browser := firstNamed(agent, "Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "FxiOS/", "Firefox",
		"SamsungBrowser/", "Samsung Internet", "Chrome/", "Chrome", "CriOS/", "Chrome", "Safari/", "Safari", "curl/", "curl")
	system := firstNamed(agent, "iPhone", "iPhone", "iPad", "iPad", "Android", "Android", "CrOS", "ChromeOS",
		"Windows", "Windows", "Mac OS X", "macOS", "Linux", "Linux")
	switch {
	case browser == "" && system == "":
		return ""
	case browser == "":
		return l.T("Browser on %s", system)
	case system == "":
		return browser
	}
	return l.T("%[1]s on %[2]s", browser, system)
}

// firstProduct matches the name of the first product and its version, if that is a number. No address of a page
// matches: the name has no dot, and the version no letter.
var firstProduct = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]{0,30})(/[0-9][0-9.]{0,14})?(?:[ /]|$)`)

// Day writes a date on a page that is in English.
func Day(at int64) string { return time.Unix(at, 0).UTC().Format("2 January 2006") }

// Moment writes a time on a page that is in English.
func Moment(at int64) string { return time.Unix(at, 0).UTC().Format("2 January 2006, 15:04 UTC") }

// device returns a short name for a browser, in words of this server alone. A User-Agent may be any text of a
// stranger, such as a message to the person or the administrator who reads the page.
func DeviceName(l *languages.Language, agent string) string {
	return cmp.Or(BrowserName(l, agent), l.T("Unknown browser"))
}

// Program returns what a device calls itself, or "". The page asks whether to approve the device, so a stranger must
// not be able to write a sentence there: only the first product is shown.
// RFC 9110 §10.1.5: the products of a User-Agent stand in the order of their significance.
func Program(l *languages.Language, agent string) string {
	product := firstProduct.FindStringSubmatch(agent)
	switch {
	case product == nil:
		return ""
	case product[1] == "Mozilla": // the first product of each browser
		return BrowserName(l, agent)
	}
	return product[1] + product[2]
}

// firstNamed returns the name of the first mark that the text contains. Its
// arguments are pairs of a mark and a name.
func firstNamed(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if strings.Contains(text, pairs[i]) {
			return pairs[i+1]
		}
	}
	return ""
}

// PasswordHint says how long a new password must be, and what makes a good one.
func (s *Site) PasswordHint(l *languages.Language) string {
	shortest, longest := s.Provider.People.PasswordLengths()
	return l.T(
		"Use %d to %d characters. Several unrelated words are easier to remember and harder to guess than one word with "+
			"special characters.",
		shortest, longest,
	)
}
