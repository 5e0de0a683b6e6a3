package oauth_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
)

func TestScopeParsing(t *testing.T) {
	for _, test := range []struct {
		rule, text string
		want       []string
		err        string
	}{
		{"RFC6749/3.1 without a value it counts as left out", "", nil, "no error"},
		{"one name", "read", []string{"read"}, "no error"},
		{"RFC6749/3.3 the order is kept", "write read", []string{"write", "read"}, "no error"},
		{"RFC6749/3.3 a repetition means nothing", "read write read", []string{"read", "write"}, "no error"},
		{"RFC6749/3.3 names are compared with their case", "read Read", []string{"read", "Read"}, "no error"},
		{"RFC6749/3.3 every printable character", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~",
			[]string{"!#$%&'()*+,-./:;<=>?@[]^_`{|}~"}, "no error"},
		{"a space before is no name", " read", []string{"read"}, "no error"},
		{"a space after is no name", "read ", []string{"read"}, "no error"},
		{"two spaces separate as one does", "read  write", []string{"read", "write"}, "no error"},
		{"RFC6749/3.2 only a space counts as omitted", " ", nil, "no error"},
		{"RFC6749/3.3 a tab", "read\twrite", nil, "400 invalid_scope"},
		{"RFC6749/3.3 a line feed", "read\nwrite", nil, "400 invalid_scope"},
		{"RFC6749/3.3 a quote", `re"ad`, nil, "400 invalid_scope"},
		{"RFC6749/3.3 a backslash", `re\ad`, nil, "400 invalid_scope"},
		{"RFC6749/3.3 a control character", "read\x7f", nil, "400 invalid_scope"},
		{"RFC6749/3.3 beyond ASCII", "lesen-ü", nil, "400 invalid_scope"},
		{"RFC6749/3.3 a no-break space", "read\u00a0write", nil, "400 invalid_scope"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := oauth.ParseScope(test.text)
			oauthtest.Want(t, err, test.err)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
