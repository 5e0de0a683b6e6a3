package people

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth"
)

func TestListOfInvites(t *testing.T) {
	ann, bob := Invite{"ann@example.org", []string{"staff", "night shift"}, 2}, Invite{"bob@example.org", nil, 3}
	bare := []Invite{{"ann@example.org", nil, 1}, {"bob@example.org", nil, 2}}
	for what, c := range map[string]struct {
		text string
		want []Invite
	}{
		"with commas":                   {"email,groups\nann@example.org,staff;night shift\nbob@example.org,\n", []Invite{ann, bob}},
		"with semicolons":               {"email;groups\nann@example.org;\"staff; night shift;staff\"\nbob@example.org\n", []Invite{ann, bob}},
		"with tabs":                     {"email\tgroups\nann@example.org\tstaff;night shift\nbob@example.org\t", []Invite{ann, bob}},
		"of Windows":                    {"\ufeffEmail,Groups\r\nann@example.org,staff;night shift\r\nbob@example.org,\r\n", []Invite{ann, bob}},
		"in another order":              {"groups, email\nstaff;night shift, ann@example.org\n,bob@example.org", []Invite{ann, bob}},
		"in quotes":                     {"\"email\",\"groups\"\n\"ann@example.org\",\"staff;night shift\"\n\"bob@example.org\",\"\"", []Invite{ann, bob}},
		"of addresses":                  {"ann@example.org\nbob@example.org\n", bare},
		"of addresses with empty cells": {"ann@example.org,,\nbob@example.org , \n", bare},
		"with empty lines":              {"ann@example.org\n\n \n,\nbob@example.org\n", []Invite{bare[0], {"bob@example.org", nil, 5}}},
		"with one address":              {"ann@example.org", bare[:1]},
		"with cells over two lines":     {"email,groups\nann@example.org,\"staff;\nnight shift\"\nbob@example.org,", []Invite{ann, {"bob@example.org", nil, 4}}},
		"with names of columns only":    {"email,groups\n", []Invite{}},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := ReadInvites(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	many := strings.Repeat("ann@example.org\n", MostInvites)
	for text, want := range map[string]string{
		"":                           "The list is empty.",
		"\n \n":                      "The list is empty.",
		many + "one@example.org":     "The list has more than 1000 people. Split it.",
		"groups\nstaff":              "Line 1: The column email is missing. The first line names the columns.",
		"email,password,email\n":     "Line 1: There is no column \"password\". The columns are email, groups.\nLine 1: The column email is there twice.",
		"ann@example.org,staff,more": "Line 1: There are more cells than the 2 columns.",
		"email\nann@example.org\nb\xffb@example.org\n":       "Line 3: This is not UTF-8 text.",
		"email\nann@example.org\n\"bob@example.org\nx":       `Line 3: This is not CSV: extraneous or missing " in quoted-field.`,
		"email\nann@example.org\nb\"ob@example.org\nx@y.org": `Line 3: This is not CSV: bare " in non-quoted-field.`,
		"email\n" + strings.Repeat("a@b.c,d,e\n", 60):        strings.Join(overfull(), "\n") + "\nThere are 10 more mistakes.",
		"\xff\xfee\x00m\x00a\x00i\x00l\x00":                  "Line 1: This is not UTF-8 text.",
	} {
		_, err := ReadInvites(strings.NewReader(text))
		invalid, ok := errors.AsType[*oauth.Invalid](err)
		if !ok || invalid.At("list") != want {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	if got, err := ReadInvites(strings.NewReader(many)); err != nil || len(got) != MostInvites {
		t.Errorf("as many as allowed: %d, %v", len(got), err)
	}
}

// overfull has the first mistakes of a list in which every line has too many cells.
func overfull() []string {
	var lines []string
	for n := range mostMistakes {
		lines = append(lines, fmt.Sprintf("Line %d: There are more cells than the 1 columns.", n+2))
	}
	return lines
}

func FuzzListOfInvites(f *testing.F) {
	for _, text := range []string{"email,groups\na@b.c,d;e\n", "a@b.c\n", "\ufeffemail;groups\n\"a@b.c\";\"x\ny\"", "email\n\"", "groups\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadInvites(strings.NewReader(text))
		if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
			if len(invalid.Fields) == 0 || len(invalid.Fields[0].Message) > (mostMistakes+1)*300 || !utf8.ValidString(invalid.Error()) {
				t.Errorf("the mistakes are %q", invalid.Error())
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for _, one := range list {
			if one.Line <= line || one.Line > strings.Count(text, "\n")+1 || !utf8.ValidString(one.Email) || slices.Contains(one.Groups, "") {
				t.Errorf("%+v of %q", one, text)
			}
			line = one.Line
		}
	})
}
