package command

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/policy"
	"mandate/storage"
)

// byOperator says in the event log that a command does what follows, with the account of the operating
// system that runs it.
func byOperator(ctx context.Context) context.Context {
	name := ""
	if account, err := user.Current(); err == nil {
		name = account.Username
	}
	return origin.With(ctx, &origin.Origin{Actor: origin.Actor{Kind: origin.Operator, Name: name}})
}

// eventsAsked is what the flags of mandate events ask for.
type eventsAsked struct {
	filter                   events.Filter
	user, by, application    string
	since, until             string
	limit                    int
	asJSON, follow, forKinds bool
}

func (p *program) eventsCommand() *cobra.Command {
	var a eventsAsked
	c := &cobra.Command{Use: "events", Short: "List the event log, the newest events first", Args: arguments(),
		Long: `List the event log: who has signed in, who has tried without success, and what
people, administrators, applications and the operator have changed. The newest
events come first, with --follow the oldest.

In the column ACTOR, what stands in parentheses is no person: (operator root) is a command
that this account of the operating system has run, (server) the server itself, and
(application Shop) an application.

A time is a date (2026-11-30), a time (2026-11-30T09:00:00Z), or how long ago it was
(90m, 24h, 7d).`,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.forKinds {
				return p.listKinds(a.asJSON)
			}
			if a.filter.Kind != "" && !events.Known(a.filter.Kind) {
				return noKind(a.filter.Kind)
			}
			if address := a.filter.Address; address != "" && !events.IsNetwork(address) {
				return wrongUsage("--address: %q is no network address, such as 192.0.2.7, 2001:db8::7 or 2001:db8::/64", address)
			}
			if a.limit < 0 {
				return wrongUsage("--limit must not be negative")
			}
			return stopped(c.Context(), p.listEvents(c.Context(), a))
		}}
	f := c.Flags()
	f.StringVar(&a.filter.Kind, "kind", "", "only events of this `KIND`")
	f.StringVar(
		&a.user, "user", "",
		"only events that concern this person: a `USERNAME`, or a subject, also of a person who was deleted",
	)
	f.StringVar(
		&a.by, "by", "", "only what this `ACTOR` has done: the username or the subject of a person, or a client ID",
	)
	f.StringVar(&a.application, "application", "", "only events about the application with this `CLIENT_ID`")
	f.StringVar(&a.filter.Address, "address", "", "only events from this network `ADDRESS`")
	f.StringVar(&a.since, "since", "", "only events from this `TIME` on")
	f.StringVar(&a.until, "until", "", "only events before this `TIME`")
	f.IntVar(&a.limit, "limit", 100, "the largest `NUMBER` of events; 0: all")
	f.BoolVar(&a.asJSON, "json", false, "print one line of JSON for each event")
	f.BoolVar(&a.follow, "follow", false, "also print the events that come, until the command is stopped")
	f.BoolVar(&a.forKinds, "kinds", false, "list the kinds of events instead")
	return c
}

// noKind is the error for a kind that does not exist. It lists those that begin in the same way, or else all.
func noKind(name string) error {
	var all, similar []string
	for _, d := range events.Kinds() {
		all = append(all, string(d.Kind))
		if first, _, _ := strings.Cut(name, "."); strings.HasPrefix(string(d.Kind), strings.TrimSuffix(first, "s")) {
			similar = append(similar, string(d.Kind))
		}
	}
	if len(similar) > 0 {
		return wrongUsage(
			"there is no kind %q: similar ones are %s; mandate events --kinds lists all", name, strings.Join(similar, ", "),
		)
	}
	return wrongUsage("there is no kind %q: use one of %s", name, strings.Join(all, ", "))
}

func (p *program) listKinds(asJSON bool) error {
	type kindView struct {
		Kind    string `json:"kind"`
		Meaning string `json:"meaning"`
	}
	views, rows := []kindView{}, [][]string{{"KIND", "MEANING"}}
	for _, d := range events.Kinds() {
		views = append(views, kindView{string(d.Kind), d.Meaning})
		rows = append(rows, []string{string(d.Kind), d.Meaning})
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	return writeTable(p.Stdout, rows)
}

func (p *program) listEvents(ctx context.Context, a eventsAsked) error {
	now := time.Now()
	var err error
	a.filter.Since, err = timeOf("--since", a.since, now)
	if err == nil {
		a.filter.Until, err = timeOf("--until", a.until, now)
	}
	if err == nil && a.filter.Since > 0 && a.filter.Until > 0 && a.filter.Until <= a.filter.Since {
		err = wrongUsage("--until must be later than --since: %q is not later than %q", a.until, a.since)
	}
	if err != nil {
		return err
	}
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	err = a.find(ctx, o.provider)
	if err != nil {
		return err
	}
	if a.follow {
		return p.followEvents(ctx, o.provider, a)
	}
	rows := [][]string{{"TIME", "KIND", "ACTOR", "ADDRESS", "PERSON", "OBJECT", "DETAIL", "COUNT"}}
	err = eachEvent(ctx, o.provider, a.filter, a.limit, func(e storage.Event) error {
		if a.asJSON {
			return p.printEvent(e)
		}
		rows = append(rows, cellsOf(e))
		return nil
	})
	if err != nil || a.asJSON {
		return err
	}
	return writeTable(p.Stdout, rows)
}

// find sets the filters for people and applications. It returns an error for a name that neither a record nor an event
// has.
func (a *eventsAsked) find(ctx context.Context, in *provider.Provider) error {
	var err error
	a.filter.PersonID, err = in.People.PersonInEvents(ctx, a.user)
	if err != nil {
		return missing(err, "person", a.user, "user list")
	}
	a.filter.ActorID, err = in.People.ActorInEvents(ctx, a.by)
	if errors.Is(err, oauth.ErrNotFound) {
		return fmt.Errorf(
			"there is no person and no application %q: mandate user list and mandate application list list those that exist",
			a.by,
		)
	}
	if err != nil || a.application == "" {
		return err
	}
	a.filter.ObjectID = a.application
	_, err = in.Clients.ApplicationByClientID(ctx, policy.Operator(), a.application)
	if errors.Is(err, oauth.ErrNotFound) {
		found, failed := in.Events.List(ctx, policy.Operator(), events.Filter{ObjectID: a.application}, 1)
		if failed != nil || len(found) > 0 {
			return failed
		}
	}
	return missing(err, "application", a.application, "application list")
}

// eachEvent calls use for at most limit events, the newest first.
func eachEvent(
	ctx context.Context,
	from *provider.Provider,
	of events.Filter,
	limit int,
	use func(storage.Event) error,
) error {
	for n := 0; limit == 0 || n < limit; {
		step := 1000
		if limit > 0 {
			step = min(step, limit-n)
		}
		found, err := from.Events.List(ctx, policy.Operator(), of, step)
		if err != nil {
			return err
		}
		for _, e := range found {
			err = use(e)
			if err != nil {
				return err
			}
		}
		n += len(found)
		if len(found) < step {
			return nil
		}
		of.BeforeAt, of.BeforeID = found[step-1].At, found[step-1].ID
	}
	return nil
}

const (
	lookForEvents = time.Second
	// lateEvents is for how many seconds an event may come after a newer one: another node's transaction
	// may take longer, and its clock may differ.
	lateEvents = 60
)

// followEvents prints the last events and then those that come, the oldest first. A counted event is
// printed again when its number has grown.
func (p *program) followEvents(ctx context.Context, from *provider.Provider, a eventsAsked) error {
	printed, limit := map[string]storage.Event{}, a.limit
	for {
		var fresh []storage.Event
		err := eachEvent(ctx, from, a.filter, limit, func(e storage.Event) error {
			if printed[e.ID].Times != e.Times {
				fresh = append(fresh, e)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := len(fresh) - 1; i >= 0; i-- {
			e := fresh[i]
			printed[e.ID] = e
			if a.asJSON {
				err = p.printEvent(e)
			} else {
				_, err = fmt.Fprintln(p.Stdout, graphic(strings.Join(cellsOf(e), "  ")))
			}
			if err != nil {
				return err
			}
		}
		since := time.Now().Unix() - lateEvents
		a.filter.Since, limit = max(a.filter.Since, since), 0
		for id, e := range printed {
			if e.At < since {
				delete(printed, id)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookForEvents):
		}
	}
}

func (p *program) printEvent(e storage.Event) error {
	_, err := p.Stdout.Write(append(events.JSON(e), '\n'))
	return err
}

// cellsOf returns an event as a row of the table.
func cellsOf(e storage.Event) []string {
	object := strings.TrimSpace(e.ObjectKind + " " + either(e.ObjectName, e.ObjectID))
	return []string{
		timestamp(e.At),
		e.Kind,
		events.Actor(e),
		dash(e.Address),
		dash(either(e.PersonName, e.PersonID)),
		dash(object),
		dash(e.Detail),
		strconv.FormatInt(e.Times, 10),
	}
}

// timeOf reads a time of a flag. It returns 0 for an empty one.
func timeOf(flag, text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		at, err := time.Parse(form, text)
		if err == nil {
			return at.Unix(), nil
		}
	}
	ago, err := parseDuration(text)
	if err != nil {
		return 0, wrongUsage(
			"%s: %q is no time: write a date (2026-11-30), a time (2026-11-30T09:00:00Z), or how long ago it was (90m, 24h, 7d)",
			flag, text,
		)
	}
	return now.Add(-ago).Unix(), nil
}
