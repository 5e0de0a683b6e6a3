package wire

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strings"
)

// An input field of a page, in which a secret stands beside its name. It stands so also in JSON, and in a query, a
// fragment or a form.
var (
	inputText = regexp.MustCompile(`(?i)<input\b[^>]*>`)
	attrText  = regexp.MustCompile(`(?i)(\s)(type|name|value)=("[^"]*"|'[^']*'|[^\s"'>]+)`)
)

// Hide replaces all secrets in a text by their names.
func (m *Mask) Hide(text string) string { return named(m.hide(text)) }

var (
	marked   = regexp.MustCompile(beginMark + "[A-Z0-9_]+" + endMark)
	unmarker = strings.NewReplacer(beginMark, "$", endMark, "")
	noMarks  = strings.NewReplacer(beginMark, "?", endMark, "?")
)

// named replaces the marks by the names of variables.
func named(text string) string { return unmarker.Replace(text) }

// hide replaces all secrets in a text by marks.
func (m *Mask) hide(text string) string {
	return m.hideKnown(m.hideNamed(noMarks.Replace(text), m.known))
}

// known returns the mark of a secret, or the value if it is none.
func (m *Mask) known(_, value string) string {
	name := m.names[value]
	switch {
	case name != "":
		return mark(name)
	case m.full && !m.chosen[value]:
		return mark("SECRET")
	}
	return value
}

// hideNamed replaces the values beside confidential names by what name returns.
func (m *Mask) hideNamed(text string, name func(of, value string) string) string {
	text = m.hidePairs(text, name)
	text = m.hideMembers(text, name)
	return inputText.ReplaceAllStringFunc(text, func(tag string) string { return m.hideInput(tag, name) })
}

// hidePairs masks the values of a query, a fragment or a form. Texts of a server can be long, so no expression looks
// for them.
func (m *Mask) hidePairs(text string, name func(of, value string) string) string {
	var b strings.Builder
	at := 0 // what b has
	for from := 0; ; {
		i := strings.IndexByte(text[from:], '=')
		if i < 0 {
			b.WriteString(text[at:])
			return b.String()
		}
		i += from
		begin := i
		for begin > from && inName(text[begin-1]) {
			begin--
		}
		if begin > 0 && text[begin-1] == '\\' && strings.HasPrefix(text[begin:i], "u0026") { // & in JSON
			begin += len("u0026")
		}
		from = i + 1
		of, err := url.QueryUnescape(text[begin:i])
		if err != nil || !m.confidential(of) {
			continue
		}
		end := from
		for end < len(text) && strings.IndexByte("&#\"' \t\r\n\f\v<>\\", text[end]) < 0 {
			end++
		}
		value, err := url.QueryUnescape(text[from:end])
		if err == nil && value != "" {
			b.WriteString(text[at:from] + unchanged(text[from:end], value, name(of, value)))
			at = end
		}
		from = end
	}
}

// inName reports whether a character can be part of the name of a parameter.
func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.%[]-", c) >= 0
}

// hideMembers masks the values of JSON members that are strings.
func (m *Mask) hideMembers(text string, name func(of, value string) string) string {
	var b strings.Builder
	at := 0 // what b has
	for from := 0; ; {
		i := strings.IndexByte(text[from:], '"')
		if i < 0 {
			b.WriteString(text[at:])
			return b.String()
		}
		from += i + 1
		of, first, end, ok := member(text, from)
		if !ok {
			continue
		}
		from = end
		var value string
		err := json.Unmarshal([]byte(text[first:end]), &value)
		if err == nil && m.confidential(of) && !(of == "code" && errorCode.MatchString(value)) {
			b.WriteString(text[at:first] + unchanged(text[first:end], value, `"`+name(of, value)+`"`))
			at = end
		}
	}
}

// errorCode matches the code of an error in a member named code. An authorization code is random, and does not look so.
var errorCode = regexp.MustCompile(`^([a-z]+([_-][a-z]+)+|[A-Z]+(_[A-Z]+)+|([A-Z][a-z]+){2,})$`)

// member reads a member whose name begins at a position. Its value begins at first and ends before end. ok is false if
// there is none, or if its value is no string.
func member(text string, at int) (name string, first, end int, ok bool) {
	begin := at
	for at < len(text) && (text[at] == '_' || text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z') {
		at++
	}
	name = text[begin:at]
	rest, quoted := strings.CutPrefix(text[at:], `"`)
	rest, separated := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
	rest = strings.TrimLeft(rest, " \t\r\n")
	if name == "" || !quoted || !separated || !strings.HasPrefix(rest, `"`) {
		return "", 0, 0, false
	}
	first = len(text) - len(rest)
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return name, first, first + i + 1, true
		}
	}
	return "", 0, 0, false
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
	all := attrText.FindAllStringSubmatchIndex(tag, -1)
	for _, found := range all {
		attributes[strings.ToLower(tag[found[4]:found[5]])] = html.UnescapeString(strings.Trim(tag[found[6]:found[7]], `"'`))
	}
	name, value := attributes["name"], attributes["value"]
	switch {
	case m.confidential(name):
	case strings.EqualFold(attributes["type"], "password"):
		name = "password"
	// an issuer is no secret
	case strings.EqualFold(attributes["type"], "hidden") && len(value) >= 20 && !strings.HasPrefix(value, "http"):
		name = "hidden"
	default:
		return tag
	}
	var b strings.Builder
	at := 0
	for _, found := range all {
		if strings.EqualFold(tag[found[4]:found[5]], "value") {
			b.WriteString(tag[at:found[6]] + unchanged(tag[found[6]:found[7]], value, `"`+shown(name, value)+`"`))
			at = found[7]
		}
	}
	return b.String() + tag[at:]
}

// hideKnown masks the secrets that are masked in any position, and as whole words.
func (m *Mask) hideKnown(text string) string {
	if m.replacer == nil {
		m.replacer = replacerOf(m.spelt)
	}
	var b strings.Builder
	at := 0
	for _, found := range marked.FindAllStringIndex(text, -1) {
		b.WriteString(m.hideIn(text[at:found[0]]))
		b.WriteString(text[found[0]:found[1]])
		at = found[1]
	}
	b.WriteString(m.hideIn(text[at:]))
	return b.String()
}

// hideIn masks the secrets in a text without marks.
func (m *Mask) hideIn(text string) string {
	text = m.replacer.Replace(text)
	for _, w := range m.words {
		text = replaceWord(text, w.text, w.mark)
	}
	return text
}
