package people

import "testing"

func TestMixesScripts(t *testing.T) {
	for name, want := range map[string]bool{
		"alice": false, "alice.long-2026@example.org": false, "Zoë": false, "алиса": false, "алиса2026": false,
		"田中たろう": false, "tanaka田中タロウ": false, "김민수kim": false, "محمد": false, "": false, "123": false,
		"аlice": true, "alicе": true, "αlpha": true, "paypаl.admin": true, "たろう김": true, "аβ": true, "a\u0301lice": false,
		"bopoㄅㄆ漢": false, "ㄅひ": true,
	} {
		if got := mixesScripts(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
