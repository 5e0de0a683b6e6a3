package oauth

import (
	"slices"
	"strings"
	"time"
)

// Narrow returns the names that are in allowed, in the order of names.
func Narrow(names, allowed []string) []string {
	var kept []string
	for _, name := range names {
		if slices.Contains(allowed, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// Covers reports whether names contains every wanted name.
func Covers(names, wanted []string) bool {
	return len(Narrow(wanted, names)) == len(wanted)
}

// Union appends to a each name of b that a does not contain.
func Union(a, b []string) []string {
	for _, name := range b {
		if !slices.Contains(a, name) {
			a = append(a, name)
		}
	}
	return a
}

// Without returns the names that are not in others. It does not change names.
func Without(names []string, others ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// SameSet reports whether a and b contain the same names, in whatever order.
func SameSet(a, b []string) bool { return Covers(a, b) && Covers(b, a) }

// OneOf lists names in a sentence: a, b or c.
func OneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Deref returns the value that a pointer points to, or the zero value for nil.
func Deref[T any](value *T) T {
	if value == nil {
		return *new(T)
	}
	return *value
}

// Lines splits a text at its line breaks. It returns nil for "".
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Clip cuts a text to at most n bytes, and does not cut a character in two.
func Clip(text string, n int) string {
	if len(text) > n {
		return strings.ToValidUTF8(text[:n], "")
	}
	return text
}

// Now returns the time as NumericDate (RFC 7519 §2).
func Now() int64 { return time.Now().Unix() }

// Seconds returns the whole seconds of a duration.
func Seconds(d time.Duration) int64 { return int64(d / time.Second) }
