package clientauth

import (
	"fmt"
	"strings"
	"testing"

	"mandate/testkit"
)

func TestParsedSets(t *testing.T) {
	one := func(id string) string { return `{"keys":[{"kty":"EC","kid":"` + id + `"}]}` }
	var p parsedSets
	for n := range maxParsed + 2 {
		set, err := p.set(one(fmt.Sprint(n)))
		if err != nil || len(set.Keys) != 1 || set.Keys[0].ID != fmt.Sprint(n) {
			t.Fatalf("set %d: %v, %v", n, set, err)
		}
	}
	if len(p.sets) != maxParsed {
		t.Errorf("%d sets are kept", len(p.sets))
	}
	large := one(strings.Repeat("a", maxParsedBytes))
	if set, err := p.set(large); err != nil || len(set.Keys) != 1 {
		t.Errorf("a large set: %v, %v", set, err)
	}
	if _, kept := p.sets[large]; kept {
		t.Error("a large set is kept")
	}
	if _, err := p.set("{"); err == nil {
		t.Error("a text that is no set")
	}
	if _, kept := p.sets["{"]; kept {
		t.Error("a text that is no set is kept")
	}
	again, err := p.set(one("same"))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := p.set(one("same"))
	if err != nil || &kept.Keys[0] != &again.Keys[0] {
		t.Error("a set is parsed twice")
	}
}

func TestParsedSetsAtOnce(t *testing.T) {
	var p parsedSets
	parse := func() {
		for n := range 5 {
			_, err := p.set(`{"keys":[{"kty":"EC","kid":"` + fmt.Sprint(n) + `"}]}`)
			if err != nil {
				t.Error(err)
			}
		}
	}
	testkit.AtOnce(parse, parse)
}
