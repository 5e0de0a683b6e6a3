package clients

import (
	"slices"
	"testing"

	"mandate/provider/clients"
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
