package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// confidential are the names of parameters and members whose values are secrets, in requests and in answers.
var confidential = []string{"access_token", "refresh_token", "id_token", "code", "code_verifier", "token", "client_secret", "password",
	"client_assertion", "assertion", "id_token_hint", "logout_token", "registration_access_token", "initial_access_token", "device_code"}

// shortest is the least length of a secret that is masked in any text. A shorter secret could be part of other words
// by chance; it is masked only where the name of its parameter, member, field or header stands beside it.
const shortest = 8

// Mask replaces secrets by names. The names are those of shell variables, so that a printed curl command works when
// these variables are set. Secrets are the password and the client secrets of the target, and what the server issues.
// A value that a check has made up, such as an invented token or a scope, is shown.
type Mask struct {
	names  map[string]string // the name of each secret
	taken  map[string]int
	fields []string        // form fields that a password was typed into
	chosen map[string]bool // values that the checks have made up

	issuer map[string]*Answer // the answer that issued each secret
	made   map[string]bool    // secrets that a check made of others
}

// NewMask returns a Mask that knows no secret.
func NewMask() *Mask {
	return &Mask{names: map[string]string{}, taken: map[string]int{}, chosen: map[string]bool{}, issuer: map[string]*Answer{}, made: map[string]bool{}}
}

// Clone returns a copy, which learns further secrets on its own.
func (m *Mask) Clone() *Mask {
	return &Mask{maps.Clone(m.names), maps.Clone(m.taken), slices.Clone(m.fields), maps.Clone(m.chosen), maps.Clone(m.issuer), maps.Clone(m.made)}
}

// Add gives a secret a name and returns it. A secret keeps the name that it was given first. A value that a check has
// made up is no secret: it is returned.
func (m *Mask) Add(name, secret string) string {
	switch {
	case secret == "" || m.names[secret] != "":
		return m.names[secret]
	case m.chosen[secret]:
		return secret
	}
	name = strings.ToUpper(noVariable.ReplaceAllString(name, "_"))
	m.taken[name]++
	if m.taken[name] > 1 {
		name += fmt.Sprint(m.taken[name])
	}
	m.names[secret] = "$" + name
	return "$" + name
}

// Show records that a value is no secret.
func (m *Mask) Show(value string) {
	if value != "" && m.names[value] == "" {
		m.chosen[value] = true
	}
}

// choose records that a check sends a value that the server has not issued. A value that was made of a secret, such as
// a token with another last character, is a secret too.
func (m *Mask) choose(name, value string) {
	switch {
	case m.names[value] != "":
	case m.confidential(name) && m.resembles(value):
		m.made[value] = true
		m.Add(name, value)
	default:
		m.Show(value)
	}
}

// resembles reports whether a value shares much with a secret: its beginning, its end, or a part of a JWT.
func (m *Mask) resembles(value string) bool {
	for secret := range m.names {
		if len(secret) < shortest && strings.Contains(value, secret) {
			return true
		}
		half := min(len(secret), len(value)) / 2
		if half >= shortest/2 && (strings.HasPrefix(value, secret[:half]) || strings.HasSuffix(value, secret[len(secret)-half:])) {
			return true
		}
		for part := range strings.SplitSeq(value, ".") {
			if len(part) >= shortest && strings.Contains(secret, part) {
				return true
			}
		}
	}
	return false
}

var noVariable = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// Typed records the name of a form field that a password was typed into. The value of this field is a secret in what
// the form sends.
func (m *Mask) Typed(name string) { m.fields = append(m.fields, name) }

func (m *Mask) confidential(name string) bool {
	return slices.Contains(confidential, name) || slices.Contains(m.fields, name)
}

// The places where a secret stands beside its name: in a query, a fragment or a form; in JSON; in an input field of a
// page.
var (
	pairText   = regexp.MustCompile(`(^|\\u0026|[^A-Za-z0-9_.%\[\]-])([A-Za-z0-9_.%\[\]-]+)=([^&#"'\s<>\\]+)`)
	memberText = regexp.MustCompile(`"([A-Za-z_]+)"(\s*:\s*)("(?:[^"\\]|\\.)*")`)
	inputText  = regexp.MustCompile(`(?i)<input\b[^>]*>`)
	attrText   = regexp.MustCompile(`(?i)(\s)(type|name|value)=("[^"]*"|'[^']*'|[^\s"'>]+)`)
)

// Hide replaces all secrets in a text by their names.
func (m *Mask) Hide(text string) string { return m.hideKnown(m.hideNamed(text, m.known)) }

// known returns the name of a secret, or the value if it is none.
func (m *Mask) known(_, value string) string { return cmp.Or(m.names[value], value) }

// hideNamed replaces the values beside confidential names by what name returns.
func (m *Mask) hideNamed(text string, name func(of, value string) string) string {
	text = replaceParts(pairText, text, func(part []string) string {
		of, err := url.QueryUnescape(part[2])
		value, err2 := url.QueryUnescape(part[3])
		if err != nil || err2 != nil || !m.confidential(of) {
			return part[0]
		}
		return part[1] + part[2] + "=" + unchanged(part[3], value, name(of, value))
	})
	text = replaceParts(memberText, text, func(part []string) string {
		var value string
		err := json.Unmarshal([]byte(part[3]), &value)
		if err != nil || !m.confidential(part[1]) {
			return part[0]
		}
		return `"` + part[1] + `"` + part[2] + unchanged(part[3], value, `"`+name(part[1], value)+`"`)
	})
	return inputText.ReplaceAllStringFunc(text, func(tag string) string { return m.hideInput(tag, name) })
}

// unchanged returns how a value was written if it is shown, and otherwise its name.
func unchanged(written, value, shown string) string {
	if strings.Trim(shown, `"`) == value {
		return written
	}
	return shown
}

// hideInput masks the value of a field that is confidential, or that is hidden and long: such a value can be a ticket
// that is as good as a session.
func (m *Mask) hideInput(tag string, shown func(of, value string) string) string {
	attributes := map[string]string{}
	for _, found := range attrText.FindAllStringSubmatch(tag, -1) {
		attributes[strings.ToLower(found[2])] = html.UnescapeString(strings.Trim(found[3], `"'`))
	}
	name, value := attributes["name"], attributes["value"]
	switch {
	case m.confidential(name):
	case strings.EqualFold(attributes["type"], "password"):
		name = "password"
	case strings.EqualFold(attributes["type"], "hidden") && len(value) >= 20 && !strings.HasPrefix(value, "http"): // an issuer is no secret
		name = "hidden"
	default:
		return tag
	}
	return replaceParts(attrText, tag, func(part []string) string {
		if !strings.EqualFold(part[2], "value") {
			return part[0]
		}
		return part[1] + part[2] + "=" + unchanged(part[3], value, `"`+shown(name, value)+`"`)
	})
}

// word matches a secret that could be a word of the protocol, such as password. It is masked only beside its name.
var word = regexp.MustCompile(`^[a-z_]{1,16}$`)

// hideKnown masks the long secrets in any position.
func (m *Mask) hideKnown(text string) string {
	for _, secret := range slices.SortedFunc(maps.Keys(m.names), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		if len(secret) < shortest {
			return text
		}
		if word.MatchString(secret) {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), html.EscapeString(secret)} {
			text = strings.ReplaceAll(text, form, m.names[secret])
		}
	}
	return text
}

// replaceParts works like ReplaceAllStringFunc, and passes the submatches.
func replaceParts(expression *regexp.Regexp, text string, replace func(part []string) string) string {
	return expression.ReplaceAllStringFunc(text, func(match string) string { return replace(expression.FindStringSubmatch(match)) })
}

// Learn finds the secrets that an answer issues, and the values in its request that the check has made up.
func (m *Mask) Learn(a *Answer) {
	for name, values := range a.SentHeader {
		for _, value := range values {
			m.learnSent(name, value)
		}
	}
	for _, text := range []string{a.URL.RawQuery, a.SentForm} {
		sent, _ := url.ParseQuery(text) // what cannot be read has no name
		for name, values := range sent {
			for _, value := range values {
				m.choose(name, value)
			}
		}
	}
	add := m.learnFrom(a)
	m.hideNamed(string(a.Body), add)
	for name, values := range a.Header {
		for _, value := range values {
			m.learnReceived(name, value, add)
		}
	}
}

// learnSent learns the values of a request header. All cookies come from the server, perhaps in an earlier check.
func (m *Mask) learnSent(name, value string) {
	switch name {
	case "Authorization":
		credentials, basic := basicAuth(value)
		_, rest, found := strings.Cut(value, " ")
		if !found {
			rest = value
		}
		if basic {
			_, rest, _ = strings.Cut(credentials, ":")
			m.choose("client_secret", unescaped(rest))
		}
		m.choose("access_token", rest)
	case "Cookie":
		for pair := range strings.SplitSeq(value, ";") {
			learnCookie(pair, m.Add)
		}
	}
}

// learnReceived passes the secrets in a header of an answer to add.
func (m *Mask) learnReceived(name, value string, add func(name, secret string) string) {
	if name != "Set-Cookie" {
		m.hideNamed(value, add)
		return
	}
	pair, _, _ := strings.Cut(value, ";")
	learnCookie(pair, add)
}

func learnCookie(pair string, add func(name, secret string) string) {
	_, value, _ := strings.Cut(pair, "=")
	if strings.Trim(value, `" `) != "" {
		add(cookieName, value)
	}
}

// cookieName is the name of the variables for cookies.
const cookieName = "COOKIE"

func unescaped(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		return text
	}
	return plain
}

// sentHeader returns the value of a request header with its secrets masked.
func (m *Mask) sentHeader(name, value string) string {
	switch name {
	case "Authorization":
		scheme, rest, _ := strings.Cut(value, " ")
		switch credentials, basic := basicAuth(value); {
		case basic:
			return scheme + " (" + m.basic(credentials) + ")"
		case rest != "":
			return scheme + " " + m.hideKnown(m.known("", rest))
		}
		return m.hideKnown(m.known("", value))
	case "Cookie":
		pairs := strings.Split(value, ";")
		for i, pair := range pairs {
			pairs[i] = m.cookie(pair)
		}
		return strings.Join(pairs, ";")
	}
	return m.Hide(value)
}

// gotHeader returns the value of a response header with its secrets masked.
func (m *Mask) gotHeader(name, value string) string {
	if name != "Set-Cookie" {
		return m.Hide(value)
	}
	pair, attributes, found := strings.Cut(value, ";")
	pair = m.cookie(pair)
	if found {
		pair += ";" + attributes
	}
	return pair
}

func (m *Mask) cookie(pair string) string {
	name, value, found := strings.Cut(pair, "=")
	if !found || strings.Trim(value, `" `) == "" {
		return pair
	}
	return name + "=" + m.known("", value)
}

// basicAuth returns the credentials of HTTP Basic authentication, client_id:client_secret, if the header has such.
func basicAuth(value string) (string, bool) {
	scheme, rest, _ := strings.Cut(value, " ")
	raw, err := base64.StdEncoding.DecodeString(rest)
	return string(raw), err == nil && strings.EqualFold(scheme, "Basic")
}

// basic masks the client secret in the credentials, where it is form-encoded (RFC 6749 §2.3.1).
func (m *Mask) basic(credentials string) string {
	id, secret, found := strings.Cut(credentials, ":")
	if !found {
		return m.Hide(credentials)
	}
	plain := unescaped(secret)
	if m.names[plain] == "" {
		plain = secret
	}
	return id + ":" + m.hideKnown(m.known("", plain))
}

var variable = regexp.MustCompile(`\$[A-Z][A-Z0-9_]*`)

// quote writes a masked text as one word of a shell. The names of secrets become variables.
func (m *Mask) quote(hidden string) string {
	var b strings.Builder
	at := 0
	for _, found := range variable.FindAllStringIndex(hidden, -1) {
		name := hidden[found[0]:found[1]]
		if !m.named(name) {
			continue
		}
		b.WriteString(shellQuote(hidden[at:found[0]]) + `"` + name + `"`)
		at = found[1]
	}
	return b.String() + shellQuote(hidden[at:])
}

func (m *Mask) named(variable string) bool {
	for name := range maps.Values(m.names) {
		if name == variable {
			return true
		}
	}
	return false
}

// curl returns a command that sends the same request. The secrets in it are variables. If cookies is not empty, it
// stands for all cookies.
func (m *Mask) curl(a *Answer, cookies string) string {
	words := []string{"curl", "-i"}
	if a.Method != http.MethodGet && (a.Method != http.MethodPost || a.SentForm == "") {
		words = append(words, "-X", a.Method)
	}
	words = append(words, m.quote(m.Hide(a.URL.String())))
	for _, name := range slices.Sorted(maps.Keys(a.SentHeader)) {
		for _, value := range a.SentHeader[name] {
			credentials, basic := basicAuth(value)
			switch {
			case name == "Authorization" && basic:
				words = append(words, "-u", m.quote(m.basic(credentials)))
			case name == "Cookie" && cookies != "": // not by -b, with which curl does not send long cookies
				words = append(words, "-H", `"Cookie: `+cookies+`"`)
			case name == "User-Agent" || name == "Content-Type" && a.contentType == FormEncoded:
			default:
				words = append(words, "-H", m.quote(name+": "+m.sentHeader(name, value)))
			}
		}
	}
	if a.SentForm != "" {
		for pair := range strings.SplitSeq(m.Hide(a.SentForm), "&") {
			words = append(words, "-d", m.quote(pair))
		}
	}
	return strings.Join(words, " ")
}
