package errorcode

import (
	_ "embed"
	"regexp"
	"strings"
)

// Each line is a message of a program in front of this server: what it says, what that means, and what to do, with
// tabs between. The three are Markdown, and make docs writes them into docs/troubleshooting.md.
//
//go:embed messages.txt
var messages string

// Message is what a program in front of this server says, if it does not get what it needs.
type Message struct{ Says, Means, Cure string }

// Messages returns every message, as Markdown, in the order of the page.
func Messages() []Message {
	var all []Message
	for line := range strings.Lines(messages) {
		says, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		means, cure, _ := strings.Cut(rest, "\t")
		all = append(all, Message{says, means, cure})
	}
	return all
}

var (
	literal = regexp.MustCompile("`([^`]+)`")
	link    = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)
)

// Plain returns the message for a reader of a terminal or a page, who has the docs elsewhere. Code stays between
// backticks.
func (m Message) Plain() Message {
	plain := func(text string) string {
		return strings.ReplaceAll(link.ReplaceAllString(text, "$1 (docs/$2)"), "*", "")
	}
	return Message{plain(m.Says), plain(m.Means), plain(m.Cure)}
}

// shortestMessage is how long a text is that is certainly a message, and not a word that many of them have.
const shortestMessage = 9

// saidIn reports whether a text has a message, or is a part of it that has several words. An error code alone is no
// message: the table explains it.
func (m Message) saidIn(text string) bool {
	text = strings.Trim(typed(text), " .\"'")
	for _, found := range literal.FindAllStringSubmatch(m.Says, -1) {
		said := typed(strings.TrimSuffix(found[1], "."))
		if _, code := Find(said); code || len(said) < shortestMessage {
			continue
		}
		if inOrder(text, strings.Split(said, "...")) || strings.Contains(text, " ") && strings.Contains(said, text) {
			return true
		}
	}
	return false
}

// typed returns a text as people type it who do not copy it.
func typed(text string) string {
	return strings.ReplaceAll(strings.ToLower(text), "’", "'")
}

// inOrder reports whether a text has all parts, one after the other.
func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(text, strings.TrimSpace(part))
		if !found {
			return false
		}
		text = after
	}
	return true
}
