package browser

import (
	"net/http"
	"testing"

	"mandate/conformance/wire"
)

// A refusal that only a script tells from an approval would approve, and look like a server that ignores refusals.
func TestDecisionIsNoButtonThatNeedsAScript(t *testing.T) {
	for name, c := range map[string]struct {
		form  string
		found bool
	}{
		"two buttons without a name": {`<button>Accept</button><button id=refuse>Refuse</button>`, false},
		"two buttons with a value": {`<button name=do value=yes>Accept</button><button name=do value=no>Refuse</button>`,
			true},
		"a button without a name":     {`<button name=do value=yes>Accept</button><button>Refuse</button>`, true},
		"a button of its own address": {`<button>Accept</button><button formaction=/deny>Refuse</button>`, true},
		"a single button in its form": {`<button>Refuse</button>`, true},
	} {
		page := "<html><form method=post>" + c.form + "</form></html>"
		a := &wire.Answer{Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(page)}
		_, button := Parse(a).Decision(false, Hints{})
		if (button != nil) != c.found {
			t.Errorf("%s: a button to deny is found: %v, want %v", name, button != nil, c.found)
		}
	}
}
