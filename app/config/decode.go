package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"mandate/provider/people"
	"mandate/provider/policy"
)

// mask replaces a secret in the output of Print.
const mask = "********"

// field is one setting: its key, its full name for messages, and where its value
// goes.
type field struct {
	key   string
	name  string
	value reflect.Value
	tag   reflect.StructTag

	owner   reflect.Type // the struct that declares it
	goName  string       // its field
	subject string       // its heading in the documentation
}

func (f field) secret() bool { return f.tag.Get("secret") != "" }

// unitName is what a time is counted in, or "" for other numbers.
func (f field) unitName() string {
	switch {
	case strings.HasSuffix(f.key, "_DAYS"):
		return "days"
	case strings.HasSuffix(f.key, "_SECONDS"), f.value.Type() == reflect.TypeFor[time.Duration]():
		return "seconds"
	}
	return ""
}

func (f field) unit() time.Duration {
	if f.unitName() == "days" {
		return 24 * time.Hour
	}
	return time.Second
}

// fieldsOf lists the settings of one struct in the order in which they are printed. Their full names begin with name.
func fieldsOf(v reflect.Value, name string) []field {
	var list []field
	collect(v, name, &list)
	return list
}

// collect adds the settings of a struct and of its components, which are structs without a key.
func collect(v reflect.Value, name string, list *[]field) {
	at, subject := len(*list), ""
	for i := range v.NumField() {
		part := v.Type().Field(i)
		key, after := part.Tag.Get("key"), part.Tag.Get("after")
		switch {
		case key == "" && part.IsExported() && part.Type.Kind() == reflect.Struct:
			collect(v.Field(i), name, list)
			at = len(*list)
		case key == "", key == "-": // no setting, or those of another component
		default:
			if after != "" {
				at = 1 + slices.IndexFunc(*list, func(f field) bool { return f.key == after })
			}
			subject = cmp.Or(part.Tag.Get("subject"), subject)
			*list = slices.Insert(*list, at, field{
				key: key, name: name + key, value: v.Field(i), tag: part.Tag,
				owner: v.Type(), goName: part.Name, subject: subject,
			})
			at++
		}
	}
}

// allFields lists the settings of both levels, without the block that contains the
// second level.
func allFields(c *Config) []field {
	var all []field
	for _, f := range fieldsOf(reflect.ValueOf(c).Elem(), "") {
		if f.value.Kind() == reflect.Struct {
			all = append(all, fieldsOf(f.value, f.name+".")...)
			continue
		}
		all = append(all, f)
	}
	return all
}

// position is the place of a node.
func (l *loader) position(node *yaml.Node) source {
	at := l.here
	if at.file != "" && at.line == 0 {
		at.line = node.Line
	}
	return at
}

// mapping reads the keys of one mapping into fields.
func (l *loader) mapping(node *yaml.Node, name string, fields []field) {
	if !is(node, yaml.MappingNode) {
		l.report(l.position(node), strings.TrimSuffix(name, "."), "must be keys with values (KEY: value), not "+kindOf(node))
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if !is(key, yaml.ScalarNode) {
			l.report(l.position(key), strings.TrimSuffix(name, "."), "has a key that is not a plain name")
			continue
		}
		l.pair(key, value, name, fields)
	}
}

func (l *loader) pair(key, value *yaml.Node, name string, fields []field) {
	at := l.position(key)
	for _, f := range fields {
		switch {
		case f.key == key.Value:
			if l.claim(f, key.Value, at) {
				l.c.sources[f.name] = at
				if value.LineComment == "" {
					value.LineComment = key.LineComment // that of a key without a value
				}
				l.decode(value, f)
			}
			return
		case f.secret() && f.key+fileSuffix == key.Value:
			if !isScalar(value, "!!str") {
				l.report(at, f.name, "needs the path of a file in "+key.Value+", not "+kindOf(value))
				return
			}
			l.fromFile(f, key.Value, value.Value, at)
			return
		}
	}
	l.report(at, shownName(name, key.Value), unknownKey(key.Value, name, fields))
}

// decode stores the value of a node in a field.
func (l *loader) decode(node *yaml.Node, f field) {
	if isScalar(node, "!!null") {
		l.report(l.position(node), f.name, "has no value; "+missingHelp(node))
		return
	}
	switch target := f.value.Addr().Interface().(type) {
	case *[]policy.Scope:
		l.scopes(node, f, target)
	case *Pairs:
		l.pairs(node, f, target)
	case *[]string:
		*target = l.strings(node, f)
	case *[]netip.Prefix:
		l.prefixes(node, f, target)
	case *time.Duration:
		*target = time.Duration(l.number(node, f)) * f.unit()
	case *string:
		*target = l.text(node, f)
	case *bool:
		l.flag(node, f, target)
	case *int:
		*target = int(l.number(node, f))
	case *uint32:
		*target = uint32(l.number(node, f))
	case *int64:
		*target = l.number(node, f)
	default:
		if f.value.Kind() == reflect.Slice {
			l.blocks(node, f)
			return
		}
		l.mapping(node, f.name+".", fieldsOf(f.value, f.name+"."))
	}
}

// missingHelp says how to give a value to a key that has none. A colour or a password may begin with a #, which
// begins a comment in YAML.
func missingHelp(node *yaml.Node) string {
	if text := strings.TrimPrefix(node.LineComment, "#"); text != "" && text[0] != ' ' {
		return "YAML reads what follows # as a comment: put a value that begins with # in quotes"
	}
	return "set one or remove the key"
}

func (l *loader) text(node *yaml.Node, f field) string {
	words := strings.Fields(f.tag.Get("oneof"))
	switch {
	case len(words) > 0 && is(node, yaml.ScalarNode):
		word := node.Value
		if isScalar(node, "!!bool") { // True, as in Python
			word = strings.ToLower(word)
		}
		if !slices.Contains(words, word) { // also a number: no quotes make it one of the words
			l.report(l.position(node), f.name, "must be one of "+strings.Join(words, ", "))
		}
		return word
	case isScalar(node, "!!str"):
	// A port alone is the usual mistake. In quotes it would be wrong too.
	case isScalar(node, "!!int") && f.name == "LISTEN":
		l.report(l.position(node), f.name, listenForm)
		return ""
	case isScalar(node, "!!int") && f.name == "OPS_LISTEN":
		l.report(l.position(node), f.name, opsListenForm)
		return ""
	default:
		l.report(l.position(node), f.name, "must be text, not "+kindOf(node)+quotesHelp(node))
		return ""
	}
	if f.secret() && strings.Contains(node.Value, mask) {
		l.report(
			l.position(node), f.name,
			"contains "+mask+", which replaces a secret in the output of config print; set the secret itself",
		)
	}
	return node.Value
}

func quotesHelp(node *yaml.Node) string {
	if is(node, yaml.ScalarNode) {
		return "; put it in quotes"
	}
	return ""
}

// flag accepts true and false only: "yes" or 1 could mean something else.
func (l *loader) flag(node *yaml.Node, f field, target *bool) {
	value := strings.ToLower(node.Value)
	if !isScalar(node, "!!bool") || value != "true" && value != "false" {
		l.report(l.position(node), f.name, "must be true or false, not "+kindOf(node))
		return
	}
	*target = value == "true"
}

// number accepts plain decimal digits only: 010 and 0x10 in YAML are more often a
// mistake than intended.
func (l *loader) number(node *yaml.Node, f field) int64 {
	least, most := tagNumber(f.tag, "min"), tagNumber(f.tag, "max")
	form := "must be a whole number"
	if f.unitName() != "" {
		form += " of " + f.unitName() + " (" + f.tag.Get("default") + ")"
	}
	value, err := strconv.ParseInt(node.Value, 10, 64)
	wrong := ""
	switch {
	case isScalar(node, "!!str") && err == nil:
		wrong = "must be a number, not text; remove the quotes"
	case !isScalar(node, "!!int") && !isScalar(node, "!!float"):
		wrong = form + ", not " + kindOf(node)
	case errors.Is(err, strconv.ErrRange), err == nil && (value < least || value > most):
		wrong = fmt.Sprintf("must be a number from %d to %d", least, most)
	case err != nil, strconv.FormatInt(value, 10) != node.Value:
		wrong = "must be a whole number in plain decimal digits"
	default:
		return value
	}
	l.report(l.position(node), f.name, wrong)
	return tagNumber(f.tag, "default")
}

// tagNumber reads a number from a tag. Every numeric setting has default, min and
// max.
func tagNumber(tag reflect.StructTag, name string) int64 {
	value, _ := strconv.ParseInt(tag.Get(name), 10, 64)
	return value
}

// items are the nodes of a list, each with its own full name for messages.
func (l *loader) items(node *yaml.Node, f field) []field {
	if !is(node, yaml.SequenceNode) {
		l.report(l.position(node), f.name, "must be a list ([one, two]), not "+kindOf(node))
		return nil
	}
	items := make([]field, len(node.Content))
	for i, child := range node.Content {
		items[i] = field{name: fmt.Sprintf("%s[%d]", f.name, i), tag: f.tag}
		l.c.sources[items[i].name] = l.position(child)
	}
	return items
}

func (l *loader) strings(node *yaml.Node, f field) []string {
	list := []string{}
	for i, item := range l.items(node, f) {
		list = append(list, l.text(node.Content[i], item))
	}
	return list
}

func (l *loader) prefixes(node *yaml.Node, f field, target *[]netip.Prefix) {
	*target = []netip.Prefix{}
	for i, item := range l.items(node, f) {
		child := node.Content[i]
		prefix, wrong := parsePrefix(l.text(child, item))
		switch {
		case wrong == "":
			*target = append(*target, prefix)
		case isScalar(child, "!!str"): // otherwise text reported a problem
			l.report(l.position(child), item.name, wrong)
		}
	}
}

func parsePrefix(text string) (netip.Prefix, string) {
	addr, err := netip.ParseAddr(text)
	if err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), ""
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return prefix, "is neither an address (192.0.2.1) nor a network (192.0.2.0/24)"
	case prefix != prefix.Masked():
		return prefix, fmt.Sprintf("has address bits after its prefix length; write %s", prefix.Masked())
	case prefix.Bits() == 0:
		return prefix, "covers every address, so that every client could choose the address that the server sees; list the " +
			"proxies"
	case prefix.Addr().Is4In6():
		return prefix, "is IPv4 written as IPv6; write it as IPv4"
	}
	return prefix, ""
}

func (l *loader) scopes(node *yaml.Node, f field, target *[]policy.Scope) {
	if !is(node, yaml.MappingNode) {
		l.report(
			l.position(node), f.name, "must be a mapping from scope to description ({read: Read scope}), not "+kindOf(node),
		)
		return
	}
	*target = []policy.Scope{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		item := field{name: fmt.Sprintf("%s[%d]", f.name, i/2)}
		l.c.sources[item.name] = l.position(key)
		one := policy.Scope{Name: l.text(key, item)}
		if is(value, yaml.MappingNode) {
			for _, p := range l.ordered(value, item, "repeats a language; keep one") {
				one.In = append(one.In, policy.Translation{Language: p.From, Text: p.To})
			}
			one.Description = one.DescribedIn("en")
			if one.Description == "" {
				l.report(
					l.position(key), item.name, "has no English description (en), which is for people who read another language",
				)
				continue
			}
		} else {
			one.Description = l.text(value, item)
		}
		if has(*target, one.Name) {
			l.report(l.position(key), item.name, "repeats a scope; keep one")
		}
		*target = append(*target, one)
	}
}

func (l *loader) pairs(node *yaml.Node, f field, target *Pairs) {
	if !is(node, yaml.MappingNode) {
		l.report(
			l.position(node), f.name, "must be a mapping from a value there to one here ({there: here}), not "+kindOf(node),
		)
		return
	}
	*target = l.ordered(node, f, "repeats a value; keep one")
}

// ordered reads a mapping in the order of the file.
func (l *loader) ordered(node *yaml.Node, f field, repeated string) Pairs {
	found := Pairs{}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		item := field{name: fmt.Sprintf("%s[%d]", f.name, i/2)}
		l.c.sources[item.name] = l.position(key)
		one := people.Mapped{From: l.text(key, item), To: l.text(value, item)}
		if seen[one.From] {
			l.report(l.position(key), item.name, repeated)
		}
		seen[one.From] = true
		found = append(found, one)
	}
	return found
}

// blocks reads a list whose items are mappings. A key that an item lacks has the default of its tag.
func (l *loader) blocks(node *yaml.Node, f field) {
	items := l.items(node, f)
	f.value.Set(reflect.MakeSlice(f.value.Type(), len(items), len(items)))
	for i, item := range items {
		name := item.name + "."
		fields := fieldsOf(f.value.Index(i), name)
		l.itemDefaults(fields)
		l.mapping(node.Content[i], name, fields)
	}
}

// itemDefaults sets the fields of an item whose default is not their zero value.
func (l *loader) itemDefaults(fields []field) {
	for _, f := range fields {
		switch f.tag.Get("default") {
		case "", "[]", "{}", "0", "false":
			continue
		}
		node, _ := textNode(f.value.Type(), f.tag.Get("default")) // a test reads the tags
		l.decode(node, f)
	}
}
