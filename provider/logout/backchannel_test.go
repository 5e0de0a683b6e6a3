package logout

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/storage"
	"mandate/testkit"
)

// Who has many notifications, and many calls that run, does not go before others.
func TestOwnersTakeTurns(t *testing.T) {
	yes, no := true, false
	due := func(owner string, turn int64, responsible string, administrator *bool) storage.DueLogin {
		l := storage.DueLogin{Turn: turn, Responsible: responsible, BackchannelURI: "https://" + owner + ".example/"}
		l.Owner = owner
		if responsible == storage.ByOwner {
			l.OwnerActive, l.OwnerAdministrator = &yes, administrator
		}
		return l
	}
	n := newNotifier(&Logouts{})
	for range 3 {
		if n.enter(due("greedy", 1, storage.ByNobody, nil)) == nil {
			t.Fatal("there is no place")
		}
	}
	var got []string
	for _, l := range n.inTurn([]storage.DueLogin{
		due("greedy", 1, storage.ByNobody, nil), due("modest", 1, storage.ByNobody, nil),
		due("person", 1, storage.ByOwner, &no), due("greedy", 2, storage.ByNobody, nil),
		due("operator", 1, storage.ByOperator, nil), due("modest", 2, storage.ByNobody, nil),
		due("operator", 2, storage.ByOperator, nil), due("administrator", 1, storage.ByOwner, &yes),
	}) {
		got = append(got, fmt.Sprint(l.Owner, " ", l.Turn))
	}
	want := []string{"operator 1", "administrator 1", "operator 2", "person 1", "modest 1", "modest 2", "greedy 1",
		"greedy 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every place for a call is given back.
func TestNotifierAtOnce(t *testing.T) {
	n := newNotifier(&Logouts{})
	due := storage.DueLogin{BackchannelURI: "https://client.example/logout"}
	call := func() {
		leave := n.enter(due)
		if leave != nil {
			n.note(due, true, time.Millisecond)
			leave()
		}
	}
	testkit.AtOnce(call, call, func() { n.inTurn([]storage.DueLogin{due, due}) })
	if taken := n.places[standingOf(due)].TakenBy(due.Owner); taken != 0 {
		t.Errorf("%d places are taken", taken)
	}
}
