package templates

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"mandate/templates/languages"
)

// words returns the functions with which templates write texts in a language:
//
//	{{t "You are signed in as {name}." "name" (strong .Account)}}
//	{{n "{n} left." "{n} left." .Codes}}
//
// The English text is the name of the text in the catalogue. After it stand the values for its places. A value is text,
// which is escaped, or one of the elements below.
func words(l *languages.Language) map[string]any {
	return map[string]any{
		"t": func(text string, values ...any) (any, error) { return fill(l, l.Text(text), values) },
		"n": func(one, other string, n int, values ...any) (any, error) {
			return fill(l, l.Plural(one, other, n), append([]any{"n", n}, values...))
		},
		"number": l.Number,
		"named":  func(id string) string { return fieldName(l, id) },
	}
}

// elements returns the functions that write elements into a text.
func elements() template.FuncMap {
	element := func(open, end string) func(string) template.HTML {
		return func(text string) template.HTML { return template.HTML(open + template.HTMLEscapeString(text) + end) }
	}
	return template.FuncMap{
		"strong": element("<strong><bdi>", "</bdi></strong>"),
		"bdi":    element("<bdi>", "</bdi>"),
		"brief":  element(`<bdi class="brief">`, "</bdi>"),
		"host":   element(`<strong><bdi dir="ltr">`, "</bdi></strong>"),
		"key":    element(`<code class="key" dir="ltr">`, "</code>"),
		"link":   link,
	}
}

// link writes a link to an address of this server, or to an app on this device.
func link(address any, text string) template.HTML {
	to := "#ZgotmplZ" // what the template engine writes for an address that it refuses
	switch a := address.(type) {
	case template.URL:
		to = string(a)
	case string:
		if strings.HasPrefix(a, "/") && !strings.HasPrefix(a, "//") || strings.HasPrefix(a, "./") {
			to = a
		}
	}
	return template.HTML(`<a href="` + template.HTMLEscapeString(to) + `">` + template.HTMLEscapeString(text) + "</a>")
}

// place is a place in a text for a value.
var place = regexp.MustCompile(`\{[a-z]+\}`)

// fill writes the values into the places of a text. The result is HTML if one of them is.
func fill(l *languages.Language, text string, values []any) (any, error) {
	if len(values) == 0 {
		return text, nil
	}
	plain, markup, isHTML := map[string]string{}, map[string]string{}, false
	for i := 0; i+1 < len(values); i += 2 {
		var written string
		switch v := values[i+1].(type) {
		case template.HTML:
			markup[fmt.Sprint("{", values[i], "}")], isHTML = string(v), true
			continue
		case int:
			written = l.Number(v)
		case int64:
			written = l.Number(int(v))
		case string:
			written = v
		default:
			return nil, fmt.Errorf("%q: a value of type %T", text, v)
		}
		name := fmt.Sprint("{", values[i], "}")
		plain[name], markup[name] = written, template.HTMLEscapeString(written)
	}
	if !isHTML {
		return place.ReplaceAllStringFunc(text, func(name string) string { return plain[name] }), nil
	}
	// The places contain no character that is escaped, so they are found in the escaped text.
	return template.HTML(place.ReplaceAllStringFunc(template.HTMLEscapeString(text),
		func(name string) string { return markup[name] })), nil
}
