package resource

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lookAlikes are the characters that a Unicode normalization replaces by text with a
// slash, backslash, dot, semicolon, percent sign, question mark or number sign.
// Examples are U+FF0F (a full-width slash), U+2025 (two dots) and U+2100 (a/c). Some
// servers normalize a path before they split it. A test compares the table with the
// normalization forms of Unicode Standard Annex #15.
var lookAlikes = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x037e, Hi: 0x037e, Stride: 1}, // ;
		{Lo: 0x2024, Hi: 0x2026, Stride: 1}, // one, two and three dots
		{Lo: 0x2047, Hi: 0x2049, Stride: 1}, // ??, ?! and !?
		{Lo: 0x2100, Hi: 0x2101, Stride: 1}, // a/c, a/s
		{Lo: 0x2105, Hi: 0x2106, Stride: 1}, // c/o, c/u
		{Lo: 0x2488, Hi: 0x249b, Stride: 1}, // 1. to 20.
		{Lo: 0x33c2, Hi: 0x33c2, Stride: 1}, // a.m.
		{Lo: 0x33c7, Hi: 0x33c7, Stride: 1}, // Co.
		{Lo: 0x33d8, Hi: 0x33d8, Stride: 1}, // p.m.
		{Lo: 0xfe14, Hi: 0xfe14, Stride: 1}, // ;
		{Lo: 0xfe16, Hi: 0xfe16, Stride: 1}, // ?
		{Lo: 0xfe19, Hi: 0xfe19, Stride: 1}, // three dots
		{Lo: 0xfe30, Hi: 0xfe30, Stride: 1}, // two dots
		{Lo: 0xfe52, Hi: 0xfe52, Stride: 1}, // .
		{Lo: 0xfe54, Hi: 0xfe54, Stride: 1}, // ;
		{Lo: 0xfe56, Hi: 0xfe56, Stride: 1}, // ?
		{Lo: 0xfe5f, Hi: 0xfe5f, Stride: 1}, // #
		{Lo: 0xfe68, Hi: 0xfe68, Stride: 1}, // \
		{Lo: 0xfe6a, Hi: 0xfe6a, Stride: 1}, // %
		{Lo: 0xff03, Hi: 0xff03, Stride: 1}, // #
		{Lo: 0xff05, Hi: 0xff05, Stride: 1}, // %
		{Lo: 0xff0e, Hi: 0xff0f, Stride: 1}, // . and /
		{Lo: 0xff1b, Hi: 0xff1b, Stride: 1}, // ;
		{Lo: 0xff1f, Hi: 0xff1f, Stride: 1}, // ?
		{Lo: 0xff3c, Hi: 0xff3c, Stride: 1}, // \
	},
	R32: []unicode.Range32{{Lo: 0x1f100, Hi: 0x1f100, Stride: 1}}, // 0.
}

// plainPath reports whether all servers read a decoded path in the same way. Other
// paths are refused, because the upstream might serve another resource than the one
// that the rules were applied to:
//
//   - some servers resolve, drop or trim empty segments and segments that end in a dot or a
//     space, among them . and ..;
//   - some systems treat a backslash as a slash;
//   - some servers treat the text after ; in a segment as a parameter, others as a part of
//     the name;
//   - a percent sign that is left after decoding might be decoded again, and a question
//     mark or number sign would end the path;
//   - some servers replace other characters by one of these, or remove characters without
//     a glyph.
func plainPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok || !utf8.ValidString(path) || strings.ContainsFunc(path, ambiguous) {
		return false
	}
	segments := strings.Split(withoutIgnorable(rest), "/")
	for i, s := range segments {
		last := i == len(segments)-1
		if s == "" && !last || trimmed(s) {
			return false
		}
	}
	return true
}

// trimmed reports whether some servers drop the end of a segment, or resolve it.
func trimmed(segment string) bool {
	return strings.HasSuffix(segment, ".") || strings.TrimRightFunc(segment, unicode.IsSpace) != segment
}

func ambiguous(c rune) bool { return strings.ContainsRune(`;%?#`, c) || forbidden(c) }

// forbidden reports whether a path with this character is always refused.
func forbidden(c rune) bool {
	return c < ' ' || c == 0x7f || c == '\\' || unicode.Is(lookAlikes, c)
}

// withoutIgnorable removes the characters that have no glyph (Default_Ignorable_Code_Point
// in Unicode Standard Annex #44). Some servers remove them when they normalize a path.
func withoutIgnorable(path string) string {
	return strings.Map(func(c rune) rune {
		if c >= utf8.RuneSelf && ignorable(c) {
			return -1
		}
		return c
	}, path)
}

func ignorable(c rune) bool {
	visible := 0xfff9 <= c && c <= 0xfffb || 0x13430 <= c && c <= 0x13440
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c) || unicode.Is(unicode.Variation_Selector, c) ||
		unicode.Is(unicode.Cf, c) && !visible && !unicode.Is(unicode.Prepended_Concatenation_Mark, c)
}
