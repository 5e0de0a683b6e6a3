package errorcode_test

import (
	"testing"

	"mandate/provider/errorcode"
)

// Words that stand in most texts say little: a few rare ones find their row among them. One alone finds none: it may
// fit by chance.
func TestARareWordCountsMore(t *testing.T) {
	for text, want := range map[string]string{
		"this application must send this request: device polls often":       "slow_down",
		"this application must send this request: encrypted request object": "invalid_request_object",
	} {
		found, certain := errorcode.Explain(text)
		if certain || len(found) == 0 || found[0].Code.Name != want {
			t.Errorf("%q: %t %s", text, certain, short(found))
		}
	}
}
