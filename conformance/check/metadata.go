package check

import "slices"

// Metadata is what a server says of itself.
type Metadata map[string]any

func (m Metadata) Text(name string) string {
	text, _ := m[name].(string)
	return text
}

func (m Metadata) Is(name string) bool { return m[name] == true }

// List gives the strings of an array, and whether it is there.
func (m Metadata) List(name string) ([]string, bool) {
	values, is := m[name].([]any)
	var list []string
	for _, v := range values {
		text, _ := v.(string)
		list = append(list, text)
	}
	return list, is
}

func (m Metadata) Lists(name, value string) bool {
	list, _ := m.List(name)
	return slices.Contains(list, value)
}
