// Package blocklist finds passwords that are commonly used or expected, as NIST SP 800-63B-4 §3.1.1.2 requires:
// known passwords, the names of the person and of the service, rows of keys, repetitions, and what is trivially
// made of them. The whole password is compared. A passphrase may contain any of them.
package blocklist

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// compressed is the list of common passwords of Django (LICENSE.django), which Royce Williams has made: those of
// 4 and more printable ASCII characters, in lower case. The short ones are parts of longer passwords.
//
//go:embed common.txt.gz
var compressed []byte

// Reason says why a password is refused.
type Reason string

// The reasons. None: the password is not refused.
const (
	None   Reason = ""
	Common Reason = "common" // it is known, or made of known ones
	Own    Reason = "own"    // it is made of the names of the person or of the service
	Row    Reason = "row"    // it is made of rows of keys and of repetitions
)

// The weights of the parts of a password. A password is refused if the lightest parts of which it can be made
// weigh no more than most, and at least one of them is known. So two common passwords with a separator are
// refused, and three of them are not.
const (
	most        = 5
	ofWord      = 2 // a common password
	ofOwn       = 1 // a name
	ofRow       = 1 // a row of keys, or a year
	ofLetter    = 2
	ofOther     = 1 // a digit, a space, a special character
	longest     = 64
	mostRead    = 256 // characters, so that a long password does not keep a processor busy
	shortestOwn = 3
	shortestRow = 3
)

// rows are the rows of keys and characters that people type one after the other, in either direction.
var rows = [...]string{"abcdefghijklmnopqrstuvwxyz", "01234567890123456789", "qwertyuiop", "asdfghjkl", "zxcvbnm",
	"qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn",
	"1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "qazwsxedcrfvtgbyhnujmikolp",
	"!@#$%^&*()", "147258369", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"}

// known returns the common passwords. It reads them once.
var known = sync.OnceValue(func() map[string]bool {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic(err) // the program contains them
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	list := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		list[strings.TrimSuffix(line, "\n")] = true
	}
	return list
})

// Check returns why a password is refused. own are names of the person and of the service.
func Check(password string, own ...string) Reason {
	c := &checked{text: []rune(strings.ToLower(password)), own: map[string]bool{}}
	c.text = c.text[:min(len(c.text), mostRead)]
	c.all = string(c.text)
	for i := range c.all {
		c.at = append(c.at, i)
	}
	c.at = append(c.at, len(c.all))
	c.ones, c.els = folded(c.text, map[rune]rune{'1': 'i'}), folded(c.text, map[rune]rune{'1': 'l'})
	for _, name := range own {
		for _, part := range append(strings.FieldsFunc(name, apart), name) {
			part = strings.ToLower(strings.TrimSpace(part))
			if n := utf8.RuneCountInString(part); n >= shortestOwn && n <= longest {
				c.own[part] = true
			}
		}
	}
	return c.reason()
}

// apart reports whether a character separates the parts of a name or an address.
func apart(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }

// leet are the characters that people write for letters.
var leet = map[rune]rune{'0': 'o', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's', '!': 'i'}

// folded returns a text of as many characters, with letters in the place of those that only look like letters.
func folded(text []rune, ones map[rune]rune) []rune {
	out := make([]rune, len(text))
	for i, r := range text {
		out[i] = r
		if letter, ok := leet[r]; ok {
			out[i] = letter
		} else if letter, ok := ones[r]; ok {
			out[i] = letter
		}
	}
	return out
}

// checked is a password, in the spellings in which it is compared.
type checked struct {
	text      []rune
	all       string // the text
	at        []int  // where each of its characters begins, and the end
	ones, els []rune
	own       map[string]bool
	cost      []int    // of the lightest parts of the text up to here
	why       []Reason // that of these parts
}

// reason finds the lightest parts.
func (c *checked) reason() Reason {
	n := len(c.text)
	c.cost, c.why = make([]int, n+1), make([]Reason, n+1)
	for i := 1; i <= n; i++ {
		c.cost[i] = 1 << 30
	}
	for i := range n {
		if c.cost[i] > most {
			continue
		}
		weight := ofOther
		if unicode.IsLetter(c.text[i]) {
			weight = ofLetter
		}
		c.reach(i, i+1, weight, None)
		for end := i + shortestOwn; end <= min(n, i+longest); end++ {
			switch {
			case c.is(c.own, i, end):
				c.reach(i, end, ofOwn, Own)
			case end-i > shortestOwn && c.is(known(), i, end):
				c.reach(i, end, ofWord, Common)
			}
		}
		for end := i + shortestRow; end <= min(n, i+longest) && inRow(c.part(i, end)); end++ {
			c.reach(i, end, ofRow, Row)
		}
		for end := i + 2; end <= min(n, i+longest) && c.before(i, end); end++ {
			if end-i >= shortestRow {
				c.reach(i, end, 0, Row)
			}
		}
		if end := i + 4; end <= n && isYear(c.part(i, end)) {
			c.reach(i, end, ofRow, None)
		}
	}
	if c.cost[n] > most {
		return None
	}
	return c.why[n]
}

// reach notes that the text up to end can be made of parts of this weight.
func (c *checked) reach(from, end, weight int, why Reason) {
	cost := c.cost[from] + weight
	if cost > c.cost[end] {
		return
	}
	// What a person recognizes best is the reason.
	switch was := c.why[from]; {
	case was == Own || why == Own:
		why = Own
	case was == Common || why == Common:
		why = Common
	case was == Row:
		why = Row
	}
	if cost < c.cost[end] || c.why[end] == None {
		c.cost[end], c.why[end] = cost, why
	}
}

// is reports whether a part of the text is in a list, in one of its spellings.
func (c *checked) is(list map[string]bool, from, end int) bool {
	return list[c.part(from, end)] || list[string(c.ones[from:end])] || list[string(c.els[from:end])]
}

// before reports whether a part of the text has occurred before it, perhaps up to its last character but one.
func (c *checked) before(from, end int) bool {
	return strings.Contains(c.part(0, end-1), c.part(from, end))
}

// part returns characters of the text.
func (c *checked) part(from, end int) string { return c.all[c.at[from]:c.at[end]] }

// inRow reports whether a text is a part of a row, in either direction, or one character again and again.
func inRow(text string) bool {
	back := reversed(text)
	for _, row := range rows {
		if strings.Contains(row, text) || strings.Contains(row, back) {
			return true
		}
	}
	first, _ := utf8.DecodeRuneInString(text)
	return strings.Trim(text, string(first)) == ""
}

func reversed(text string) string {
	r := []rune(text)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

// isYear reports whether a text is a year of somebody who lives.
func isYear(text string) bool {
	return (strings.HasPrefix(text, "19") || strings.HasPrefix(text, "20")) && strings.Trim(text, "0123456789") == ""
}
