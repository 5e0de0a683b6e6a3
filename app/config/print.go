package config

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"mandate/provider/people"
	"mandate/provider/policy"
)

// Print writes every setting with its effective value and its source, as YAML that
// can be loaded again. Secrets are masked.
func (c *Config) Print(w io.Writer) {
	var out bytes.Buffer
	for _, f := range fieldsOf(reflect.ValueOf(c).Elem(), "") {
		if f.value.Kind() != reflect.Struct {
			c.printField(&out, "", f)
			continue
		}
		fmt.Fprintf(&out, "%s:\n", f.key)
		for _, inner := range fieldsOf(f.value, f.name+".") {
			c.printField(&out, "  ", inner)
		}
	}
	_, _ = w.Write(out.Bytes()) // a closed terminal needs no message
}

// Setting is a setting with its effective value. A secret is masked.
type Setting struct {
	Name   string `json:"name"` // with OAUTH2_PROVIDER. before those of that block
	Value  any    `json:"value"`
	Source string `json:"source"` // default, an environment variable, or a file and a line
}

// List returns every setting. A value that comes from a file of its own is the name of that file.
func (c *Config) List() []Setting {
	var list []Setting
	for _, f := range allFields(c) {
		at := c.sources[f.name]
		one := Setting{Name: f.name, Source: at.String()}
		text := c.printValue(f)
		if at.value != "" {
			one.Name, text = f.name+fileSuffix, strconv.Quote(at.value)
		}
		err := yaml.Unmarshal([]byte(text), &one.Value)
		if err != nil {
			one.Value = text
		}
		list = append(list, one)
	}
	return list
}

func (c *Config) printField(out *bytes.Buffer, indent string, f field) {
	at := c.sources[f.name]
	key, value := f.key, c.printValue(f)
	if at.value != "" { // the file name is no secret, and can be loaded again
		key, value = f.key+fileSuffix, strconv.Quote(at.value)
	}
	from := at.String()
	if at.env != "" {
		from = "environment: " + from
	}
	if strings.ContainsFunc(from, func(r rune) bool { return !strconv.IsPrint(r) }) {
		from = strconv.Quote(from) // a file name with a line break would end the comment
	}
	fmt.Fprintf(out, "%s%s: %s # %s\n", indent, key, value, from)
}

// printValue writes a value on one line. A quoted Go string is also a quoted YAML
// string.
func (c *Config) printValue(f field) string {
	switch value := f.value.Interface().(type) {
	case time.Duration:
		return strconv.FormatInt(int64(value/f.unit()), 10)
	case string:
		return strconv.Quote(masked(f, value))
	case []string:
		return flow(value, func(text string) string { return strconv.Quote(masked(f, text)) })
	case []netip.Prefix:
		return flow(value, func(prefix netip.Prefix) string { return strconv.Quote(prefix.String()) })
	case Pairs:
		return printPairs(value)
	case []policy.Scope:
		pairs := flow(value, func(s policy.Scope) string {
			if len(s.In) == 0 {
				return strconv.Quote(s.Name) + ": " + strconv.Quote(s.Description)
			}
			return strconv.Quote(s.Name) + ": " + printIn(s.In)
		})
		return "{" + pairs[1:len(pairs)-1] + "}"
	default:
		if f.value.Kind() == reflect.Slice {
			return c.printBlocks(f)
		}
		return fmt.Sprint(value) // a number, true or false
	}
}

func printIn(value []policy.Translation) string {
	pairs := make(Pairs, len(value))
	for i, one := range value {
		pairs[i] = people.Mapped{From: one.Language, To: one.Text}
	}
	return printPairs(pairs)
}

func printPairs(value Pairs) string {
	pairs := flow(value, func(p people.Mapped) string { return strconv.Quote(p.From) + ": " + strconv.Quote(p.To) })
	return "{" + pairs[1:len(pairs)-1] + "}"
}

// printBlocks writes a list whose items are mappings.
func (c *Config) printBlocks(of field) string {
	texts := make([]string, of.value.Len())
	for i := range texts {
		var pairs []string
		for _, f := range fieldsOf(of.value.Index(i), fmt.Sprintf("%s[%d].", of.name, i)) {
			key, value := f.key, c.printValue(f)
			if from := c.sources[f.name]; from.value != "" {
				key, value = f.key+fileSuffix, strconv.Quote(from.value)
			}
			pairs = append(pairs, key+": "+value)
		}
		texts[i] = "{" + strings.Join(pairs, ", ") + "}"
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func flow[T any](items []T, show func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = show(item)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// masked hides a secret. In a URL it hides the password only.
func masked(f field, value string) string {
	switch {
	case value == "" || !f.secret():
		return value
	case f.tag.Get("secret") == "url":
		return maskPassword(value)
	}
	return mask
}

// maskPassword hides the text between the first colon and the last @ of the
// authority (RFC 3986 §3.2.1), and the value of every parameter that has "pass" in
// its name.
func maskPassword(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	at := strings.LastIndex(authority, "@")
	colon := strings.Index(authority, ":")
	if colon >= 0 && colon < at {
		authority = authority[:colon+1] + mask + authority[at:]
	}
	before, query, has := strings.Cut(tail, "?")
	if !has {
		return scheme + "://" + authority + tail
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		key, _, _ := strings.Cut(pair, "=")
		if strings.Contains(strings.ToLower(key), "pass") {
			pairs[i] = key + "=" + mask
		}
	}
	return scheme + "://" + authority + before + "?" + strings.Join(pairs, "&")
}
