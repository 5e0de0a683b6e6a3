// Package attributes holds what an operator wants to know about people beyond their profile (OIDC Core §5.1), such as
// a quota or a department. Administrators give people the values, and the claim rules of applications read them.
package attributes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The types of an attribute. The empty type is Text.
const (
	Text   = "string"
	Number = "number"
	Truth  = "boolean"
	List   = "list"
)

// MaxNumber is the largest number that every reader of JSON reads exactly (RFC 8259 §6).
const MaxNumber = 1<<53 - 1

const (
	maxText = 200 // characters
	maxList = 20  // values
)

// Attribute is one of them.
type Attribute struct {
	// Name is how commands and claim rules call the attribute: at most 40 lower-case letters, digits and `_`.
	Name string `key:"NAME" default:""`
	// Type says what the value is: a text (`string`), a whole `number`, a `boolean`, or a `list` of texts.
	Type string `key:"TYPE" default:"string" oneof:"string number boolean list"`
	// Values are the only values of a text, and of each text of a list.
	//
	// If the list is empty, every text of at most 200 characters is allowed.
	Values []string `key:"VALUES" default:"[]"`
	// Min is the smallest value of a number.
	Min int64 `key:"MIN" default:"0" min:"-9007199254740991" max:"9007199254740991"`
	// Max is the largest value of a number.
	Max int64 `key:"MAX" default:"9007199254740991" min:"-9007199254740991" max:"9007199254740991"`
}

var nameOf = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// IsName reports whether a text has the form of the name of an attribute.
func IsName(text string) bool { return nameOf.MatchString(text) }

// Set is the attributes of a server.
type Set []Attribute

// Names returns their names.
func (s Set) Names() []string {
	var names []string
	for _, a := range s {
		names = append(names, a.Name)
	}
	return names
}

// Values returns the values of a person, as they are stored. A value that the attribute could not have now, because the
// operator has changed its type or its bounds, is left out: it decides nothing. A number is a json.Number, and a list
// has the type []any.
func (s Set) Values(stored string) (map[string]any, error) {
	all, err := read(stored)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, a := range s {
		texts, has := all[a.Name]
		if !has {
			continue
		}
		if value, wrong := a.value(texts); wrong == "" {
			values[a.Name] = value
		}
	}
	return values, nil
}

// Change returns the stored values after changes in the form NAME=VALUE. In a list, semicolons separate the values. An
// empty value removes the attribute from the person. Values of attributes that this server does not have now stay.
// wrong is called for each mistake.
func (s Set) Change(stored string, changes []string, wrong func(message string)) (string, error) {
	all, err := read(stored)
	if err != nil || len(changes) == 0 {
		return stored, err
	}
	for _, change := range changes {
		name, text, written := strings.Cut(change, "=")
		at := slices.IndexFunc(s, func(a Attribute) bool { return a.Name == name })
		switch {
		case !written:
			wrong(fmt.Sprintf("Write %q as NAME=VALUE.", clip(change)))
		case at < 0:
			wrong(fmt.Sprintf("There is no attribute %q: the setting ATTRIBUTES names them.", clip(name)))
		case text == "":
			delete(all, name)
		default:
			texts := s[at].texts(text)
			if _, mistake := s[at].value(texts); mistake != "" {
				wrong(fmt.Sprintf("%s: %s", name, mistake))
			}
			all[name] = texts
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	return write(all)
}

// texts splits a text as the type says. A text without any value is no list.
func (a Attribute) texts(text string) []string {
	if a.Type != List {
		return []string{text}
	}
	var values []string
	for value := range strings.SplitSeq(text, ";") {
		if value = strings.TrimSpace(value); value != "" {
			values = append(values, value)
		}
	}
	return values
}

// value returns the value for stored texts, or what is wrong with them.
func (a Attribute) value(texts []string) (any, string) {
	if a.Type == List {
		return a.list(texts)
	}
	if len(texts) != 1 {
		return nil, "Use one value."
	}
	text := texts[0]
	switch a.Type {
	case Number:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != text || n < a.Min || n > a.Max {
			return nil, fmt.Sprintf("Use a whole number from %d to %d.", a.Min, a.Max)
		}
		return json.Number(text), ""
	case Truth:
		if text != "true" && text != "false" {
			return nil, "Use true or false."
		}
		return text == "true", ""
	}
	return text, a.mistake(text)
}

func (a Attribute) list(texts []string) (any, string) {
	values := []any{}
	for _, text := range texts {
		if mistake := a.mistake(text); mistake != "" {
			return nil, mistake
		}
		values = append(values, text)
	}
	if len(values) == 0 || len(values) > maxList {
		return nil, fmt.Sprintf("Use 1 to %d values, with a semicolon between.", maxList)
	}
	return values, ""
}

func (a Attribute) mistake(text string) string {
	switch {
	case len(a.Values) > 0 && !slices.Contains(a.Values, text):
		return "Use one of " + strings.Join(a.Values, ", ") + "."
	case !IsText(text):
		return fmt.Sprintf("Use at most %d characters on one line.", maxText)
	}
	return ""
}

// IsText reports whether a text can be a value.
func IsText(text string) bool {
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxText &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// IsOneOfList reports whether a text can be written as one value of a list.
func IsOneOfList(text string) bool {
	return !strings.Contains(text, ";") && strings.TrimSpace(text) == text
}

// read reads the values of a person, each as the texts from which its type makes it.
func read(stored string) (map[string][]string, error) {
	all := map[string][]string{}
	if stored == "" {
		return all, nil
	}
	err := json.Unmarshal([]byte(stored), &all)
	if err != nil {
		return nil, fmt.Errorf("read the attributes of a person: %w", err)
	}
	return all, nil
}

// write writes the values with the names in one order.
func write(all map[string][]string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(all)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func clip(text string) string {
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "")
	}
	return text
}
