package wire

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// confidential are the names of parameters and members whose values are secrets, in requests and in answers.
var confidential = []string{"access_token", "refresh_token", "id_token", "code", "code_verifier", "token",
	"client_secret", "password",
	"client_assertion", "assertion", "response", "id_token_hint", "logout_token", "registration_access_token",
	"initial_access_token", "device_code",
	// These carry a session at servers of several projects, or stand for a request:
	"login_verifier", "consent_verifier", "login_challenge", "consent_challenge", "logout_challenge", "logout_verifier",
	"session_code", "request_uri", "user_code",
	"ticket", "SAMLResponse", "secret", "accessToken", "refreshToken", "idToken"}

// shortest is the least length of a secret that is masked in any text. A shorter secret could be part of other words
// by chance; it is masked only where the name of its parameter, member, field or header stands beside it.
const shortest = 8

// longest is the length of a value up to which its parts are compared with the secrets.
const longest = 16 << 10

// How many secrets an answer may issue, and all answers of a check. Each further one costs time in each text that is
// masked. It has no name, and is masked beside the name of its parameter only. The body of its answer is left out.
const (
	mostOfAnswer = 200
	mostOfMask   = 5000
)

// Mask replaces secrets by names. The names are those of shell variables, so that a printed curl command works when
// these variables are set. Secrets are the password and the client secrets of the target, and what the server issues.
// A value that a check has made up, such as an invented token or a scope, is shown.
type Mask struct {
	names   map[string]string // the name of each secret
	secrets map[string]string // the secret of each name
	taken   map[string]int
	fields  []string        // form fields that a password was typed into
	chosen  map[string]bool // values that the checks have made up

	issuer map[string]*Answer // the answer that issued each secret
	made   map[string]bool    // secrets that a check made of others
	own    map[string]bool    // secrets of the target

	learned map[*Answer]bool // true: the answer has too many secrets
	full    bool             // some secrets have no name

	spelt    []spelling        // what is replaced in any position
	words    []spelling        // what is replaced as a whole word
	replacer *strings.Replacer // of spelt; nil: it must be built
}

// NewMask returns a Mask that knows no secret.
func NewMask() *Mask {
	return &Mask{names: map[string]string{}, secrets: map[string]string{}, taken: map[string]int{},
		chosen: map[string]bool{}, issuer: map[string]*Answer{},
		made: map[string]bool{}, own: map[string]bool{}, learned: map[*Answer]bool{}}
}

// Clone returns a copy, which learns further secrets on its own.
func (m *Mask) Clone() *Mask {
	c := *m
	c.names, c.secrets, c.taken, c.chosen, c.issuer = maps.Clone(m.names), maps.Clone(m.secrets), maps.Clone(m.taken),
		maps.Clone(m.chosen), maps.Clone(m.issuer)
	c.made, c.own, c.learned = maps.Clone(m.made), maps.Clone(m.own), maps.Clone(m.learned)
	c.fields, c.spelt, c.words = slices.Clone(m.fields), slices.Clip(m.spelt), slices.Clip(m.words)
	return &c
}

// Add gives a secret a name and returns it. A secret keeps the name that it was given first. A value that a check has
// made up is no secret: it is returned.
func (m *Mask) Add(name, secret string) string {
	switch {
	case secret == "" || m.names[secret] != "":
		return m.names[secret]
	case m.chosen[secret]:
		return secret
	}
	name = strings.ToUpper(noVariable.ReplaceAllString(name, "_"))
	m.taken[name]++
	if m.taken[name] > 1 {
		name += fmt.Sprint(m.taken[name])
	}
	name = "$" + name
	m.names[secret], m.secrets[name] = name, secret
	if len(secret) >= shortest && !word.MatchString(secret) {
		m.spell(name, spellings(secret))
	}
	return name
}

// The names of the variables for what a check signs with a private key: assertions and proofs. A new one is needed for
// each request.
const (
	assertionName = "CLIENT_ASSERTION"
	proofName     = "DPOP_PROOF"
)

// Own gives a secret of the target a name. It is masked in more spellings than others, and as a whole word if it is
// short or could be a word. A value that is public too, or a word of the protocol, is masked only beside its name.
func (m *Mask) Own(name, secret string) {
	name = m.Add(name, secret)
	if secret == "" || name == secret || m.own[secret] {
		return
	}
	m.own[secret] = true
	all := append(spellings(secret), encodings(secret)...)
	switch {
	case len(secret) >= shortest && !word.MatchString(secret):
		m.spell(name, all)
	case len(secret) > 1 && !slices.Contains(protocol, strings.ToLower(secret)):
		for _, text := range all {
			m.words = append(m.words, spelling{text, mark(name)})
		}
	}
}

// OwnClient gives the secret of a client a name, and masks its credentials of HTTP Basic authentication too, with and
// without the form-encoding of RFC 6749 §2.3.1.
func (m *Mask) OwnClient(role, id, secret string) {
	m.Own(role+"_secret", secret)
	if both := id + ":" + secret; secret != "" && !m.own[both] {
		m.own[both] = true
		m.spell("$"+strings.ToUpper(noVariable.ReplaceAllString(role, "_"))+"_CREDENTIALS",
			append(encodings(both), encodings(url.QueryEscape(id)+":"+url.QueryEscape(secret))...))
	}
}

// Show records that a value is no secret.
func (m *Mask) Show(value string) {
	if value != "" && m.names[value] == "" {
		m.chosen[value] = true
	}
}

// choose records that a check sends a value that the server has not issued. A value that was made of a secret, such as
// a token with another last character, is a secret too.
func (m *Mask) choose(name, value string) {
	switch {
	case m.names[value] != "":
	// a check signs an assertion with a key of the target
	case strings.EqualFold(name, assertionName) || name == proofName || m.confidential(name) && m.resembles(value):
		m.made[value] = true
		m.Add(name, value)
	default:
		m.Show(value)
	}
}

// resembles reports whether a value shares much with a secret: its beginning, its end, or a part of a JWT.
func (m *Mask) resembles(value string) bool {
	for secret := range m.names {
		if len(secret) < shortest && strings.Contains(value, secret) {
			return true
		}
		if len(value) > longest { // a token is shorter
			continue
		}
		half := min(len(secret), len(value)) / 2
		if half >= shortest/2 &&
			(strings.HasPrefix(value, secret[:half]) || strings.HasSuffix(value, secret[len(secret)-half:])) {
			return true
		}
		for part := range strings.SplitSeq(value, ".") {
			if len(part) >= shortest && strings.Contains(secret, part) {
				return true
			}
		}
	}
	return false
}

var noVariable = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// Typed records the name of a form field that a password was typed into. The value of this field is a secret in what
// the form sends.
func (m *Mask) Typed(name string) { m.fields = append(m.fields, name) }

func (m *Mask) confidential(name string) bool {
	return slices.Contains(confidential, name) || slices.Contains(m.fields, name)
}
