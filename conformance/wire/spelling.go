package wire

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spelling is one way to write a secret, and the mark that replaces it.
type spelling struct{ text, mark string }

// The name of a secret stands between two marks until a text is complete. So a name that the server wrote itself is
// not taken for a variable.
const (
	beginMark = "\uE000"
	endMark   = "\uE001"
)

func mark(name string) string { return beginMark + strings.TrimPrefix(name, "$") + endMark }

// word matches a secret that could be a word. It is not masked in the middle of others.
var word = regexp.MustCompile(`^[a-z_]{1,16}$`)

// protocol are words that the documents, the reports and most error messages use. A password that is one of them is
// masked only beside its name: hidden elsewhere, it would make the texts unreadable, and would still be easy to guess.
var protocol = strings.Fields(
	`a access address admin an and answer api authorization basic bearer browser client clients code cookie email error
	expired failed form grant http https id in invalid is issuer it key login logout missing name no nonce not null oauth
	offline_access openid of or page password pin profile public refresh refused request response rule scope secret server
	session sign state test that the this to token true type unknown user username value wrong`)

// spell records spellings of a secret that are replaced in any position.
func (m *Mask) spell(name string, all []string) {
	for _, text := range all {
		m.spelt = append(m.spelt, spelling{text, mark(name)})
	}
	m.replacer = nil
}

// replacerOf replaces spellings in one pass, whatever their number. At a position where several match, the longest
// counts.
func replacerOf(all []spelling) *strings.Replacer {
	all = slices.SortedStableFunc(slices.Values(all),
		func(a, b spelling) int { return cmp.Compare(len(b.text), len(a.text)) })
	pairs := make([]string, 0, 2*len(all))
	for _, s := range all {
		pairs = append(pairs, s.text, s.mark)
	}
	return strings.NewReplacer(pairs...)
}

// plainSecret matches a secret that all encodings of a text leave as it is.
var plainSecret = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)

// spellings returns a text as it can stand in an address, in JSON and in a page.
func spellings(text string) []string {
	if plainSecret.MatchString(text) {
		return []string{text}
	}
	all := []string{text}
	for _, once := range []string{url.QueryEscape(text), url.PathEscape(text), encodeURIComponent(text),
		strings.ReplaceAll(url.QueryEscape(text), "+", "%20")} {
		for _, written := range []string{once, lowerHex(once)} {
			twice := url.QueryEscape(written) // an address in an address
			all = append(all, written, twice, lowerHex(twice))
		}
	}
	for _, quoted := range []string{inJSON(text, true), inJSON(text, false), inner(strconv.Quote(text)),
		inner(strconv.QuoteToASCII(text))} {
		all = append(all, quoted, strings.ReplaceAll(quoted, "/", `\/`), upperEscapes(quoted))
	}
	pages := []string{html.EscapeString(text)}
	for _, as := range [][]string{{"&#34;", "&quot;"}, {"&#39;", "&#x27;", "&apos;", "&#039;"}, {"+", "&#43;"},
		{"/", "&#x2F;", "&#47;"}, {"=", "&#x3D;", "&#61;"}, {"`", "&#x60;", "&#96;"}} {
		for _, page := range slices.Clone(pages) {
			if !strings.Contains(page, as[0]) {
				continue
			}
			for _, other := range as[1:] {
				pages = append(pages, strings.ReplaceAll(page, as[0], other))
			}
		}
	}
	all = append(all, pages...)
	slices.Sort(all)
	return slices.Compact(all)
}

// encodings returns the base64 of a text.
func encodings(text string) []string {
	all := []string{base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text))}
	all = append(all, strings.TrimRight(all[0], "="), strings.TrimRight(all[1], "="), url.QueryEscape(all[0]))
	slices.Sort(all)
	return slices.Compact(all)
}

// encodeURIComponent does what the function of JavaScript does.
func encodeURIComponent(text string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A",
		"*").Replace(url.QueryEscape(text))
}

var (
	percentText = regexp.MustCompile(`%[0-9A-F]{2}`)
	escapeText  = regexp.MustCompile(`\\u[0-9a-f]{4}`)
)

func lowerHex(text string) string { return percentText.ReplaceAllStringFunc(text, strings.ToLower) }

func upperEscapes(text string) string {
	return escapeText.ReplaceAllStringFunc(text, func(escape string) string { return `\u` + strings.ToUpper(escape[2:]) })
}

// inJSON returns a text as a string of JSON contains it.
func inJSON(text string, forPages bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(forPages)
	_ = e.Encode(text) // a string is always valid
	return inner(strings.TrimSpace(b.String()))
}

// inner removes the quotation marks.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// escapeBefore matches an escape sequence at the end of a text. The letters of one are no part of the next word.
var escapeBefore = regexp.MustCompile(`(?:%(?:25)?[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[nrtbf])$`)

// replaceWord replaces a text where it is no part of a longer word.
func replaceWord(in, text, by string) string {
	var b strings.Builder
	at := 0
	for {
		i := strings.Index(in[at:], text)
		if i < 0 {
			b.WriteString(in[at:])
			return b.String()
		}
		begin, end := at+i, at+i+len(text)
		before, _ := utf8.DecodeLastRuneInString(in[:begin])
		after, _ := utf8.DecodeRuneInString(in[end:])
		b.WriteString(in[at:begin])
		if inWord(after) || inWord(before) && !escapeBefore.MatchString(in[max(0, begin-6):begin]) {
			b.WriteString(text)
		} else {
			b.WriteString(by)
		}
		at = end
	}
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
