package wire

import (
	"net/url"
	"strings"
	"testing"
)

// Text of a server controls neither a terminal nor a build system.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2J\r\x07\u009b\x7f\xffé\n\tb":          "a?[2J?????é\n\tb",
		"safe \u202e\u2066\u200f\u061c x\u2028\u2029": "safe ???? x??",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"::error title=x::y\n  \t::stop-commands::z\n\u00a0::a": "| ::error title=x::y\n  \t| ::stop-commands::z\n\u00a0| " +
			"::a",
		"a :: b, std::string":                "a :: b, std::string",
		"< ##[add-mask]x ###[y ##vso[task.z": "< # #[add-mask]x ## #[y # #vso[task.z",
		"## Heading, #1 [x]":                 "## Heading, #1 [x]",
		"a\r::b":                             "a?::b",
	} {
		if got := Harmless(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if again := Harmless(want); again != want {
			t.Errorf("%q becomes %q the second time", want, again)
		}
	}
}

// An address is shown as it is sent, and not decoded.
func TestBare(t *testing.T) {
	u, err := url.Parse("https://as.example/hang%1B]0;x%07%1B[2J/a%20b?secret=x")
	if err != nil {
		t.Fatal(err)
	}
	if got := Bare(u); strings.Contains(got, "\x1b") || !strings.HasSuffix(got, "/a%20b") {
		t.Errorf("it is %q", got)
	}
}
