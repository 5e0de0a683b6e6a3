package events

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/policy"
	"mandate/provider/throttle"
	"mandate/storage"
)

// Log reads the event log.
type Log struct{ store *storage.Store }

// New makes the component.
func New(store *storage.Store) *Log { return &Log{store} }

// Filter says which events a list contains.
type Filter = storage.EventFilter

// IsNetwork reports whether a text is a network address as the event log has it: an IP address, or a network (CIDR).
func IsNetwork(text string) bool {
	_, err := netip.ParseAddr(text)
	if err != nil {
		_, err = netip.ParsePrefix(text)
	}
	return err == nil
}

// List returns events for an administrator, an auditor or the operator, the newest first.
func (l *Log) List(ctx context.Context, actor policy.Actor, of Filter, limit int) ([]storage.Event, error) {
	err := actor.MustSee("read the event log")
	if err != nil {
		return nil, err
	}
	found, err := l.store.Events(ctx, of, limit)
	return found, oauth.Stored(err)
}

// strange has the kinds of events that others than the person can cause, as often as they have networks, and
// oftenCaused also those that are usual.
var (
	strange = "|" + string(SignInFailed) + "|" + string(FactorFailed) + "|" + string(PasswordFailed) + "|" +
		string(TokenReused) + "|"
	oftenCaused = strange + string(TokenRepeated) + "|"
)

// mostUsual is how many counted events OfPerson returns that are usual. They would displace all others.
const mostUsual = 2

// networksOfSite is how many rows OfPerson reads for one of a site.
const networksOfSite = 20

// OfPerson returns the newest events that concern a person: so many of what has happened to the account, and beside
// them so many that strangers can cause, which never displace those, and very few that are usual. Some events only
// accompany another one, and are left out.
func (l *Log) OfPerson(ctx context.Context, userID string, own, ofStrangers int) ([]storage.Event, error) {
	found, err := l.store.Events(ctx, Filter{PersonID: userID, Share: storage.Own, Strange: oftenCaused}, 2*own)
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	found = slices.DeleteFunc(found, func(e storage.Event) bool { return e.Kind == string(Strengthened) })
	others, err := l.store.Events(ctx, Filter{PersonID: userID, Share: storage.OfStrangers, Strange: strange},
		networksOfSite*ofStrangers)
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	usual, err := l.store.Events(ctx, Filter{PersonID: userID, Kind: string(TokenRepeated)}, networksOfSite*mostUsual)
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	others, usual = bySite(others), bySite(usual)
	found = slices.Concat(found[:min(own, len(found))], others[:min(ofStrangers, len(others))],
		usual[:min(mostUsual, len(usual))])
	slices.SortStableFunc(found,
		func(a, b storage.Event) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.ID, a.ID)) })
	return found, nil
}

// bySite adds up the events of one site, the newest first: one customer can have many networks.
func bySite(found []storage.Event) []storage.Event {
	var sites []storage.Event
	at := map[string]int{}
	for _, e := range found {
		site := siteOf(e.Address)
		key := strings.Join([]string{e.Kind, e.ActorKind, e.ActorID, e.ObjectID, e.Detail, site}, "\x00")
		i, known := at[key]
		if !known {
			at[key] = len(sites)
			sites = append(sites, e)
			continue
		}
		sites[i].Times += e.Times
		sites[i].Since = min(sites[i].Since, e.Since)
		if sites[i].Address != e.Address {
			sites[i].Address = site
		}
	}
	return sites
}

// siteOf returns the site of an address, or of the network that a counted event has in its place.
func siteOf(address string) string {
	prefix, err := netip.ParsePrefix(address)
	if err == nil {
		address = prefix.Addr().String()
	}
	return throttle.Site(address)
}

// mostFailures limits how many rows of failures SignInsOf adds up.
const mostFailures = 1000

// SignInsOf returns when a person has last signed in, as far as the log goes back, and how often a password or a
// second factor of the person was refused in the last 24 hours.
func (l *Log) SignInsOf(ctx context.Context, userID string) (last, failures int64, err error) {
	found, err := l.store.Events(ctx, Filter{PersonID: userID, Kind: string(SignIn)}, 1)
	if err != nil {
		return 0, 0, oauth.Unavailable(err)
	}
	if len(found) > 0 {
		last = found[0].At
	}
	for _, kind := range []Kind{SignInFailed, FactorFailed} {
		found, err = l.store.Events(ctx, Filter{PersonID: userID, Kind: string(kind), Since: oauth.Now() - 24*60*60},
			mostFailures)
		if err != nil {
			return 0, 0, oauth.Unavailable(err)
		}
		for _, e := range found {
			failures += e.Times
		}
	}
	return last, failures, nil
}

// Export stores that an administrator exports events, before the first of them is sent.
func (l *Log) Export(ctx context.Context, actor policy.Actor, of Filter) error {
	err := actor.MustAdminister("export the event log")
	if err != nil {
		return err
	}
	by := Names(Field{"kind", of.Kind != ""}, Field{"person", of.PersonID != ""}, Field{"actor", of.ActorID != ""},
		Field{"object", of.ObjectID != ""},
		Field{"address", of.Address != ""}, Field{"since", of.Since != 0}, Field{"until", of.Until != 0})
	return oauth.Stored(l.store.AddEvents(Attach(ctx, Event{Kind: EventsExported, Detail: by})))
}

// Actor names the actor of an event for people. A person is named by the username, which has no parentheses: whatever
// stands in them is no person.
func Actor(e storage.Event) string {
	name := cmp.Or(e.ActorName, e.ActorID)
	switch e.ActorKind {
	case origin.Person:
		return name
	case origin.Nobody:
		return "(unknown)"
	}
	return "(" + strings.TrimSpace(e.ActorKind+" "+name) + ")"
}

// Party is an actor, a person or an object of an event.
type Party struct {
	Kind string `json:"kind,omitempty"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// line is an event as JSON.
type line struct {
	ID        string `json:"id"`
	Time      string `json:"time"`
	Kind      string `json:"kind"`
	Actor     Party  `json:"actor"`
	Address   string `json:"address,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
	Person    Party  `json:"person,omitzero"`
	Object    Party  `json:"object,omitzero"`
	Detail    string `json:"detail,omitempty"`
	Count     int64  `json:"count"`
	Since     string `json:"since,omitempty"`
}

// JSON returns an event as one line of JSON, without a line feed.
func JSON(e storage.Event) []byte {
	l := line{e.ID, Moment(e.At), e.Kind, Party{e.ActorKind, e.ActorID, e.ActorName}, e.Address, e.UserAgent,
		Party{"", e.PersonID, e.PersonName}, Party{e.ObjectKind, e.ObjectID, e.ObjectName}, e.Detail, e.Times, ""}
	if e.Times > 1 {
		l.Since = Moment(e.Since)
	}
	text, _ := json.Marshal(l) // texts and numbers can always be written
	return escaped(text)
}

// escaped writes the characters of a JSON text that have no glyph as escapes (RFC 8259 §7). Strangers choose
// some of the texts, and a terminal would execute such a character, or would hide others by it.
func escaped(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

// Moment returns a time as JSON and CSV have it.
func Moment(at int64) string { return time.Unix(at, 0).UTC().Format(time.RFC3339) }
