package wire

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces control characters, so that text from a server cannot control a terminal. It also replaces the
// characters that change the order of others on the screen.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 ||
			unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, text)
}

// OneLine returns a text in one line, without control characters.
func OneLine(text string) string { return Printable(strings.Join(strings.Fields(text), " ")) }

// A build system takes some lines of a log for commands: in GitHub Actions those that begin with two colons, and there
// and in others those with ##[ or ##name[.
var (
	commandLine = regexp.MustCompile(`(?m)^([\t\p{Zs}]*)::`)
	commandText = regexp.MustCompile(`##([A-Za-z-]*\[)`)
)

// Harmless returns a text that controls neither a terminal nor a build system whose log shows it.
func Harmless(text string) string {
	text = commandLine.ReplaceAllString(Printable(text), "$1| ::")
	return commandText.ReplaceAllString(text, "# #$1")
}

// HarmlessWriter writes such text. Each call writes whole characters.
type HarmlessWriter struct{ To io.Writer }

// Write writes the text.
func (w HarmlessWriter) Write(text []byte) (int, error) {
	_, err := io.WriteString(w.To, Harmless(string(text)))
	if err != nil {
		return 0, err
	}
	return len(text), nil
}

// ShellWord writes a text as one word of a shell.
func ShellWord(text string) string {
	// A shell replaces ~ at the beginning by a home folder, and zsh replaces =NAME by a path.
	if text == "" || text[0] == '~' || text[0] == '=' {
		return quoted(text)
	}
	return shellQuote(text)
}

// shellQuote writes a text as a part of a word of a shell. An empty part is nothing.
func shellQuote(word string) string {
	if word == "" {
		return ""
	}
	plain := !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-._~/:=%+@,", r))
	})
	if plain {
		return word
	}
	return quoted(word)
}

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Clip shortens a text to n bytes, and says how long it was.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(text[:n], ""), len(text))
}
