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
		"with commas": {"email,groups\nann@example.org,staff;night shift\nbob@example.org,\n",
			[]Invite{ann, bob}},
		"with semicolons": {"email;groups\nann@example.org;\"staff; night shift;staff\"\nbob@example.org\n",
			[]Invite{ann, bob}},
		"with tabs": {"email\tgroups\nann@example.org\tstaff;night shift\nbob@example.org\t",
			[]Invite{ann, bob}},
		"of Windows": {"\ufeffEmail,Groups\r\nann@example.org,staff;night shift\r\nbob@example.org,\r\n",
			[]Invite{ann, bob}},
		"in another order": {"groups, email\nstaff;night shift, ann@example.org\n,bob@example.org",
			[]Invite{ann, bob}},
		"in quotes": {"\"email\",\"groups\"\n\"ann@example.org\",\"staff;night " +
			"shift\"\n\"bob@example.org\",\"\"", []Invite{ann, bob}},
		"of addresses":                  {"ann@example.org\nbob@example.org\n", bare},
		"of addresses with empty cells": {"ann@example.org,,\nbob@example.org , \n", bare},
		"with empty lines": {"ann@example.org\n\n \n,\nbob@example.org\n",
			[]Invite{bare[0], {"bob@example.org", nil, 5}}},
		"with one address": {"ann@example.org", bare[:1]},
		"with cells over two lines": {"email,groups\nann@example.org,\"staff;\nnight shift\"\nbob@example.org,",
			[]Invite{ann, {"bob@example.org", nil, 4}}},
		"of a spreadsheet": {"\ufeffsep=;\r\nemail;groups\r\nann@example.org;\"staff;night shift\"\r\n",
			[]Invite{{ann.Email, ann.Groups, 3}}},
		"with names of columns only": {"email,groups\n", []Invite{}},
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
		"":                       "The list is empty.",
		"\n \n":                  "The list is empty.",
		many + "one@example.org": "The list has more than 1000 people. Split it.",
		"groups\nstaff": "Line 1: The column email is missing. The first line must name the columns, with " +
			"commas, semicolons or tabs between them.",
		"email,password,email\n": "Line 1: There is no column \"password\". Rename it or remove it: the columns are " +
			"email, groups.\nLine 1: The column email is there twice. Remove one.",
		"ann@example.org,staff,more": "Line 1: There are more cells than columns, which are email, groups. Put a cell that " +
			"contains commas in quotes.",
		"email\nann@example.org\nb\xffb@example.org\n": "Line 3: This is not UTF-8 text. Save the file as CSV in " +
			"UTF-8.",
		"email\nann@example.org\n\"bob@example.org\nx":       `Line 3: A cell begins with a quote ("), and its end is wrong in line 4, at character 2. Write each quote in it twice, and end it with one.`,
		"email\nann@example.org\nb\"ob@example.org\nx@y.org": `Line 3: There is a quote (") at character 2, in a cell that does not begin with one. Put the whole cell in quotes, and write each quote in it twice.`,
		"email\n" + strings.Repeat("a@b.c,d,e\n", 60): strings.Join(overfull(), "\n") +
			"\nThere are 10 more mistakes.",
		"email,groups\nann@example.org;staff\nbob@example.org,": "Line 2: Here semicolons separate the cells, and in the " +
			"first line commas. Use the same in all lines.",
		"email;groups\nann@example.org,staff": "Line 2: Here commas separate the cells, and in the first " +
			"line semicolons. Use the same in all lines.",
		"sep=;\nE-Mail;groups\nann@example.org;staff": "Line 2: There is no column \"e-mail\". Rename it or " +
			"remove it: the columns are email, groups.\nLine 2: The column email is missing. The first line must name the " +
			"columns, with commas, semicolons or tabs between them.",
		"PK\x03\x04\x14\x00\x06\x00xl/workbook.xml\n": "This is the file of a spreadsheet program, and not CSV. " +
			"Save it as CSV in UTF-8.",
		"\xff\xfee\x00m\x00a\x00i\x00l\x00": "Line 1: This is not UTF-8 text. Save the file as CSV in " +
			"UTF-8.",
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
		lines = append(lines,
			fmt.Sprintf("Line %d: There are more cells than columns, which are email. Put a cell that contains commas in "+
				"quotes.", n+2))
	}
	return lines
}

func FuzzListOfInvites(f *testing.F) {
	for _, text := range []string{"email,groups\na@b.c,d;e\n", "a@b.c\n", "\ufeffemail;groups\n\"a@b.c\";\"x\ny\"",
		"email\n\"", "groups\n", "\xa3\n,0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadInvites(strings.NewReader(text))
		if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
			if len(invalid.Fields) == 0 || len(invalid.Fields[0].Message) > (mostMistakes+1)*300 ||
				!utf8.ValidString(invalid.Error()) {
				t.Errorf("the mistakes are %q", invalid.Error())
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for _, one := range list {
			if one.Line <= line || one.Line > strings.Count(text, "\n")+1 || !utf8.ValidString(one.Email) ||
				slices.Contains(one.Groups, "") {
				t.Errorf("%+v of %q", one, text)
			}
			line = one.Line
		}
	})
}
