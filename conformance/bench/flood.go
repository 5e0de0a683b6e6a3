package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"mandate/conformance/bench/load"
)

// flood measures introspection by itself, beside ordinary token requests, and during attacks: with wrong passwords from
// many addresses, with correct passwords, with client ids that are invented URLs of metadata documents, and with
// applications that register themselves.
func flood(ctx context.Context, o *options) error {
	var failures []error
	err := o.onEach(ctx, func(name string, pg *cluster) error {
		wrong, err := floodOn(ctx, o, name, pg)
		failures = append(failures, wrong)
		return err
	})
	return errors.Join(append(failures, err)...)
}

// besieged is a server to which people sign in by the password grant (RFC 6749 §4.3), and which reads metadata
// documents.
type besieged struct {
	*options
	silent net.Listener // a host that never answers
	server *server
	target *target
	phone  client // a public client, like an application on a telephone
	people []person
}

func newBesieged(ctx context.Context, o *options, pg *cluster) (*besieged, error) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	reaching := *o
	reaching.settings = append(slices.Clone(o.settings), "MANDATE_OUTBOUND_ALLOWED_NETWORKS=127.0.0.0/8")
	s, err := startMandate(ctx, &reaching, pg, []string{"OPEN_HOSTS: [127.0.0.1]"})
	if err != nil {
		silent.Close()
		return nil, err
	}
	b := &besieged{options: o, server: s, silent: silent}
	b.target, err = machineTarget(ctx, s)
	if err == nil {
		b.phone, err = s.register(ctx, "telephone", "--grant", "password", "--client-type", "public")
	}
	for n := 0; err == nil && n < 8; n++ {
		var p person
		p, err = s.person(ctx, fmt.Sprintf("person%d", n))
		b.people = append(b.people, p)
	}
	if err != nil {
		b.end()
	}
	return b, err
}

func (b *besieged) end() {
	b.server.end()
	b.silent.Close()
}

// siege is the load beside the introspection.
type siege struct {
	name  string
	tries func() (load.Load, error) // nil: no load
	all   load.Outcome              // rate of introspections
	tried load.Outcome
	p99   []float64
}

// floodOn returns two errors: that introspection failed during the flood, and that the measurement failed.
func floodOn(ctx context.Context, o *options, name string, pg *cluster) (failed, err error) {
	b, err := newBesieged(ctx, o, pg)
	if err != nil {
		return nil, err
	}
	defer b.end()
	rate := o.rate
	if rate == 0 {
		o.say("%s: measuring introspection by itself ...", name)
		for range 2 { // the first one warms up
			out, err := b.introspect(ctx, 0)
			if err != nil {
				return nil, err
			}
			rate = out.Rate() / 4
		}
	}
	if rate < 1 {
		return nil, errors.New("introspection returned no valid responses")
	}
	sieges := []*siege{{name: "quiet"}, {name: "token requests", tries: b.ordinary},
		{name: "wrong passwords", tries: b.guess(false)},
		{name: "right passwords", tries: b.guess(true)}, {name: "invented documents", tries: b.invent},
		{name: "registrations", tries: b.enrol}}
	for round := range o.rounds {
		o.say("%s: round %d of %d ...", name, round+1, o.rounds)
		for _, s := range sieges {
			err := b.under(ctx, s, rate)
			if err != nil {
				return nil, err
			}
		}
	}
	fmt.Fprintf(o.stdout, "%s: %s introspections a second are sent; passwords are sent on %d connections, and %d token "+
		"requests, invented URLs or registrations a second\n\n", name, grouped(int(rate)), o.attackers, inventions)
	table := [][]string{{"Introspection while", "answered a second", "p50", "p99", "p99.9", "p99 relative to quiet",
		"to token requests", "errors", "attempts a second", "answered"}}
	for _, s := range sieges {
		table = append(table, []string{s.name, grouped(int(s.all.Rate())), milliseconds(micro(s.all.Latency.Quantile(0.5))),
			milliseconds(micro(s.all.Latency.Quantile(0.99))), milliseconds(micro(s.all.Latency.Quantile(0.999))),
			against(s, sieges[0]), against(s, sieges[1]), kinds(s.all.Wrong), s.attempts(), s.answered()})
		if len(s.all.Wrong) > 0 {
			failed = errors.Join(failed, fmt.Errorf("on %s, introspection had errors with %s: %v", name, s.name, s.all.Wrong))
		}
	}
	write(o.stdout, table, false)
	fmt.Fprintln(o.stdout)
	return failed, nil
}

// against compares the p99 of two sieges.
func against(s, other *siege) string {
	ratio := load.Ratios(s.p99, other.p99)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", ratio.Median, ratio.Min, ratio.Max)
}

func (s *siege) attempts() string {
	if s.tried.Elapsed == 0 {
		return "-"
	}
	return grouped(int(float64(s.tried.Answers()) / s.tried.Elapsed.Seconds()))
}

func (s *siege) answered() string {
	var parts []string
	if s.tried.Good > 0 {
		parts = append(parts, fmt.Sprintf("%s x accepted", grouped(s.tried.Good)))
	}
	if len(s.tried.Wrong) > 0 {
		parts = append(parts, kinds(s.tried.Wrong))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func (b *besieged) introspect(ctx context.Context, rate float64) (*load.Outcome, error) {
	workers := b.connections
	if rate > 0 {
		workers = max(workers, waiting)
	}
	to, asking, err := introspectWorkers(1000)(ctx, b.target, workers, 0)
	if err != nil {
		return nil, err
	}
	return load.Load{To: to, Workers: asking, Length: b.seconds, Rate: rate}.Run(ctx)
}

// under measures introspection during the siege.
func (b *besieged) under(ctx context.Context, s *siege, rate float64) error {
	during, stop := context.WithCancel(ctx)
	defer stop()
	ended, began := make(chan *load.Outcome, 1), time.Now()
	var why error // set before ended
	if s.tries != nil {
		tries, err := s.tries()
		if err != nil {
			return err
		}
		connected := make(chan struct{})
		tries.Connected = func() { close(connected) }
		go func() {
			out, err := tries.Run(during) // the siege is stopped; the answers until then count
			why = err
			ended <- out
		}()
		select {
		case <-connected:
		case tried := <-ended:
			ended <- tried // it could not connect
		}
		select {
		case <-time.After(time.Second): // the queues fill
		case <-ctx.Done():
		}
	}
	out, err := b.introspect(ctx, rate)
	stop()
	if s.tries != nil {
		tried := <-ended
		if tried == nil {
			return fmt.Errorf("nothing could be tried: %w", why)
		}
		s.tried.Merge(tried)
		s.tried.Elapsed += time.Since(began)
	}
	if err != nil {
		return err
	}
	b.server.process.Trim()
	s.all.Merge(out)
	s.all.Elapsed += out.Elapsed
	s.p99 = append(s.p99, micro(out.Latency.Quantile(0.99)))
	return nil
}

// ordinary sends token requests of a client that may: what each attack is compared with, because any further request
// takes a turn on the same processors.
func (b *besieged) ordinary() (load.Load, error) {
	to, workers, err := clientWorkers(context.Background(), b.target, inventions, 0)
	return arriving(to, workers), err
}

// guess tries passwords. The connections come from many networks, and each is soon replaced by one from another
// network. Otherwise the rate limit of an address would refuse attempts before a password is hashed.
func (b *besieged) guess(right bool) func() (load.Load, error) {
	return func() (load.Load, error) {
		to, err := load.ParseEndpoint(b.target.token)
		var workers []load.Worker
		for n := range b.attackers {
			w := &guesser{form: to.Form(""), fields: "grant_type=password&client_id=" + escape(b.phone.ID)}
			if right {
				w.person = &b.people[n%len(b.people)]
			}
			workers = append(workers, w)
		}
		l := arriving(to, workers)
		l.Rate = 0 // as many as possible
		return l, err
	}
}

// inventions is how many token requests, invented URLs or registrations arrive in a second.
const inventions = 200

// arriving is a load at that rate, from many networks.
func arriving(to load.Endpoint, workers []load.Worker) load.Load {
	return load.Load{To: to, Workers: workers, Length: time.Hour, Rate: inventions, Each: 20,
		From: func() net.Addr { return load.Loopback(rand.Uint32()) }}
}

// invent sends authorization requests whose client ids are URLs at a host that never answers.
func (b *besieged) invent() (load.Load, error) {
	to, err := load.ParseEndpoint(b.server.url + "/o/authorize/")
	var workers []load.Worker
	for range 8 * inventions { // a fetch ends after five seconds
		workers = append(workers, &inventor{to, b.silent.Addr().String()})
	}
	return arriving(to, workers), err
}

// inventor invents the client ids of metadata documents.
type inventor struct {
	to   load.Endpoint
	host string
}

func (w *inventor) Next() []byte {
	return w.to.Get("?response_type=code&client_id="+escape(fmt.Sprintf("https://%s/%d", w.host, rand.Uint64())), "")
}

func (w *inventor) Check(r load.Response) string { return refused(r) }

// enrol registers clients that are all different.
func (b *besieged) enrol() (load.Load, error) {
	to, err := load.ParseEndpoint(b.server.url + "/o/register/")
	var workers []load.Worker
	for range inventions {
		workers = append(workers, &registrar{to: to})
	}
	return arriving(to, workers), err
}

// guesser tries the password of a person that does not exist, or signs a person in.
type guesser struct {
	form   load.Form
	fields string
	person *person
	buf    []byte
}

func (w *guesser) Next() []byte {
	p := w.person
	if p == nil {
		p = &person{fmt.Sprintf("nobody%d", rand.Uint64()), "a wrong password"}
	}
	w.buf = w.form.With(w.buf, []byte(w.fields+"&username="+escape(p.name)+"&password="+escape(p.password)))
	return w.buf
}

func (w *guesser) Check(r load.Response) string { return refused(r) }
