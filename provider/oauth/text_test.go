package oauth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth"
)

func TestScopeSets(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, test := range []struct {
		wanted string
		want   bool
	}{{"", true}, {"a", true}, {"c a", true}, {"a b c", true}, {"d", false}, {"a d", false}, {"A", false}} {
		if got := oauth.Covers(names, strings.Fields(test.wanted)); got != test.want {
			t.Errorf("a b c covers %q: %t", test.wanted, got)
		}
	}
	if d := cmp.Diff([]string{"c", "a"}, oauth.Narrow([]string{"c", "d", "a"}, names)); d != "" {
		t.Error("narrow:", d)
	}
	if d := cmp.Diff([]string{"b", "a", "c"}, oauth.Union([]string{"b"}, names)); d != "" {
		t.Error("union:", d)
	}
}

func TestOneOf(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := oauth.OneOf(names); got != want {
			t.Errorf("%v: %q, want %q", names, got, want)
		}
	}
}
