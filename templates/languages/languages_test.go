package languages

import (
	"strings"
	"testing"
	"time"
)

func load(t *testing.T) *Languages {
	t.Helper()
	l, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func tagOf(l *Language) string {
	if l == nil {
		return ""
	}
	return l.Tag()
}

// RFC 9110 §12.5.4: the language that the browser prefers most.
func TestAccepted(t *testing.T) {
	l := load(t)
	for header, want := range map[string]string{
		"":                                  "",
		"de":                                "de",
		"DE":                                "de",
		"de-CH":                             "de",
		"de-AT-1996, en;q=0.5":              "de",
		"fr-CA,fr;q=0.9":                    "fr",
		"es-419,es;q=0.9,en;q=0.8":          "es",
		"en-GB,en;q=0.9,de;q=0.8":           "en",
		"en;q=0.1, es;q=0.9, fr;q=0.8":      "es",
		"pt-BR,pt;q=0.9,es;q=0.5":           "es",
		"it, ja;q=0.9":                      "",
		"nl;q=1.0, fr;q=0.2":                "fr",
		"de;q=0, fr;q=0.5":                  "fr",
		"de;q=0":                            "",
		"*":                                 "",
		"und-Latn, mul, zz;q=0.9":           "",
		"br":                                "fr",
		"br, en;q=0.1":                      "en",
		"gsw":                               "de",
		"*, de;q=0.5":                       "de",
		"de;q=nonsense":                     "",
		"de;;;":                             "",
		"\xff\xfe":                          "",
		"<script>alert(1)</script>":         "",
		strings.Repeat("de,", 200):          "",
		strings.Repeat("x-", 300):           "",
		"de, " + strings.Repeat("a", 10000): "",
	} {
		if got := tagOf(l.Accepted(header)); got != want {
			t.Errorf("%.60q: %q, want %q", header, got, want)
		}
	}
}

// OIDC Core §3.1.2.1: tags with spaces between them, in the order of preference.
func TestListed(t *testing.T) {
	l := load(t)
	for tags, want := range map[string]string{
		"":                           "",
		"fr-CA fr en":                "fr",
		"it es":                      "es",
		"qaa-Latn-x-conformance und": "",
		"xx- de":                     "de",
		"de_CH":                      "de",
		"\xff fr":                    "fr",
		strings.Repeat("fr ", 200):   "",
	} {
		if got := tagOf(l.Listed(tags)); got != want {
			t.Errorf("%.60q: %q, want %q", tags, got, want)
		}
	}
}

func TestTexts(t *testing.T) {
	l := load(t)
	german := l.Listed("de")
	for want, got := range map[string]string{
		"Anmelden":             german.T("Sign in"),
		"Not in the catalogue": german.T("Not in the catalogue"),
		"100 % of it":          german.Text("100 % of it"),
		"Firefox unter Linux":  german.T("%[1]s on %[2]s", "Firefox", "Linux"),
		"3 things":             german.Format("%d things", 3),
		"Sign in":              l.English().T("Sign in"),
		"Noch {n} übrig.":      german.Plural("{n} left.", "{n} left.", 1),
		"Queda {n}.":           l.Listed("es").Plural("{n} left.", "{n} left.", 1),
		"Quedan {n}.":          l.Listed("es").Plural("{n} left.", "{n} left.", 0),
		"{n} thing":            german.Plural("{n} thing", "{n} things", 1),
		"{n} things":           german.Plural("{n} thing", "{n} things", 2),
		"Il vous reste {n} code": l.Listed("fr").Plural("You have {n} recovery code. If you make new ones, the old ones "+
			"stop working.", "You have {n} recovery codes. If you make new ones, the old ones stop working.",
			0)[:len("Il vous reste {n} code")],
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if none := l.Listed("fr").Plural("{n} thing", "{n} things", 0); none != "{n} thing" {
		t.Errorf("the French zero: %q", none)
	}
	if !german.Knows("Sign in") || german.Knows("Not in the catalogue") {
		t.Error("Knows")
	}
}

func TestDatesAndNumbers(t *testing.T) {
	l := load(t)
	first, last := time.Date(2026, time.March, 1, 9, 5, 59, 0, time.UTC).Unix(),
		time.Date(2026, time.December, 31, 23, 59, 0, 0, time.UTC).Unix()
	for tag, want := range map[string][4]string{
		"en": {"1 March 2026", "31 December 2026, 23:59 UTC", "1234", "1,234,567"},
		"de": {"1. März 2026", "31. Dezember 2026, 23:59 UTC", "1234", "1.234.567"},
		"fr": {"1er mars 2026", "31 décembre 2026, 23:59 UTC", "1234", "1\u202f234\u202f567"},
		"es": {"1 de marzo de 2026", "31 de diciembre de 2026, 23:59 UTC", "1234", "1\u202f234\u202f567"},
	} {
		in := l.Listed(tag)
		got := [4]string{in.Day(first), in.Moment(last), in.Number(1234), in.Number(1234567)}
		if got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
}

// Anybody can send any header.
func FuzzAccepted(f *testing.F) {
	for _, header := range []string{"de-CH, en;q=0.5", "*;q=0", "de;q=", "x-klingon,\xff", "de-1996-x-private;q=0.001"} {
		f.Add(header)
	}
	l, err := Load()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header string) {
		l.Accepted(header)
		l.Listed(header)
	})
}
