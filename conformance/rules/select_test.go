package rules

import "testing"

// The document of a name may be written in any case.
func TestSelectInAnyCase(t *testing.T) {
	for _, names := range [][2]string{{"rfc7009", "RFC7009"}, {"oidccore/9", "OIDCCore/9"},
		{"Rfc6749/4.1/", "RFC6749/4.1"}} {
		got, err := Select("", names[:1])
		want, _ := Select("", names[1:])
		if err != nil || len(got) == 0 || len(got) != len(want) {
			t.Errorf("%s: %d rules, want %d: %v", names[0], len(got), len(want), err)
		}
	}
}

// The rules of FAPI 2.0 are tried only with a profile or a name.
func TestSelectFAPI(t *testing.T) {
	for _, row := range []struct {
		profile string
		only    []string
		has     [2]bool // of the Security Profile, of Message Signing
	}{
		{"", nil, [2]bool{}}, {"fapi2", nil, [2]bool{true, false}}, {"fapi2-ms", nil, [2]bool{true, true}},
		{"", []string{"FAPI2MS"}, [2]bool{false, true}},
	} {
		got, err := Select(row.profile, row.only)
		if err != nil {
			t.Fatal(err)
		}
		var has [2]bool
		for _, r := range got {
			has[0], has[1] = has[0] || r.Document() == "FAPI2", has[1] || r.Document() == "FAPI2MS"
		}
		if has != row.has {
			t.Errorf("Select(%q, %q): %v, want %v", row.profile, row.only, has, row.has)
		}
	}
}
