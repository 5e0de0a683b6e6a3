package conformance

import (
	"slices"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
)

// A client of any role authenticates by the method in the target file, at each endpoint: no rule fails because of it.
func TestKeysInPlaceOfSecrets(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	of := *s.Runner.Target
	of.Clients, of.Register = map[need.Need]*target.Client{}, ""
	for role, key := range map[need.Need]need.Need{need.Code: need.Key, need.Second: need.SecondKey,
		need.Machine: need.Key, need.Public: need.Public,
		need.Introspect: need.Introspect, need.Key: need.Key, need.SecondKey: need.SecondKey} {
		c := *s.Runner.Target.Clients[key]
		c.Role = role
		of.Clients[role] = &c
	}
	runner, err := engine.NewRunner(t.Context(), &of, rules.Documents(), s.Options())
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := rules.Select("", []string{"RFC6749/2", "RFC6749/3.2", "RFC6749/4.1.3", "RFC6749/4.4", "RFC6749/5.2",
		"RFC6749/6", "RFC7009", "RFC7662", "RFC8414/2", "RFC9126", "OIDCCore/9"})
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, result := range runner.Run(t.Context(), chosen, func(check.Result) {}).Results {
		bad := slices.Contains([]check.Status{check.Fail, check.Blocked, check.Broken}, result.Status)
		if bad && result.Rule.Waived == "" {
			t.Errorf("%s: %s: %s", result.Rule.ID, result.Status, result.Reason)
		}
		if result.Status == check.Pass {
			passed++
		}
	}
	if passed < 80 {
		t.Errorf("only %d rules passed", passed)
	}
}
