package typed

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"123456":              "123456",
		" 123 456\t":          "123456",
		"123-456":             "123456",
		"123–456":             "123456", // an en dash
		"123−456":             "123456", // a minus sign
		"123\u2011456":        "123456", // a hyphen that does not break
		"123\u00a0456":        "123456", // a space that does not break
		"123\u202f456":        "123456",
		"123\u3000456":        "123456", // the space of a keyboard for Japanese
		"\u200e123456\u202c":  "123456", // marks of a direction
		"\ufeff123456\u200b":  "123456",
		"123\u00ad456":        "123456",
		"１２３４５６":              "123456",
		"١٢٣٤٥٦":              "123456", // Arabic
		"۱۲۳۴۵۶":              "123456", // Persian
		"१२३४५६":              "123456", // Devanagari
		"１２３ー４５６":             "123456",
		"abcd-efgh-2345-ijkl": "ABCDEFGH2345IJKL",
		"ａｂｃｄ":                "ABCD",
		"123.456":             "123.456",
		"12345x":              "12345X",
		"":                    "",
		"\xff123":             "\ufffd123",
	} {
		if got := Code(text); got != want {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}

// Every digit of Unicode has the value that its table says: ten follow each other.
func TestDigits(t *testing.T) {
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.IsDigit(r) {
			continue
		}
		n++
		got := digit(r)
		if got < '0' || got > '9' {
			t.Fatalf("%U: %q", r, got)
		}
		// Where Unicode itself says the value, it is this one.
		if compat := norm.NFKC.String(string(r)); compat[0] < utf8.RuneSelf && compat != string(got) {
			t.Errorf("%U: %q, and Unicode says %q", r, got, compat)
		}
		if unicode.IsDigit(r-1) && got != '0' && digit(r-1) != got-1 {
			t.Errorf("%U: %q after %q", r, got, digit(r-1))
		}
	}
	if n < 600 {
		t.Errorf("only %d digits", n)
	}
}

func TestSecret(t *testing.T) {
	for name, forms := range map[string][]string{
		"composed and decomposed": {"Zürich und Genève", "Zu\u0308rich und Gene\u0300ve"},
		"Korean":                  {"비밀번호", "\u1107\u1175\u1106\u1175\u11af\u1107\u1165\u11ab\u1112\u1169"},
		"two marks in any order":  {"a\u0323\u0302", "a\u0302\u0323", "\u1ead"},
		"wide":                    {"ｃｏｒｒｅｃｔ　ｈｏｒｓｅ", "correct horse"},
		"spaces":                  {"correct\u00a0horse", "correct\u2009horse", "correct\u1680horse", "correct horse"},
		"a ligature":              {"ﬁve", "five"},
	} {
		for _, form := range forms {
			if got := Secret(form); got != Secret(forms[0]) || got != Secret(got) {
				t.Errorf("%s: %q is %q, expected %q", name, form, got, Secret(forms[0]))
			}
		}
	}
	// RFC 8265 §4.2.2: case and width of ASCII, and what is not valid, are left alone.
	for _, text := range []string{"", "correct horse", "Correct", " two  spaces ", "a\x00b", "\xff\xfe", "a\tb"} {
		if got := Secret(text); got != text {
			t.Errorf("%q is %q", text, got)
		}
	}
	if Secret("Ä") == Secret("ä") || Secret("ss") == Secret("ß") {
		t.Error("different letters are one")
	}
}
