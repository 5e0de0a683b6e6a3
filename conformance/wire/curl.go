package wire

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// quote writes a masked text as one word of a shell. The marks of secrets become variables.
func quote(hidden string) string {
	var b strings.Builder
	at := 0
	for _, found := range marked.FindAllStringIndex(hidden, -1) {
		b.WriteString(shellQuote(hidden[at:found[0]]) + `"` + hidden[found[0]:found[1]] + `"`)
		at = found[1]
	}
	return b.String() + shellQuote(hidden[at:])
}

// longestCommand is how many bytes of a command a report shows.
const longestCommand = 8 << 10

// curl returns a command that sends the same request. The secrets in it are variables. If cookies is not empty, it
// stands for all cookies.
func (m *Mask) curl(a *Answer, cookies string) string {
	command := named(m.command(a, cookies))
	if len(command) <= longestCommand {
		return command
	}
	return "# Too long to repeat: " + OneLine(Clip(command, shownLine))
}

// command returns the same with marks, and in full.
func (m *Mask) command(a *Answer, cookies string) string {
	words := []string{"curl", "-i"}
	if a.Method != http.MethodGet && (a.Method != http.MethodPost || a.SentForm == "") {
		words = append(words, "-X", a.Method)
	}
	address := m.hide(a.URL.String())
	if strings.ContainsAny(address, "[]{}") {
		words = append(words, "-g") // curl would send a request for each value of [1-9] and {a,b}
	}
	words = append(words, quote(address))
	for _, name := range slices.Sorted(maps.Keys(a.SentHeader)) {
		for _, value := range a.SentHeader[name] {
			credentials, basic := basicAuth(value)
			switch {
			case name == "Authorization" && basic:
				words = append(words, "-u", quote(m.basic(credentials)))
			case name == "Cookie" && cookies != "": // not by -b, with which curl does not send long cookies
				words = append(words, "-H", `"Cookie: `+cookies+`"`)
			case name == CertificateOf:
				of := "$" + strings.ToUpper(noVariable.ReplaceAllString(value, "_"))
				words = append(words, "--cert", `"`+of+`_CERTIFICATE"`, "--key", `"`+of+`_KEY"`)
			case name == "User-Agent" || name == "Content-Type" && a.contentType == FormEncoded:
			default:
				words = append(words, "-H", quote(name+": "+m.sentHeader(name, value)))
			}
		}
	}
	if a.SentForm != "" {
		for pair := range strings.SplitSeq(m.hide(a.SentForm), "&") {
			words = append(words, "-d", quote(pair))
		}
	}
	return strings.Join(words, " ")
}
