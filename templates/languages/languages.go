// Package languages holds the texts of pages and mail in every language in which people can read
// them, and finds the language of a person.
package languages

import (
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/text/language"
)

// Languages contains the texts in all languages.
type Languages struct {
	all     []*Language
	matcher language.Matcher
}

// Language contains the texts in one language.
type Language struct {
	tag   string
	texts map[string]message
}

// Load reads the catalogue.
func Load() (*Languages, error) {
	entries, err := readCatalogue(source)
	if err != nil {
		return nil, fmt.Errorf("read the catalogue of texts: %w", err)
	}
	l := &Languages{}
	var known []language.Tag
	for _, tag := range Tags() {
		parsed, err := language.Parse(tag)
		if err != nil {
			return nil, fmt.Errorf("language %s: %w", tag, err)
		}
		known = append(known, parsed)
		one := &Language{tag, map[string]message{}}
		for _, e := range entries {
			one.texts[e.in[Tags()[0]].other] = e.in[tag]
		}
		l.all = append(l.all, one)
	}
	l.matcher = language.NewMatcher(known)
	return l, nil
}

// All returns every language, in the order of Tags.
func (l *Languages) All() []*Language { return l.all }

// English returns the language of the texts in the templates and in the code.
func (l *Languages) English() *Language { return l.all[0] }

// longest is how much of a list of languages is read. A browser sends fewer than a hundred bytes, and
// anybody can send more.
const longest = 512

// Accepted returns the best language for a header Accept-Language (RFC 9110 §12.5.4). It returns nil
// if the header names none of them, or is not such a list.
func (l *Languages) Accepted(header string) *Language {
	if len(header) > longest {
		return nil
	}
	wanted, weights, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return nil
	}
	var tags []language.Tag
	for i, tag := range wanted {
		if weights[i] > 0 { // RFC 9110 §12.4.2: a weight of 0 means "not acceptable"
			tags = append(tags, tag)
		}
	}
	return l.best(tags)
}

// Listed returns the best language for tags with spaces between them, in the order of preference, as
// the parameter ui_locales has them (OIDC Core §3.1.2.1). It returns nil if none of them is known.
func (l *Languages) Listed(list string) *Language {
	if len(list) > longest {
		return nil
	}
	var tags []language.Tag
	for text := range strings.FieldsSeq(list) {
		tag, err := language.Parse(text)
		if err == nil {
			tags = append(tags, tag)
		}
	}
	return l.best(tags)
}

// best returns the first language that one of the tags names. If there is none, it returns one that
// readers of these languages usually know too, such as German for Luxembourgish.
func (l *Languages) best(tags []language.Tag) *Language {
	for _, tag := range tags {
		base, named := tag.Base()
		for _, one := range l.all {
			if named == language.Exact && base.String() == one.tag {
				return one
			}
		}
	}
	for _, tag := range tags {
		_, named := tag.Base() // of a tag without a language, the package guesses it
		_, i, confidence := l.matcher.Match(tag)
		if named == language.Exact && confidence >= language.High {
			return l.all[i]
		}
	}
	return nil
}

// Tag returns the language tag, such as "de" (RFC 5646).
func (l *Language) Tag() string { return l.tag }

// Name returns what its own readers call the language.
func (l *Language) Name() string {
	return map[string]string{"en": "English", "de": "Deutsch", "fr": "Français", "es": "Español"}[l.tag]
}

// T returns a text in this language. The English text is its name in the catalogue. It is a format of
// fmt if there are arguments. A test reads the calls of T: the text must be a literal.
func (l *Language) T(format string, args ...any) string { return l.Format(format, args...) }

// Format is T for a text that is not a literal.
func (l *Language) Format(format string, args ...any) string {
	if len(args) == 0 {
		return l.Text(format)
	}
	translated, known := l.texts[format]
	if !known {
		return fmt.Sprintf(format, args...)
	}
	return fmt.Sprintf(translated.other, args...)
}

// Text returns a text in this language as the catalogue has it. It is the English text itself if the
// catalogue does not have it.
func (l *Language) Text(english string) string {
	return cmp.Or(l.texts[english].other, english)
}

// Knows reports whether the catalogue has a text.
func (l *Language) Knows(english string) bool {
	_, known := l.texts[english]
	return known
}

// Plural returns the text for n of something, from the two English texts.
func (l *Language) Plural(one, other string, n int) string {
	text, known := l.texts[other]
	if !known {
		text = message{one, other}
	}
	if l.isOne(n) {
		return text.one
	}
	return text.other
}

// isOne reports whether a number takes the singular. In French, that of zero does too.
func (l *Language) isOne(n int) bool {
	return n == 1 || n == 0 && l.tag == "fr"
}

// Number writes a number.
func (l *Language) Number(n int) string {
	digits := fmt.Sprint(n)
	if n < 0 || len(digits) < 5 {
		return digits // all of these languages also write four digits without a mark
	}
	mark := map[string]string{"de": ".", "fr": "\u202f", "es": "\u202f"}[l.tag]
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(cmp.Or(mark, ","))
		}
		b.WriteRune(digit)
	}
	return b.String()
}
