package clients

import (
	"fmt"
	"slices"
	"testing"

	"mandate/provider/clients"
	"mandate/templates"
)

// A profile sets what nobody has chosen. A field that is changed and not named is set by it without a word.
func TestChangesNameTheField(t *testing.T) {
	for _, f := range clients.Fields() {
		var now clients.Registration
		switch value := f.Value(&now).(type) {
		case *bool:
			*value = true
		case *int64:
			*value = 60
		case *string:
			*value = "another"
		case *[]string:
			*value = []string{"another"}
		}
		if got := changes(now, clients.Registration{}); !slices.Equal(got, []string{f.Name}) {
			t.Errorf("%s: the changes are %v", f.Name, got)
		}
	}
}

// Two lifetimes in succession stand side by side, wherever they stand in the table and however many follow.
func TestLifetimesStandSideBySide(t *testing.T) {
	for kinds, want := range map[string]string{
		"":     "",
		"s":    "[0]",
		"ss":   "[0 1]",
		"sss":  "[0 1][2]",
		"ssss": "[0 1][2 3]",
		"sts":  "[0]1[2]",
		"tsst": "0[1 2]3",
	} {
		var others []templates.Control
		for i, kind := range kinds {
			of := clients.Text
			if kind == 's' {
				of = clients.Seconds
			}
			others = among(others, of, templates.Control{ID: fmt.Sprint(i)})
		}
		got := ""
		for _, c := range others {
			got += c.ID
			if c.Kind == "pair" {
				var pair []string
				for _, one := range c.Pair {
					pair = append(pair, one.ID)
				}
				got += fmt.Sprint(pair)
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", kinds, got, want)
		}
	}
}
