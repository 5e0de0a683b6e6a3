// Package wire sends requests, keeps the answers, and masks the secrets in both for reports.
package wire

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// How many bytes of a body a report shows, and a log, and one line.
const (
	shownBody  = 2 << 10
	loggedBody = 64 << 10
	shownLine  = 1 << 10

	shownAddress = 200
)

// Exchange is one request with its answer as a report shows it. The secrets in it are masked.
type Exchange struct {
	Sent   string `json:"sent"`
	Got    string `json:"got"`
	Repeat string `json:"repeat"` // a curl command, perhaps after what it needs

	// What two exchanges are compared by.
	Method  string `json:"-"`
	Address string `json:"-"` // without its query
	Status  string `json:"-"` // the code and its text
	Error   string `json:"-"` // the error in the body, and its description
}

// Exchange returns a request and its answer with their secrets masked.
func (m *Mask) Exchange(a *Answer) Exchange {
	return m.exchange(a, shownBody)
}

// Whole returns the same for a log, with longer bodies.
func (m *Mask) Whole(a *Answer) Exchange {
	return m.exchange(a, loggedBody)
}

func (m *Mask) exchange(a *Answer, most int) Exchange {
	m.Learn(a)
	failure := Printable(m.Hide(strings.TrimSpace(a.Text("error") + " " + a.Text("error_description"))))
	return Exchange{m.sent(a, most), m.got(a, most), m.curl(a, ""), a.Method, m.Hide(Bare(a.URL)), a.String(), failure}
}

// Line returns a request and the status of its answer in one line.
func (m *Mask) Line(a *Answer) string {
	line := a.Method + " " + m.hide(a.URL.String())
	if as := a.SentHeader.Get("Authorization"); as != "" {
		line += "  " + m.sentHeader("Authorization", as)
	}
	if a.SentForm != "" {
		line += "  " + m.hide(a.SentForm)
	}
	return Printable(strings.Join(strings.Fields(Clip(named(m.hideKnown(line)), shownLine)), " ") + " -> " + a.String())
}

func (m *Mask) sent(a *Answer, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", a.Method, Clip(m.hide(a.URL.String()), most))
	for _, name := range slices.Sorted(maps.Keys(a.SentHeader)) {
		for _, value := range a.SentHeader[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, Clip(m.sentHeader(name, value), most))
		}
	}
	if a.SentForm != "" {
		// Masking comes before clipping: a clipped text could end with half a secret, which would not be recognized.
		b.WriteString("\n" + Clip(m.hide(a.SentForm), most) + "\n")
	}
	return Printable(named(m.hideKnown(b.String())))
}

func (m *Mask) got(a *Answer, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", a)
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		for _, value := range a.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, Clip(m.gotHeader(name, value), most))
		}
	}
	switch {
	case m.learned[a]:
		fmt.Fprintf(&b, "\n(left out: the answer has more than %d values that may be secrets)\n", mostOfAnswer)
	case len(a.Body) > 0:
		b.WriteString("\n" + m.clipBody(string(a.Body), most) + "\n")
	}
	return Printable(named(m.hideKnown(b.String())))
}

// behind is how much of a body is masked behind what is shown. A secret that begins in what is shown is not longer.
const behind = 64 << 10

// clipBody masks and clips a body. Masking takes long, so a part that is not shown is left as it is.
func (m *Mask) clipBody(body string, most int) string {
	if len(body) <= most+behind {
		return Clip(m.hide(body), most)
	}
	shown := m.hide(body[:most+behind])
	if len(shown) <= most+behind/2 { // the names are much shorter than the secrets: the last one can be half a secret
		return Clip(m.hide(body), most)
	}
	return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(shown[:most], ""), len(body))
}

// longAddress matches an address that a report does not show in full.
var longAddress = regexp.MustCompile(fmt.Sprintf(`[A-Za-z][A-Za-z0-9+.-]*:[^\s"]{%d,}`, shownAddress))

// ClipAddresses shortens the addresses in a text whose secrets are masked.
func ClipAddresses(text string) string {
	return longAddress.ReplaceAllStringFunc(text, func(found string) string {
		address := strings.TrimRight(found, ",.:;")
		return Clip(address, shownAddress) + found[len(address):]
	})
}

// ClipWords shortens a text that is not yet masked. It leaves out the word in which it cuts: half a secret would not be
// recognized.
func ClipWords(text string, n int) string {
	if len(text) <= n {
		return text
	}
	kept := text[:n]
	if cut := strings.LastIndexAny(kept, " \t\n"); cut >= 0 {
		kept = kept[:cut]
	} else {
		kept = ""
	}
	return fmt.Sprintf("%s… (%d bytes in all)", kept, len(text))
}
