package people

import (
	"strings"
	"testing"

	"mandate/provider/oauth"
)

// The parser differentials of "Splitting the email atom" (PortSwigger, 2024) led to accounts with addresses of others:
// a program that decodes or splits an address sends to another one than the one that was checked.
func TestAttackAddressThatMeansAnother(t *testing.T) {
	for _, text := range []string{
		"=?utf-8?q?victim=40company.example=3e=00?=attacker@elsewhere.example", "x=?iso-8859-1?q??=@company.example",
		"=?x?q?=40=3e=00?foo@company.example",
		`"victim@company.example"@elsewhere.example`, `"a b"@company.example`, "a@b@company.example",
		"victim@company.example,x@elsewhere.example", "<a@company.example>", "Ann <a@company.example>",
		"a@company.example\r\nBcc: x@elsewhere.example", "a@[192.0.2.1]", "a@company.example\u200b",
		"a\u00ad@company.example", "a@company\u3002example\u200d", "ä@company.example", "a@-company.example\u00e4",
		"a@\u202ecompany.example", "a b@company.example", "@company.example", "a@", "a", "a@xn--\u00e4.example",
		strings.Repeat("a", 250) + "@b.example", "\xff@company.example", "a@\xff.example",
	} {
		got, wrong := readAddress(text)
		if wrong == "" {
			t.Errorf("%q is the address %q", text, got)
		}
	}
}

func TestAddressForm(t *testing.T) {
	for text, want := range map[string]string{
		"ann@company.example": "ann@company.example", " ann@company.example\t": "ann@company.example",
		"Ann@Company.Example":    "Ann@Company.Example",
		"o'neil@company.example": "o'neil@company.example", "a&b@company.example": "a&b@company.example",
		"a+b=c?d/e{f}|g~h!#$%^*`_-@company.example": "a+b=c?d/e{f}|g~h!#$%^*`_-@company.example",
		"ann@bücher.example":                        "ann@xn--bcher-kva.example",
		"ann@BÜCHER.example":                        "ann@xn--bcher-kva.example",
		"ann@bu\u0308cher.example":                  "ann@xn--bcher-kva.example",
		"ann@例え.jp":                                 "ann@xn--r8jz45g.jp", "ann@ｃｏｍｐａｎｙ。example": "ann@company.example",
		"ann@xn--bcher-kva.example": "ann@xn--bcher-kva.example",
	} {
		got, wrong := readAddress(text)
		if got != want || wrong != "" {
			t.Errorf("%q: %q, expected %q: %s", text, got, want, wrong)
		}
		again, wrong := readAddress(got)
		if again != got || wrong != "" {
			t.Errorf("%q changes into %q: %s", got, again, wrong)
		}
	}
}

// The sign-up page fills in the address as the username. What it fills in is accepted.
func TestEveryAddressCanBeAUsername(t *testing.T) {
	for _, name := range []string{"o'neil@company.example", "a&b@company.example",
		"a+b=c?d/e{f}|g~h!#$%^*`_-@company.example", "ann@xn--bcher-kva.example", "ann", "Zoë", "名前", "ann@bücher.example"} {
		found := &oauth.Invalid{}
		(&Person{Username: name}).check(found)
		if found.Err() != nil {
			t.Errorf("%q: %v", name, found)
		}
	}
	for _, name := range []string{"o'neil", "a&b", "a b@company.example", "<a>@company.example",
		"=?utf-8?q?a?=@company.example", "a'@b'@company.example", "a,b@company.example", `a"b@company.example`,
		"o'neil@bücher.example"} {
		found := &oauth.Invalid{}
		(&Person{Username: name}).check(found)
		if found.At("username") == "" {
			t.Errorf("%q can be a username", name)
		}
	}
}

// Names that look alike, as in the homographs of CVE-2019-19844 (Django: a reset for a look-alike address).
func TestAttackNameWithMarksThatAreHardToSee(t *testing.T) {
	for name, want := range map[string]bool{
		"i\u0307ann": true, "j\u0307im": true, "\u0131\u0307an": true, "i\u0323\u0307an": true, "\u1ecb\u0307an": true,
		"pa\u0335yp": true, "adm\u0336in": true, "l\u0338": true, "o\u20d2": true,
		"ann": false, "Zoë": false, "Zoe\u0308": false, "İbrahim": false, "ırmak": false, "ø": false, "e\u0307": false,
		"i\u0301\u0307": false, "ż": false, "Nguyễn": false, "𖫐𖫰": false, "हिन्दी": false, "": false,
	} {
		if got := misleadingMarks(name); got != want {
			t.Errorf("%+q: %v", name, got)
		}
	}
}
