package conformance

import "slices"

// metadata is what a server says of itself.
type metadata map[string]any

func (m metadata) text(name string) string {
	text, _ := m[name].(string)
	return text
}

func (m metadata) is(name string) bool { return m[name] == true }

// list gives the strings of an array, and whether it is there.
func (m metadata) list(name string) ([]string, bool) {
	values, is := m[name].([]any)
	var list []string
	for _, v := range values {
		text, _ := v.(string)
		list = append(list, text)
	}
	return list, is
}

func (m metadata) lists(name, value string) bool {
	list, _ := m.list(name)
	return slices.Contains(list, value)
}
