package oauth

import (
	"slices"
	"strings"
	"time"
)

// narrow keeps the names that are allowed.
func Narrow(names, allowed []string) []string {
	var kept []string
	for _, name := range names {
		if slices.Contains(allowed, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

func Covers(names, wanted []string) bool {
	return len(Narrow(wanted, names)) == len(wanted)
}

func Union(a, b []string) []string {
	for _, name := range b {
		if !slices.Contains(a, name) {
			a = append(a, name)
		}
	}
	return a
}
func Without(names []string, others ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

func SameSet(a, b []string) bool { return Covers(a, b) && Covers(b, a) }

func Deref[T any](value *T) T {
	if value == nil {
		return *new(T)
	}
	return *value
}

func Lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Clip cuts a text to n bytes, and leaves no half a character.
func Clip(text string, n int) string {
	if len(text) > n {
		return strings.ToValidUTF8(text[:n], "")
	}
	return text
}

func Now() int64 { return time.Now().Unix() }

func Seconds(d time.Duration) int64 { return int64(d / time.Second) }
