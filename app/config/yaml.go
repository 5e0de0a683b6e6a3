package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML reads one document; an empty one is a nil node. A node keeps its
// aliases, so that nested ones cannot grow exponentially: decode refuses them.
func parseYAML(data []byte) (*yaml.Node, int, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, 0, nil
	}
	if err == nil {
		err = decoder.Decode(&second)
	}
	if err == nil {
		return nil, second.Line, errors.New("has a second YAML document, which starts here; keep one")
	}
	if !errors.Is(err, io.EOF) {
		line := errorLine(data, err)
		return nil, line, yamlProblem(data, line, err)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, 0, nil
	}
	return root, 0, nil
}

var yamlPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// errorLine finds the line of a syntax error: the first line after which no
// beginning of the file is valid YAML. The line that the YAML package reports is
// often that of the enclosing block, or one too small. It is used only for large
// files, in which the search would take too long.
func errorLine(data []byte, parse error) int {
	const maxLines, maxBytes = 500, 64 << 10
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) > maxLines || len(data) > maxBytes {
		return toldLine(parse)
	}
	end := len(data)
	for i := len(lines); i > 0; i-- {
		end -= len(lines[i-1])
		if isYAML(data[:end]) {
			return i
		}
	}
	return 1
}

// toldLine is the line that the YAML package reports, or 0.
func toldLine(parse error) int {
	match := yamlPrefix.FindStringSubmatch(parse.Error())
	if match == nil {
		return 0
	}
	line, _ := strconv.Atoi(match[1]) // without a number it is 0
	return line
}

func isYAML(data []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		err := decoder.Decode(&yaml.Node{})
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// yamlProblem describes a syntax error without the content of the line, which may
// be a secret.
func yamlProblem(data []byte, line int, err error) error {
	lines := strings.Split(string(data), "\n")
	text := ""
	if line > 0 && line <= len(lines) {
		text = lines[line-1]
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	if strings.Contains(indent, "\t") {
		return errors.New("is indented with a tab; indent with spaces")
	}
	if strings.Contains(err.Error(), "unknown anchor") {
		return errors.New("has a value that starts with *; put the value in quotes")
	}
	return fmt.Errorf("is not YAML: %s", yamlPrefix.ReplaceAllString(err.Error(), ""))
}

// textNode converts the text of a variable into the node that the same value has in
// a file. Text is taken as it is, a list may also be words, everything else is
// YAML.
func textNode(t reflect.Type, text string) (*yaml.Node, string) {
	if t.Kind() == reflect.String {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}, ""
	}
	words := t == reflect.TypeFor[[]string]() || t == reflect.TypeFor[[]netip.Prefix]()
	if words && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, word := range listItems(text) {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: word})
		}
		return list, ""
	}
	node, _, err := parseYAML([]byte(text))
	if err != nil {
		return nil, err.Error()
	}
	if node == nil {
		return nil, "is empty; set a value or remove it"
	}
	return node, ""
}

// listItems are words, or keys in PEM, which contain spaces and line ends.
func listItems(text string) []string {
	const begin = "-----BEGIN "
	if !strings.HasPrefix(strings.TrimSpace(text), begin) {
		return strings.Fields(text)
	}
	var keys []string
	for _, key := range strings.Split(text, begin)[1:] {
		keys = append(keys, strings.TrimSpace(begin+key))
	}
	return keys
}

// is reports whether a node is of a kind and has no anchor. A value that starts with
// & has an anchor by mistake.
func is(node *yaml.Node, kind yaml.Kind) bool {
	return node.Kind == kind && node.Anchor == ""
}

func isScalar(node *yaml.Node, tag string) bool {
	return is(node, yaml.ScalarNode) && node.ShortTag() == tag
}

// kindOf names the kind of value of a node without showing the value.
func kindOf(node *yaml.Node) string {
	if node.Anchor != "" {
		return "a YAML anchor; put a value that starts with & in quotes"
	}
	switch node.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	case yaml.AliasNode:
		return "a YAML alias; write the value out"
	}
	switch node.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!str":
		return "text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	}
	return "a value with a YAML tag"
}
