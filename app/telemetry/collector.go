package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mandate/app/eventlog"
	"mandate/provider"
	"mandate/storage"
)

// collector reads the numbers of the provider and of the store at each scrape.
type collector struct {
	provider *provider.Provider
	events   *eventlog.Writer // nil: there is none
	lost     func() int64
	descs    map[string]*prometheus.Desc
}

func newCollector(p *provider.Provider, events *eventlog.Writer, lost func() int64) *collector {
	c := &collector{p, events, lost, map[string]*prometheus.Desc{}}
	for _, f := range families {
		c.descs[f.name] = f.desc()
	}
	return c
}

// Describe sends nothing: the metrics depend on the state at a scrape.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics. It executes one SQL statement, for the lag of the
// clean-up.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.provider.Stats()
	tell := func(f family, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if f.kind == counter {
			kind = prometheus.CounterValue
		}
		m, err := prometheus.NewConstMetric(c.descs[f.name], kind, value, labels...)
		out <- orInvalid(m, err, c.descs[f.name])
	}
	for _, i := range s.Issued {
		tell(issuedTotal, float64(i.Count), i.Kind)
	}
	for _, d := range s.Copies {
		tell(copyEntries, float64(d.Entries), d.Of)
		tell(copyLookups, float64(d.Hits), d.Of, "hit")
		tell(copyLookups, float64(d.Misses), d.Of, "miss")
	}
	for _, h := range s.Hashing {
		tell(hashesRunning, float64(h.InUse), h.For)
		tell(hashesLimit, float64(h.Slots), h.For)
		tell(hashesWaiting, float64(h.Waiting), h.For)
		tell(hashesRefused, float64(h.Refused), h.For)
	}
	tell(documents, float64(s.DocumentsFetched), "fetched")
	tell(documents, float64(s.DocumentsUnusable), "unusable")
	tell(documents, float64(s.DocumentsRefused), "refused")
	tell(backchannel, float64(s.LogoutsDelivered), "told")
	tell(backchannel, float64(s.LogoutsFailed), "failed")
	tell(backchannel, float64(s.LogoutsGivenUp), "given_up")
	tell(mails, float64(s.MailsSent), "sent")
	tell(mails, float64(s.MailsFailed), "failed")
	tell(mails, float64(s.MailsGivenUp), "given_up")
	if c.events != nil {
		written, lost := c.events.Counts()
		tell(eventLines, float64(written), "written")
		tell(eventLines, float64(lost), "lost")
	}
	tell(logLost, float64(c.lost()))
	tell(changesHear, truth(s.ReceivesChanges))
	tell(changesLost, float64(s.ConnectionsLost))
	tell(cleanupLast, float64(s.SweptAt))
	tell(cleanupErrors, float64(s.SweepsFailed))
	tell(clockDifference, s.ClockDifference.Seconds())
	c.collectLag(tell)
	c.collectStorage(s.Storage, tell, out)
}

type teller func(f family, value float64, labels ...string)

// collectLag has a time limit: a scrape does not wait for a database that does not
// answer.
func (c *collector) collectLag(tell teller) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	lag, err := c.provider.Lag(ctx)
	if err == nil {
		tell(cleanupLag, float64(lag))
	}
}

func (c *collector) collectStorage(s storage.Stats, tell teller, out chan<- prometheus.Metric) {
	for _, p := range s.Pools {
		tell(dbConnections, float64(p.InUse), p.Name, "in_use")
		tell(dbConnections, float64(p.Open-p.InUse), p.Name, "idle")
		tell(dbLimit, float64(p.Largest), p.Name)
		tell(dbWaits, float64(p.Waits), p.Name)
		tell(dbWaited, p.Waited.Seconds(), p.Name)
	}
	tell(queueItems, float64(s.Queue.Waiting))
	tell(queueLimit, float64(s.Queue.Room))
	tell(queueRefused, float64(s.Queue.Full))
	var batches uint64
	upTo := map[float64]uint64{}
	for i, n := range s.Queue.Sizes {
		batches += uint64(n)
		upTo[float64(int(1)<<i)] = batches
	}
	m, err := prometheus.NewConstHistogram(c.descs[batchItems.name], batches, float64(s.Queue.Items), upTo)
	out <- orInvalid(m, err, c.descs[batchItems.name])
	for _, r := range s.Removed {
		tell(cleanupRows, float64(r.Rows), r.Table)
	}
}

// orInvalid reports an invalid metric in the scrape. A panic would end the server.
func orInvalid(m prometheus.Metric, err error, desc *prometheus.Desc) prometheus.Metric {
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
