package wire

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Visit describes the requests of a browser for somebody who repeats them.
type Visit struct {
	Person string // who signs in
	// Begins returns the request with which a browser came to the pages on which it sent another request. It is nil if
	// no browser sent that one.
	Begins func(*Answer) *Answer
	// Redirected reports whether redirects alone led the browser from there to this request.
	Redirected func(*Answer) bool
}

// Repeat returns a script that sends a request again. A value that the server issued for the request, such as a code,
// may work once only. So the script has the requests that get a new one, and for pages the addresses to open in a
// browser. The secrets of the target are variables.
func (m *Mask) Repeat(a *Answer, visit Visit) string {
	s := &script{mask: m, visit: visit, done: map[*Answer]bool{}, set: map[string]bool{}}
	began := visit.Begins(a)
	if began != nil && began != a && began.Method == http.MethodGet && began.SentHeader.Get("Cookie") == "" &&
		visit.Redirected(a) {
		// An address can contain a value that the server made for this browser. curl follows the redirects to a new one.
		s.prepare(began)
		s.say("%s", strings.Replace(m.curl(began, ""), "curl -i", "curl -i -L -b ''", 1))
		return strings.Join(s.lines, "\n")
	}
	s.prepare(a)
	switch {
	case began == nil || a.SentHeader.Get("Cookie") == "":
		s.say("%s", m.curl(a, ""))
		return strings.Join(s.lines, "\n")
	case began == a:
		s.open(a)
		s.note("# Or send it by curl. COOKIES is the header Cookie of that window:")
	default:
		s.note("# The browser has sent this request then. COOKIES is its header Cookie:")
		for _, found := range marked.FindAllString(m.hide(a.URL.String()), -1) {
			if name := named(found); strings.HasPrefix(name, "$"+cookieName) {
				s.note("# %s is a part of its address. The developer tools of the browser show both.", name[1:])
			}
		}
	}
	s.say("%s", m.curl(a, "$COOKIES"))
	return strings.Join(s.lines, "\n")
}

// script collects the lines of a script.
type script struct {
	mask  *Mask
	visit Visit
	done  map[*Answer]bool // what the script has already
	set   map[string]bool
	lines []string
}

func (s *script) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// note adds a line that has a comment. A line break in an argument, which may come from the server, would end the
// comment, and a shell would run the rest.
func (s *script) note(format string, args ...string) {
	plain := make([]any, len(args))
	for i, arg := range args {
		plain[i] = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return '?'
			}
			return r
		}, Printable(arg))
	}
	s.say(format, plain...)
}

// prepare gets the values that a request needs from the server.
func (s *script) prepare(a *Answer) {
	for _, found := range marked.FindAllString(s.mask.command(a, ""), -1) {
		s.value(named(found))
	}
}

// value gets one value.
func (s *script) value(name string) {
	secret := s.mask.secrets[name]
	from := s.mask.issuer[secret]
	if secret == "" || s.set[name] {
		return
	}
	s.set[name] = true
	switch {
	case from != nil:
		s.request(from)
		if !strings.HasPrefix(name, "$"+cookieName) { // a browser keeps its cookies
			s.note("%s= # %s", name[1:], s.place(from, secret))
		}
	case s.mask.made[secret]:
		switch base, made := s.mask.madeOf(secret); {
		case strings.HasPrefix(name, "$"+assertionName):
			s.note("%s= # a new assertion of this client (RFC 7523 §3), with the claims that the rule is about", name[1:])
		case strings.HasPrefix(name, "$"+proofName):
			s.note("%s= # a new proof for this request (RFC 9449 §4.2), with the claims that the rule is about", name[1:])
		case made != "":
			s.value(base)
			s.say("%s=%s", name[1:], made)
		}
	}
}

// request sends a request again, or opens the page on which a browser sent it.
func (s *script) request(a *Answer) {
	began := s.visit.Begins(a)
	if began != nil {
		a = began
	}
	if s.done[a] {
		return
	}
	s.done[a] = true
	s.prepare(a)
	if began != nil {
		s.open(a)
		return
	}
	s.say("%s", s.mask.curl(a, ""))
}

// open opens an address in a browser. The shell prints an address with variables.
func (s *script) open(a *Answer) {
	window, sign := "a new private window of a browser", ""
	if a.SentHeader.Get("Cookie") != "" {
		window = "the same window"
	}
	if s.visit.Person != "" {
		sign = fmt.Sprintf(", sign in as %s if you are asked, and approve", s.visit.Person)
	}
	address := s.mask.hide(a.URL.String())
	switch {
	case a.Method != http.MethodGet:
		s.note("# Send this from a page in %s%s:\n#   %s", window, sign, s.mask.Line(a))
	case marked.MatchString(address):
		s.note("# Open what this prints in %s%s:", window, sign)
		s.say("echo %s", named(quote(address)))
	default:
		s.note("# Open this in %s%s:\n#   %s", window, sign, address)
	}
}

// memberName matches the name of a member that a script shows.
var memberName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// place says where an answer has a value.
func (s *script) place(from *Answer, secret string) string {
	object := from.JSON()
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if object[name] == any(secret) && memberName.MatchString(name) {
			return name + " in the answer"
		}
	}
	if s.visit.Begins(from) != nil && from.Header.Get("Location") != "" {
		return "in the address to which the browser is sent at last"
	}
	return "in the answer"
}

// madeOf returns how a check made a value of a secret, as a word of a shell, and the variable of that secret. The parts
// of the secret are separated by periods, as in a JWT.
func (m *Mask) madeOf(value string) (base, word string) {
	parts, most := strings.Split(value, "."), 0
	for secret, name := range m.names {
		of := strings.Split(secret, ".")
		if len(of) != len(parts) || m.made[secret] || len(secret) < shortest {
			continue
		}
		var words []string
		kept := 0
		for i, part := range parts {
			text, n := partOf(part, of[i], fmt.Sprintf(`echo "%s" | cut -d. -f%d`, name, i+1))
			words, kept = append(words, text), kept+n
		}
		if kept > most {
			base, word, most = name, strings.Join(words, "."), kept
		}
	}
	return base, word
}

// partOf returns how a text is made of another one, which a command prints, and how many bytes they share.
func partOf(text, of, command string) (word string, shared int) {
	if text == of && text != "" {
		return "$(" + command + ")", len(text)
	}
	most := min(len(text), len(of))
	before, after := 0, 0
	for before < most && text[before] == of[before] {
		before++
	}
	for after < most-before && text[len(text)-1-after] == of[len(of)-1-after] {
		after++
	}
	if before+after < shortest || before+after < most/2 {
		return shellQuote(text), 0
	}
	if before > 0 {
		word = fmt.Sprintf("$(%s | cut -c1-%d)", command, before)
	}
	word += shellQuote(text[before : len(text)-after])
	if after > 0 {
		word += fmt.Sprintf("$(%s | cut -c%d-)", command, len(of)-after+1)
	}
	return word, before + after
}
