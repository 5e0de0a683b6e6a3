package conformance

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
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

// confidential are the parameters, of requests and of answers, that are secrets.
var confidential = []string{"access_token", "refresh_token", "id_token", "code", "code_verifier", "token", "client_secret", "password",
	"client_assertion", "assertion", "id_token_hint", "logout_token", "registration_access_token", "initial_access_token", "device_code"}

// shortest is the least length of what is masked where it stands: a shorter text may stand there by chance.
const shortest = 6

// mask knows secrets by the names that are printed in their place. The names are those of shell variables,
// so that a printed command works when they are set.
type mask struct {
	names map[string]string // by secret
	taken map[string]int
}

func newMask() *mask { return &mask{map[string]string{}, map[string]int{}} }

func (m *mask) clone() *mask { return &mask{maps.Clone(m.names), maps.Clone(m.taken)} }

func (m *mask) add(name, secret string) {
	if len(secret) < shortest || m.names[secret] != "" {
		return
	}
	name = strings.ToUpper(name)
	m.taken[name]++
	if m.taken[name] > 1 {
		name += fmt.Sprint(m.taken[name])
	}
	m.names[secret] = "$" + name
}

// learn finds the secrets of an exchange.
func (m *mask) learn(a *Answer) {
	m.learnForm(a.SentForm)
	m.learnForm(a.URL.RawQuery)
	m.learnAuthorization(a.SentHeader.Get("Authorization"))
	for _, pair := range strings.Split(a.SentHeader.Get("Cookie"), "; ") {
		_, value, _ := strings.Cut(pair, "=")
		m.add("cookie", value)
	}
	for _, line := range a.Header.Values("Set-Cookie") {
		cookie, err := http.ParseSetCookie(line)
		if err == nil {
			m.add("cookie", cookie.Value)
		}
	}
	location, err := url.Parse(a.Header.Get("Location"))
	if err == nil {
		m.learnForm(location.RawQuery)
		m.learnForm(location.EscapedFragment())
	}
	object := a.JSON()
	for _, name := range confidential {
		value, _ := object[name].(string)
		m.add(name, value)
	}
	for _, found := range hiddenValue.FindAllSubmatch(a.Body, -1) {
		if !bytes.HasPrefix(found[1], []byte("http")) { // an issuer is no secret
			m.add("hidden", string(found[1]))
		}
	}
}

// hiddenValue is what a page has a form carry: tickets that are as good as the session for a while.
var hiddenValue = regexp.MustCompile(`<input[^>]+type="?hidden"?[^>]+value="([^"]{20,})"`)

func (m *mask) learnForm(text string) {
	form, _ := url.ParseQuery(text)
	for _, name := range confidential {
		for _, value := range form[name] {
			m.add(name, value)
		}
	}
}

func (m *mask) learnAuthorization(header string) {
	scheme, rest, _ := strings.Cut(header, " ")
	switch strings.ToLower(scheme) {
	case "bearer":
		m.add("access_token", rest)
	case "basic":
		raw, _ := base64.StdEncoding.DecodeString(rest)
		_, secret, _ := strings.Cut(string(raw), ":")
		m.add("client_secret", secret)
	}
}

// hide puts the names in the place of the secrets.
func (m *mask) hide(text string) string {
	secrets := slices.SortedFunc(maps.Keys(m.names), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, secret := range secrets {
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			text = strings.ReplaceAll(text, form, m.names[secret])
		}
	}
	return text
}

const shownBody = 2 << 10

// Exchange is one request with its answer as a report shows it: secrets are masked.
type Exchange struct {
	Sent   string `json:"sent"`
	Got    string `json:"got"`
	Repeat string `json:"repeat"` // with curl
}

func (m *mask) exchange(a *Answer) Exchange {
	return Exchange{m.sent(a), m.got(a), m.curl(a)}
}

func (m *mask) sent(a *Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", a.Method, a.URL)
	for _, name := range slices.Sorted(maps.Keys(a.SentHeader)) {
		for _, value := range a.SentHeader[name] {
			if scheme, rest, found := strings.Cut(value, " "); found && name == "Authorization" && strings.EqualFold(scheme, "Basic") {
				raw, err := base64.StdEncoding.DecodeString(rest)
				if err == nil {
					value = scheme + " (" + string(raw) + ")"
				}
			}
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if a.SentForm != "" {
		b.WriteString("\n" + clip(a.SentForm, shownBody) + "\n")
	}
	return m.hide(b.String())
}

func (m *mask) got(a *Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", a)
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		for _, value := range a.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, clip(value, shownBody))
		}
	}
	if len(a.Body) > 0 {
		b.WriteString("\n" + clip(string(a.Body), shownBody) + "\n")
	}
	return m.hide(printable(b.String()))
}

// curl is a command that sends the same request. The secrets in it are variables.
func (m *mask) curl(a *Answer) string {
	words := []string{"curl", "-i"}
	if a.Method != http.MethodGet && (a.Method != http.MethodPost || a.SentForm == "") {
		words = append(words, "-X", a.Method)
	}
	words = append(words, m.quote(a.URL.String()))
	for _, name := range slices.Sorted(maps.Keys(a.SentHeader)) {
		for _, value := range a.SentHeader[name] {
			scheme, rest, _ := strings.Cut(value, " ")
			raw, err := base64.StdEncoding.DecodeString(rest)
			switch {
			case name == "Authorization" && strings.EqualFold(scheme, "Basic") && err == nil:
				words = append(words, "-u", m.quote(string(raw)))
			case name == "Cookie":
				words = append(words, "-b", m.quote(value))
			case name == "User-Agent" || name == "Content-Type" && a.contentType == formEncoded:
			default:
				words = append(words, "-H", m.quote(name+": "+value))
			}
		}
	}
	if a.SentForm != "" {
		for pair := range strings.SplitSeq(clip(a.SentForm, shownBody), "&") {
			words = append(words, "-d", m.quote(pair))
		}
	}
	return strings.Join(words, " ")
}

var variable = regexp.MustCompile(`\$[A-Z][A-Z_]*[0-9]*`)

// quote writes a word for a shell, in which the names of secrets stand as variables.
func (m *mask) quote(word string) string {
	hidden := m.hide(word)
	if hidden == word {
		return shellQuote(word)
	}
	var b strings.Builder
	at := 0
	for _, found := range variable.FindAllStringIndex(hidden, -1) {
		b.WriteString(shellQuote(hidden[at:found[0]]) + `"` + hidden[found[0]:found[1]] + `"`)
		at = found[1]
	}
	return b.String() + shellQuote(hidden[at:])
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

// clip shortens a text to n bytes, and says so.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(text[:n], ""), len(text))
}

// printable keeps what a server sent from acting on a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}
