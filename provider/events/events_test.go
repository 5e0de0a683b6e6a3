package events

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/storage"
	"mandate/testkit"
)

// What a stranger sends fits into a row, whatever it is. A person who acts is the one whom the event concerns, unless
// it says otherwise.
func TestRow(t *testing.T) {
	ctx := origin.With(t.Context(), &origin.Origin{Actor: origin.Actor{Kind: origin.Person, ID: "1", Name: "alice"},
		Address: "192.0.2.1", UserAgent: "a\xffgent" + strings.Repeat("é", 300)})
	e := Row(ctx, Event{Kind: ConsentGiven, Detail: strings.Repeat("scope ", 200)})
	if !utf8.ValidString(e.UserAgent) || !strings.HasPrefix(e.UserAgent, "agent") || len(e.UserAgent) > 256 ||
		len(e.Detail) > 500 {
		t.Errorf("the browser is %q, the detail has %d bytes", e.UserAgent, len(e.Detail))
	}
	if e.PersonID != "1" || e.PersonName != "alice" || e.ActorKind != origin.Person || e.ActorID != "1" ||
		e.ActorName != "alice" || e.Address != "192.0.2.1" || e.Times != 1 || e.At == 0 || e.Since != e.At {
		t.Errorf("%+v", e)
	}
	if short := Row(origin.With(t.Context(), &origin.Origin{UserAgent: "a\xffgent"}),
		Event{}); short.UserAgent != "agent" {
		t.Errorf("the browser is %q", short.UserAgent)
	}
	other := Row(ctx, Event{Kind: PersonDisabled, Person: storage.User{ID: "2", Username: "bob"}})
	if other.PersonID != "2" || other.ActorID != "1" || other.ID == e.ID {
		t.Errorf("%+v", other)
	}
	if alone := Row(context.Background(), Event{Kind: KeyAdded}); alone.ActorKind != origin.Server ||
		alone.PersonID != "" {
		t.Errorf("without an origin: %+v", alone)
	}
}

// A line can be read back. It has no character that a terminal executes, also none beyond 16 bits.
func TestJSON(t *testing.T) {
	e := storage.Event{ID: "x", At: 7260, Since: 60, Times: 3, Kind: "sign-in.failed", UserAgent: "a\U000e0041\u202e\x1bb"}
	text := JSON(e)
	if strings.ContainsFunc(string(text), func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("%q", text)
	}
	var got struct {
		Time, Since string
		Count       int
		UserAgent   string `json:"user_agent"`
	}
	err := json.Unmarshal(text, &got)
	if err != nil || got.UserAgent != e.UserAgent || got.Time != "1970-01-01T02:01:00Z" ||
		got.Since != "1970-01-01T00:01:00Z" || got.Count != 3 {
		t.Errorf("%v: %+v", err, got)
	}
	e.Times = 1
	if text = JSON(e); strings.Contains(string(text), "since") {
		t.Errorf("an event that has happened once has two times: %s", text)
	}
}

// No refusal is lost while the numbers are stored, or could not be stored.
func TestRefusalsAtOnce(t *testing.T) {
	r := NewRefusals(nil, slog.New(slog.DiscardHandler))
	refuse := func(endpoint string) func() {
		return func() { r.Count(Refused{Endpoint: endpoint}, oauth.InvalidToken("no")) }
	}
	testkit.AtOnce(refuse("token"), refuse("token"), refuse("revocation"), func() { r.giveBack(r.take()) })
	times := int64(0)
	for _, one := range r.take() {
		times += int64(one.times)
	}
	if times != 300 {
		t.Errorf("%d of 300 refusals are counted", times)
	}
}
