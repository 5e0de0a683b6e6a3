package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Answer is what came back for one request, and the request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	// Of the request:
	Method      string
	URL         *url.URL
	SentHeader  http.Header
	SentForm    string // the body, form-encoded
	contentType string
}

// JSON is the object that came back, or nil if it was none.
func (a *Answer) JSON() map[string]any {
	var object map[string]any
	err := json.Unmarshal(a.Body, &object)
	if err != nil {
		return nil
	}
	return object
}

// Text is a string member of the object that came back.
func (a *Answer) Text(name string) string {
	text, _ := a.JSON()[name].(string)
	return text
}

// Granted says whether this is an answer of the token endpoint with an access token.
func (a *Answer) Granted() bool {
	return a.Status/100 == 2 && a.Text("access_token") != ""
}

// MediaType is the Content-Type without its parameters.
func (a *Answer) MediaType() string {
	mediaType, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}

func (a *Answer) String() string {
	return fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status))
}

const shownBody = 2 << 10

// Exchange is one request with its answer as a report shows it: secrets are masked.
type Exchange struct {
	Sent   string `json:"sent"`
	Got    string `json:"got"`
	Repeat string `json:"repeat"` // with curl
}

func (m *Mask) Exchange(a *Answer) Exchange {
	return Exchange{m.sent(a), m.got(a), m.curl(a)}
}

func (m *Mask) sent(a *Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", a.Method, m.Hide(a.URL.String()))
	for _, name := range slices.Sorted(maps.Keys(a.SentHeader)) {
		for _, value := range a.SentHeader[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, m.sentHeader(name, value))
		}
	}
	if a.SentForm != "" {
		// A text that is cut first could keep the half of a secret, which nothing knows.
		b.WriteString("\n" + Clip(m.Hide(a.SentForm), shownBody) + "\n")
	}
	return m.hideKnown(b.String())
}

func (m *Mask) got(a *Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", a)
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		for _, value := range a.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, Clip(m.gotHeader(name, value), shownBody))
		}
	}
	if len(a.Body) > 0 {
		b.WriteString("\n" + Clip(m.Hide(string(a.Body)), shownBody) + "\n")
	}
	return Printable(m.hideKnown(b.String()))
}

func shellQuote(word string) string {
	if word == "" {
		return ""
	}
	plain := !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~/:=%+@,", r))
	})
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Clip shortens a text to n bytes, and says so.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(text[:n], ""), len(text))
}

// Printable keeps what a server sent from acting on a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

// Failure is an error response in words.
func (a *Answer) Failure() string {
	if code := a.Text("error"); code != "" {
		return fmt.Sprintf("%s, %s (%s)", a, code, a.Text("error_description"))
	}
	return a.String()
}
