package authorize

import (
	"bytes"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/seal"
)

// A browser that opened a request in time may open it again after its end, for as long as a person may take.
// The proof of it is of one browser and one request, and never younger than the first opening.
func TestProofThatABrowserOpenedARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tickets, err := seal.New(bytes.Repeat([]byte{7}, 32), "ticket")
		if err != nil {
			t.Fatal(err)
		}
		p := &Authorizations{tickets: tickets}
		first := oauth.Now()
		// back returns the query that leads a browser back to a request that it opened at a time.
		back := func(digest, browser string, at int64) url.Values {
			a := &Authorization{parameters: url.Values{}}
			a.opened.digest, a.opened.again, a.opened.at = digest, values("client_id", "c", "request_uri", digest), at
			return p.Again(a, browser)
		}
		proof := back("one", "browser", first)
		opens := func(digest, browser string, sent url.Values) bool {
			at, again := p.openedBefore(withBrowser(t.Context(), browser), digest, sent)
			if again && at != first {
				t.Errorf("it was opened %d seconds after the first time", at-first)
			}
			return again
		}
		for name, test := range map[string]struct {
			digest, browser string
			sent            url.Values
			want            bool
		}{
			"the same browser":         {"one", "browser", proof, true},
			"another browser":          {"one", "thief", proof, false},
			"a browser without a name": {"one", "", proof, false},
			"another request":          {"two", "browser", proof, false},
			"no proof":                 {"one", "browser", values("client_id", "c"), false},
			"two proofs": {"one", "browser",
				url.Values{openedParameter: {proof.Get(openedParameter), proof.Get(openedParameter)}}, false},
			"something else that we sealed": {"one", "browser",
				values(openedParameter, tickets.Seal([]byte("1"), "opened one other")), false},
		} {
			if got := opens(test.digest, test.browser, test.sent); got != test.want {
				t.Errorf("%s: %t", name, got)
			}
		}
		time.Sleep(TicketLife * time.Second)
		if !opens("one", "browser", proof) {
			t.Error("at the end of the time that the person has")
		}
		// Another way back, such as after a second factor, does not renew the proof.
		at, _ := p.openedBefore(withBrowser(t.Context(), "browser"), "one", proof)
		second := back("one", "browser", at)
		time.Sleep(time.Second)
		for name, sent := range map[string]url.Values{"the proof": proof, "the proof of the second way back": second} {
			if opens("one", "browser", sent) {
				t.Errorf("%s works after the time that the person has", name)
			}
		}
	})
}
