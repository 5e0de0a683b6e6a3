package check

import "slices"

// Metadata is what a server publishes about itself.
type Metadata map[string]any

// Text returns a member that is a string, or "".
func (m Metadata) Text(name string) string {
	text, _ := m[name].(string)
	return text
}

// Is reports whether a member is true.
func (m Metadata) Is(name string) bool { return m[name] == true }

// List returns the strings of a member that is an array, and whether it is one.
func (m Metadata) List(name string) ([]string, bool) {
	values, is := m[name].([]any)
	var list []string
	for _, v := range values {
		text, _ := v.(string)
		list = append(list, text)
	}
	return list, is
}

// Lists reports whether a member is an array that contains a value.
func (m Metadata) Lists(name, value string) bool {
	list, _ := m.List(name)
	return slices.Contains(list, value)
}
