package config

import (
	"fmt"
	"slices"

	"mandate/provider/attributes"
)

// checkAttributes checks what the operator wants to know about people.
func (l *loader) checkAttributes() {
	const setting = "ATTRIBUTES"
	if !l.ok(setting) {
		return
	}
	if len(l.c.People.Attributes) > 50 {
		l.wrong("has more than 50 attributes; remove some", setting)
		return
	}
	names := map[string]bool{}
	for i, a := range l.c.People.Attributes {
		item := fmt.Sprintf("%s[%d]", setting, i)
		l.checkAttribute(a, item)
		if names[a.Name] && a.Name != "" {
			l.wrong("has the NAME of an earlier item; choose another one", item+".NAME", item)
		}
		names[a.Name] = true
	}
}

func (l *loader) checkAttribute(a attributes.Attribute, item string) {
	at := func(key string) []string { return []string{item + "." + key, item} }
	bounded := a.Min != 0 || a.Max != attributes.MaxNumber
	texts := a.Type == attributes.Text || a.Type == attributes.List
	switch {
	case !attributes.IsName(a.Name):
		l.wrong("needs a NAME of at most 40 lower-case letters, digits and _, which begins with a letter, such as quota",
			at("NAME")...)
	case bounded && a.Type != attributes.Number:
		l.wrong("has MIN or MAX, which are for TYPE: number; remove them", item)
	case a.Min > a.Max:
		l.wrong("is above MAX, so that no number is allowed", at("MIN")...)
	case len(a.Values) > 0 && !texts:
		l.wrong("is for TYPE: string and TYPE: list; remove it", at("VALUES")...)
	}
	for j, value := range a.Values {
		switch {
		case !attributes.IsText(value):
			l.element(item+".VALUES", j, "must have 1 to 200 characters on one line")
		case a.Type == attributes.List && !attributes.IsOneOfList(value):
			l.element(item+".VALUES", j, "has a semicolon or spaces at an end; the values of a list are separated by "+
				"semicolons")
		case slices.Index(a.Values, value) < j:
			l.element(item+".VALUES", j, "is there twice; remove one")
		}
	}
}
