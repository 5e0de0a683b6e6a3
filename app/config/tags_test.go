package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared lists every setting, and the settings in an item of those that are lists. The form is that of a file with
// this setting alone, with %s for its value.
func declared() (fields []field, forms []string) {
	for _, f := range allFields(&Config{}) {
		form := f.key + ": %s\n"
		if f.name != f.key {
			form = "OAUTH2_PROVIDER:\n  " + form
		}
		fields, forms = append(fields, f), append(forms, form)
		if f.value.Kind() != reflect.Slice || f.value.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		for _, item := range fieldsOf(reflect.New(f.value.Type().Elem()).Elem(), f.name+"[0].") {
			fields, forms = append(fields, item), append(forms, fmt.Sprintf(form, "[{"+item.key+": %s}]"))
		}
	}
	return fields, forms
}

// problemOf returns what Load says about one setting, or "".
func problemOf(t *testing.T, f field, text string) string {
	t.Helper()
	_, err := load(t, text)
	var problems *Error
	if errors.As(err, &problems) {
		for _, p := range problems.problems {
			if p.key == f.name {
				return p.text
			}
		}
	}
	return ""
}

// A number is refused if it is less than min or more than max, also in an item of a list.
func TestBoundsAreEnforced(t *testing.T) {
	fields, forms := declared()
	checked := 0
	for i, f := range fields {
		if !f.value.CanInt() && !f.value.CanUint() {
			continue
		}
		checked++
		least, most := tagNumber(f.tag, "min"), tagNumber(f.tag, "max")
		want := fmt.Sprintf("must be a number from %d to %d", least, most)
		if f.tag.Get("min") == "" || f.tag.Get("max") == "" || least >= most {
			t.Errorf("%s has no bounds", f.name)
		}
		for value, refused := range map[int64]bool{least - 1: true, least: false, most: false, most + 1: true} {
			got := problemOf(t, f, fmt.Sprintf(forms[i], fmt.Sprint(value)))
			if (got == want) != refused {
				t.Errorf("%s: %d: %q, want refused: %t", f.name, value, got, refused)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d numbers", checked)
	}
}

// A text whose name says that it is a secret has the tag that hides it, and so has a URL that may have a password.
func TestSecretsAreHidden(t *testing.T) {
	named := regexp.MustCompile(`(SECRET|PASSWORD|CREDENTIALS|PRIVATE_KEYS?|AUTH_TOKEN|_KEY)(_INACTIVE)?$`)
	url := regexp.MustCompile(`(URL|URI|UPSTREAM)S?$`)
	const base = "DATABASE_URL: postgres://host/name\nMAIL_FROM: noreply@example.org\nSECRET_KEY: " + testKey + "\n"
	fields, forms := declared()
	hidden := 0
	for i, f := range fields {
		kind := f.value.Type()
		if kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		if kind.Kind() != reflect.String {
			continue
		}
		if named.MatchString(f.key) {
			hidden++
			if shown := masked(f, "hunter2"); shown != mask {
				t.Errorf("%s is shown as %s", f.name, shown)
			}
		}
		if !url.MatchString(f.key) {
			continue
		}
		for _, value := range []string{
			"https://user:hunter2@host.example/name", "postgres://user:hunter2@host.example/name",
			"smtp://user:hunter2@host.example:587",
		} {
			text := strings.Join(slices.DeleteFunc(strings.SplitAfter(base, "\n"), func(line string) bool {
				return strings.HasPrefix(line, f.key+":")
			}), "") + fmt.Sprintf(forms[i], value)
			problem := problemOf(t, f, text)
			if strings.Contains(problem, "hunter2") || problem == "" && strings.Contains(masked(f, value), "hunter2") {
				t.Errorf("%s shows the password of %s: %q", f.name, value, problem)
			}
		}
	}
	if hidden < 6 {
		t.Errorf("only %d secrets", hidden)
	}
}

// The tag after names another setting of the same block. Otherwise the setting would be the first one.
func TestAfterNamesASetting(t *testing.T) {
	for _, block := range [][]field{
		fieldsOf(reflect.ValueOf(&Config{}).Elem(), ""), fieldsOf(reflect.ValueOf(&Provider{}).Elem(), ""),
	} {
		for i, f := range block {
			after := f.tag.Get("after")
			at := slices.IndexFunc(block, func(other field) bool { return other.key == after })
			if after != "" && (at < 0 || at > i) {
				t.Errorf("%s: the tag after names %s, which is not before it", f.key, after)
			}
		}
	}
}
