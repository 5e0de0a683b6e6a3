package provider

import (
	"context"
	"time"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/storage"
)

// Stats holds the measurements of the provider. Each count begins at the start of the process.
type Stats struct {
	Issued          []Issued
	Copies          []Copies
	Hashing         []Hashing
	ReceivesChanges bool  // whether notifications of changes from other processes arrive
	ConnectionsLost int64 // how often the connection for these notifications was lost

	DocumentsFetched  int64 // metadata documents of clients
	DocumentsUnusable int64 // fetches that gave no usable document
	DocumentsRefused  int64 // requests for a document that were refused because of a limit

	LogoutsDelivered int64 // back-channel logouts that an application accepted
	LogoutsFailed    int64 // failed calls; each of them is repeated later
	LogoutsGivenUp   int64 // back-channel logouts that are not tried again

	MailsSent    int64
	MailsFailed  int64 // failed attempts; each of them is repeated later
	MailsGivenUp int64 // messages that are not tried again

	SweptAt      int64 // when the clean-up last succeeded, at this node or at the one whose turn it was; 0: never
	SweepsFailed int64

	ClockDifference time.Duration // by how much the clock of this node is ahead

	Storage storage.Stats
}

// Issued is the number of issued tokens of one kind: access, refresh or ID tokens, or codes.
type Issued struct {
	Kind  string
	Count int64
}

// Copies holds the counts of one kind of copies in memory: how often a copy was found or not
// found, and how many copies there are.
type Copies struct {
	Of           string
	Hits, Misses int64
	Entries      int
}

// Hashing holds the state of one password hasher: its slots, how many are in use, how many
// requests wait for one, and how many requests it refused.
type Hashing struct {
	For                   string // people: the login page; programs: client secrets and the password grant
	Slots, InUse, Waiting int
	Refused               int64
}

// Stats returns the current measurements. It does not use the database.
func (p *Provider) Stats() Stats {
	c := &p.counters
	delivered, failed, givenUp := p.Logouts.Counts()
	access, refresh, ids := p.Grants.Counts()
	fetched, unusable, refused := p.Clients.DocumentCounts()
	sent, unsent, dropped := p.Notices.Counts()
	return Stats{
		Issued: []Issued{{"access", access}, {"refresh", refresh}, {"id", ids},
			{"code", p.Authorizations.CodesIssued()}},
		Copies: []Copies{copiesOf("application", p.Clients.CopyStats), copiesOf("token", p.Tokens.CopyStats),
			copiesOf("document", p.Clients.DocumentStats), copiesOf("logo", p.Clients.LogoStats)},
		Hashing:         []Hashing{hashingOf("people", p.limits.People), hashingOf("programs", p.limits.Programs)},
		ReceivesChanges: p.changes.Receiving(),
		ConnectionsLost: c.lost.Load(),

		DocumentsFetched: fetched, DocumentsUnusable: unusable, DocumentsRefused: refused,
		LogoutsDelivered: delivered, LogoutsFailed: failed, LogoutsGivenUp: givenUp,
		MailsSent: sent, MailsFailed: unsent, MailsGivenUp: dropped,
		SweptAt: c.swept.Load(), SweepsFailed: c.sweepsFailed.Load(),
		ClockDifference: p.clock.Difference(),
		Storage:         p.store.Stats(),
	}
}

// Lag returns by how many seconds the clean-up is late. This is the time since the oldest row
// that it must delete expired.
func (p *Provider) Lag(ctx context.Context) (int64, error) {
	oldest, err := p.store.Oldest(ctx)
	if err != nil || oldest == 0 {
		return 0, err
	}
	return max(0, oauth.Now()-oldest), nil
}

// copiesOf returns the counts of one kind of copies.
func copiesOf(of string, stats func() (hits, misses int64, entries int)) Copies {
	hits, misses, entries := stats()
	return Copies{of, hits, misses, entries}
}

// hashingOf returns the state of one password hasher.
func hashingOf(of string, h limits.Hasher) Hashing {
	s := h.Stats()
	return Hashing{of, s.Slots, s.InUse, s.Waiting, s.Refused}
}
