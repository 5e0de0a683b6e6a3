package rules

import "testing"

// The document of a name may be written in any case.
func TestSelectInAnyCase(t *testing.T) {
	for _, names := range [][2]string{{"rfc7009", "RFC7009"}, {"oidccore/9", "OIDCCore/9"}, {"Rfc6749/4.1/", "RFC6749/4.1"}} {
		got, err := Select("", names[:1])
		want, _ := Select("", names[1:])
		if err != nil || len(got) == 0 || len(got) != len(want) {
			t.Errorf("%s: %d rules, want %d: %v", names[0], len(got), len(want), err)
		}
	}
}
