package languages

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Every text that a page or a message uses is in the catalogue, with the same values, and the catalogue has no
// other one.
func TestCatalogueIsComplete(t *testing.T) {
	entries, err := readCatalogue(source)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]entry{}
	for _, e := range entries {
		known[e.in["en"].other] = e
	}
	used := map[string]bool{}
	missing := map[string]bool{}
	for _, u := range uses(t) {
		used[u.text] = true
		e, found := known[u.text]
		if !found {
			if !missing[u.text] {
				t.Errorf("%s: the catalogue (templates/languages/catalogue.txt) does not have the text %q", u.at, u.text)
			}
			missing[u.text] = true
			continue
		}
		if u.one != "" && e.in["en"].one != u.one {
			t.Errorf("%s: the catalogue has %q for one, and the template %q", u.at, e.in["en"].one, u.one)
		}
		if u.one == "" && e.in["en"].one != e.in["en"].other {
			t.Errorf("%s: %q has two forms, and the template gives no number", u.at, u.text)
		}
		places := placesOf(u.text)
		if u.format {
			places = slices.DeleteFunc(places, func(p string) bool { return strings.HasPrefix(p, "%") })
		}
		slices.Sort(u.values)
		if want := slices.Compact(u.values); !slices.Equal(places, want) {
			t.Errorf("%s: %q gets the values %v", u.at, u.text, want)
		}
	}
	for _, e := range entries {
		if !used[e.in["en"].other] {
			t.Errorf("line %d: nothing uses the text %q", e.line, e.in["en"].other)
		}
	}
}

var verb = regexp.MustCompile(`\{([a-z]+)\}|%(\[[0-9]+\])?[a-z]`)

// placesOf returns the sorted places of a text: the names in braces, and the verbs of fmt with the number of their
// argument.
func placesOf(text string) []string {
	var places []string
	next := 1
	for _, m := range verb.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] != "":
			places = append(places, m[1])
		case m[2] != "":
			places = append(places, "%"+m[2]+m[0][len(m[0])-1:])
		default:
			places = append(places, "%["+string(rune('0'+next))+"]"+m[0][1:])
			next++
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// A translation has the places of the English text, ends like it, and follows the rules of its language for spaces and
// quotes.
func TestCatalogueIsWellWritten(t *testing.T) {
	entries, err := readCatalogue(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		english := e.in["en"]
		for tag, m := range e.in {
			for _, pair := range [][2]string{{english.one, m.one}, {english.other, m.other}} {
				wanted, text := pair[0], pair[1]
				if tag != "en" && pair == [2]string{english.one, m.one} && !slices.Equal(placesOf(text), placesOf(wanted)) ||
					!slices.Equal(placesOf(english.other), placesOf(m.other)) {
					t.Errorf("line %d, %s: the places differ from those of %q", e.line, tag, wanted)
				}
				if ending(text) != ending(wanted) {
					t.Errorf("line %d, %s: %q ends with %q", e.line, tag, text, ending(text))
				}
				if strings.Contains(text, "  ") || strings.ContainsAny(text, `"'<>`) && tag != "en" ||
					strings.Contains(text, "...") {
					t.Errorf("line %d, %s: two spaces, a straight quote, or three periods in %q", e.line, tag, text)
				}
				if tag == "fr" && regexp.MustCompile(`[^\x{a0}\x{202f}0-9hH][:;?!»]( |$)|«[^\x{a0}]`).MatchString(
					strings.ReplaceAll(text, "https://", "")) {
					t.Errorf("line %d: a space that does not break is missing in %q", e.line, text)
				}
				if tag == "es" && strings.Count(text, "?") != strings.Count(text, "¿") {
					t.Errorf("line %d: a question mark is missing in %q", e.line, text)
				}
				informal := map[string][]string{
					"de": {"du", "dein", "deine", "deinem", "deinen", "deiner", "dir", "dich"},
					"fr": {"tu", "ton", "ta", "tes", "toi"},
					"es": {"tú", "tu", "tus", "tienes", "puedes", "quieres"},
				}[tag]
				for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
					if slices.Contains(informal, word) {
						t.Errorf("line %d, %s: %q is not the formal address: %q", e.line, tag, word, text)
					}
				}
			}
		}
	}
}

// ending returns the punctuation at the end of a text.
func ending(text string) string {
	last := text[len(text)-1:]
	if strings.Contains(".:?!", last) {
		return last
	}
	return ""
}

func TestReadCatalogue(t *testing.T) {
	const whole = "en: Yes\nde: Ja\nfr: Oui\nes: Sí\n"
	entries, err := readCatalogue("# A comment\n\n" + whole + "\nen.one: {n} code\nen.other: {n} codes\nde.one: {n} " +
		"Code\nde.other: {n} Codes\nfr: {n} codes\nes: {n} códigos\n")
	if err != nil || len(entries) != 2 || entries[0].in["de"] != (message{"Ja", "Ja"}) ||
		entries[1].in["en"] != (message{"{n} code", "{n} codes"}) ||
		entries[1].in["fr"] != (message{"{n} codes", "{n} codes"}) {
		t.Errorf("%v %v", entries, err)
	}
	for rule, text := range map[string]string{
		"a language is missing":          "en: Yes\nde: Ja\nfr: Oui\n",
		"a language is unknown":          whole + "it: Sì\n",
		"a language is there twice":      whole + "de: Jawohl\n",
		"a form is missing":              "en.one: Yes\nde: Ja\nfr: Oui\nes: Sí\n",
		"a form is unknown":              "en.few: Yes\nde: Ja\nfr: Oui\nes: Sí\n",
		"a text is empty":                "en: \nde: Ja\nfr: Oui\nes: Sí\n",
		"no colon":                       "Yes\n",
		"a space at the end":             "en: Yes \nde: Ja\nfr: Oui\nes: Sí\n",
		"the same English text is twice": whole + "\n" + whole,
	} {
		_, err := readCatalogue(text)
		if err == nil {
			t.Errorf("%s: readCatalogue accepts %q", rule, text)
		}
	}
}
