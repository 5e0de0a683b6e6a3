package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of the rules of one application. Each token request evaluates all of them.
const (
	maxRules = 20
	maxLine  = 2000 // bytes
	maxMap   = 100
	maxText  = 200
)

// nameOf is the form of the name of a claim.
//
// OIDC Core §5.2: a number sign begins a language tag. A name with one, with a letter outside ASCII or with a hidden
// character could pass for a protocol claim.
var nameOf = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:/-]{0,99}$`)

// fields are the fields of a profile that a rule can read. The others are no single value.
var fields = []string{
	"preferred_username", "name", "given_name", "family_name", "middle_name", "nickname", "email", "phone_number",
	"profile", "picture", "website", "gender", "birthdate", "zoneinfo", "locale",
}

// attributeName is the form of the name of an attribute.
var attributeName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Known is what this server has: the names of its scopes, and of the attributes of people.
type Known struct{ Scopes, Attributes []string }

// Check reads the rules of an application, a rule in each line. It returns the lines in the form in which they are
// stored. wrong is called for each mistake.
func Check(lines []string, known Known, wrong func(message string)) []string {
	if len(lines) > maxRules {
		wrong(fmt.Sprintf("Use at most %d rules.", maxRules))
		return lines
	}
	var names, stored []string
	for n, line := range lines {
		rule, err := Parse(line)
		if len(line) > maxLine {
			err = fmt.Errorf("use at most %d bytes", maxLine)
		}
		if err == nil && rule.Scope != "" && !slices.Contains(known.Scopes, rule.Scope) {
			err = fmt.Errorf("there is no scope %q on this server", clip(rule.Scope))
		}
		if err == nil && rule.From == Attribute && !slices.Contains(known.Attributes, rule.Field) {
			err = fmt.Errorf("there is no attribute %q on this server: the setting ATTRIBUTES names them", rule.Field)
		}
		if err != nil {
			wrong(fmt.Sprintf("Rule %d: %s.", n+1, err))
			continue
		}
		// A program that reads names without regard to case would take either of the two.
		if name := strings.ToLower(rule.Name); slices.Contains(names, name) {
			wrong(fmt.Sprintf("Rule %d: another rule has the claim %s already. Use one rule for each claim.", n+1, rule.Name))
		} else {
			names = append(names, name)
		}
		stored = append(stored, rule.String())
	}
	return stored
}

// Parse reads a rule: a JSON object in one line. The error is a sentence for whoever wrote the rule.
func Parse(line string) (Rule, error) {
	members, err := object([]byte(line))
	if err != nil {
		return Rule{}, err
	}
	var r Rule
	for _, m := range members {
		err = r.set(m)
		if err != nil {
			return r, err
		}
	}
	return r, r.check(members)
}

type member struct {
	name string
	raw  json.RawMessage
}

var errNotObject = errors.New(`write each rule as one JSON object in one line, such as ` +
	`{"name":"role","from":"groups","map":{"staff":"editor"},"default":"viewer","in":["id_token"]}`)

// object reads the members of a JSON object in their order. A name that stands twice is an error: two programs could
// take different ones. (The package json takes the last, and ignores case.)
func object(raw []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	open, err := d.Token()
	if err != nil || open != json.Delim('{') || !utf8.Valid(raw) {
		return nil, errNotObject
	}
	var found []member
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return nil, errNotObject
		}
		text, _ := name.(string)
		if slices.ContainsFunc(found, func(m member) bool { return m.name == text }) {
			return nil, fmt.Errorf("%q stands there twice: remove one", text)
		}
		found = append(found, member{text, value})
	}
	_, err = d.Token()
	if err == nil {
		_, err = d.Token()
	}
	if err != io.EOF {
		return nil, errNotObject
	}
	return found, nil
}

// set sets the part of a rule that a member of its object has.
func (r *Rule) set(m member) error {
	var err error
	switch m.name {
	case "name":
		r.Name, err = textOf(m)
	case "from":
		var from string
		from, err = textOf(m)
		r.From, r.Field, _ = strings.Cut(from, ".")
	case "value":
		r.Value, err = valueOf(m)
	case "filter":
		r.Filter, err = textOf(m)
	case "trim":
		r.Trim, err = true, isTrue(m)
	case "map":
		r.Map, err = pairsOf(m)
	case "prefix":
		r.Prefix, err = textOf(m)
	case "text":
		r.Text, err = true, isTrue(m)
	case "default":
		r.Default, err = valueOf(m)
	case "in":
		r.In, err = textsOf(m)
	case "scope":
		r.Scope, err = textOf(m)
	case "resources":
		r.Resources, err = textsOf(m)
	default:
		return fmt.Errorf("a rule has no %q: it can have name, from, value, filter, trim, map, prefix, text, default, in, "+
			"scope and resources", clip(m.name))
	}
	return err
}

func clip(text string) string {
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "")
	}
	return text
}

func textOf(m member) (string, error) {
	var text string
	err := json.Unmarshal(m.raw, &text)
	if err != nil || text == "" || len(text) > maxText || strings.ContainsFunc(text, isControl) {
		return "", fmt.Errorf("%q must be a text of 1 to %d bytes", m.name, maxText)
	}
	return text, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func textsOf(m member) ([]string, error) {
	var list []json.RawMessage
	err := json.Unmarshal(m.raw, &list)
	if err != nil || len(list) == 0 || len(list) > maxMap {
		return nil, fmt.Errorf("%q must be a list of texts, such as [\"id_token\"]", m.name)
	}
	var texts []string
	for _, raw := range list {
		text, err := textOf(member{m.name, raw})
		if err != nil {
			return nil, err
		}
		if slices.Contains(texts, text) {
			return nil, fmt.Errorf("%q has %s twice: remove one", m.name, text)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func isTrue(m member) error {
	if string(m.raw) != "true" {
		return fmt.Errorf("%q can only be true: leave it out otherwise", m.name)
	}
	return nil
}

// valueOf reads a text, a number, a truth value, or a list of texts.
func valueOf(m member) (any, error) {
	if m.raw[0] == '[' {
		texts, err := textsOf(m)
		values := make([]any, len(texts))
		for i := range texts {
			values[i] = texts[i]
		}
		return values, err
	}
	return scalarOf(m)
}

func scalarOf(m member) (any, error) {
	d := json.NewDecoder(bytes.NewReader(m.raw))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	switch value := value.(type) {
	case bool:
		return value, err
	case json.Number:
		if len(value) <= 20 {
			return value, err
		}
	case string:
		return textOf(m)
	}
	return nil, fmt.Errorf("%q must be a text, a number, true or false", m.name)
}

func pairsOf(m member) ([]Pair, error) {
	members, err := object(m.raw)
	if err == nil && (len(members) == 0 || len(members) > maxMap) || errors.Is(err, errNotObject) {
		err = fmt.Errorf(`"map" must be an object of 1 to %d entries, such as {"staff":"editor"}`, maxMap)
	}
	var pairs []Pair
	for _, entry := range members {
		if err == nil {
			var to any
			to, err = scalarOf(entry)
			pairs = append(pairs, Pair{entry.name, to})
		}
	}
	return pairs, err
}

// check checks a rule as a whole.
func (r Rule) check(said []member) error {
	has := func(name string) bool {
		return slices.ContainsFunc(said, func(m member) bool { return m.name == name })
	}
	switch {
	case !has("name"):
		return errors.New(`"name" is missing: it is the name of the claim`)
	case !nameOf.MatchString(r.Name):
		return errors.New("the name of a claim has at most 100 characters: a letter, and then letters and digits of ASCII, " +
			"and _ . : / -")
	case Reserved(r.Name) != "":
		return fmt.Errorf("the claim %s has a meaning of its own (%s), so no rule can set it: choose another name, and let "+
			"the program read that", r.Name, Reserved(r.Name))
	case !has("in"):
		return errors.New(`"in" is missing: it lists where the claim is, some of id_token, userinfo, access_token and ` +
			`introspection`)
	}
	for _, place := range r.In {
		if !slices.Contains(Places(), place) {
			return fmt.Errorf(`"in" cannot have %q: use some of id_token, userinfo, access_token and introspection`, clip(place))
		}
	}
	if len(r.Resources) > 0 && !slices.Contains(r.In, AccessToken) && !slices.Contains(r.In, Introspection) {
		return errors.New(`"resources" is only for claims in access_token or introspection: leave it out`)
	}
	if r.Trim && r.Filter == "" {
		return errors.New(`"trim" cuts off what "filter" has: add "filter", or leave "trim" out`)
	}
	return r.checkSource(has)
}

func (r Rule) checkSource(has func(string) bool) error {
	changes := slices.ContainsFunc([]string{"filter", "map", "prefix", "text", "default"}, has)
	switch {
	case r.From == Fixed && r.Field == "" && !has("value"):
		return errors.New(`"value" is missing: "from":"value" is a claim with a fixed value`)
	case r.From == Fixed && r.Field == "" && changes:
		return errors.New(`a claim with a fixed value has only name, from, value, in, scope and resources`)
	case r.From != Fixed && has("value"):
		return errors.New(`"value" is only for "from":"value": leave it out, or use "default"`)
	case (r.From == Fixed || r.From == Groups) && r.Field == "":
		return nil
	case r.From == Profile && slices.Contains(fields, r.Field):
		return r.checkMap()
	case r.From == Attribute && attributeName.MatchString(r.Field):
		return nil
	case r.From == Profile:
		return fmt.Errorf(`"from" can read these fields of the profile: profile.%s`, strings.Join(fields, ", profile."))
	}
	return errors.New(`"from" is missing or unknown: use groups, profile.FIELD such as profile.email, attribute.NAME ` +
		`such as attribute.quota, or value`)
}

// checkMap refuses a map of what the person may have chosen: whoever changes their own name to one that is in the map
// would give themselves its role. An address is proved, and counts only if it is (see source).
func (r Rule) checkMap() error {
	if len(r.Map) == 0 || r.Field == "email" {
		return nil
	}
	return fmt.Errorf(`"map" cannot read profile.%s: people may choose it, and with it what the map gives; use groups, `+
		`an attribute, or profile.email`, r.Field)
}

// String returns the rule in the form in which it is stored: with its members in one order, and without spaces.
func (r Rule) String() string {
	var b bytes.Buffer
	b.WriteByte('{')
	add := func(name string, there bool, value any) {
		if !there {
			return
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(encoded(name))
		b.WriteByte(':')
		b.Write(encoded(value))
	}
	from := r.From
	if r.Field != "" {
		from += "." + r.Field
	}
	add("name", true, r.Name)
	add("from", true, from)
	add("value", r.Value != nil, r.Value)
	add("filter", r.Filter != "", r.Filter)
	add("trim", r.Trim, true)
	add("map", len(r.Map) > 0, pairs(r.Map))
	add("prefix", r.Prefix != "", r.Prefix)
	add("text", r.Text, true)
	add("default", r.Default != nil, r.Default)
	add("in", true, r.In)
	add("scope", r.Scope != "", r.Scope)
	add("resources", len(r.Resources) > 0, r.Resources)
	b.WriteByte('}')
	return b.String()
}

// pairs writes a map in its order.
type pairs []Pair

// MarshalJSON writes the entries in their order.
func (p pairs) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, pair := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encoded(pair.From))
		b.WriteByte(':')
		b.Write(encoded(pair.To))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encoded returns a value as JSON. A group may have < and > in its name, which stay as they are.
func encoded(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // texts, numbers, truth values, and lists and objects of these
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
