// Package keyfillprom gives the counts of keyfill to Prometheus.
//
//	m, err := keyfill.From(db)
//	prometheus.MustRegister(
//		collectors.NewDBStatsCollector(db, "orders"),
//		keyfillprom.NewCollector(m, "orders"),
//	)
//
// A collector reads [keyfill.Mount.Stats] and [keyfill.Mount.Sources] at each scrape and
// sends nothing to a database. INSERTs are counted with or without scrapes.
//
// Each metric has the label db_name, as the metrics of collectors.NewDBStatsCollector. The
// label table is an entry of the policy, such as "orders" or "log_*", and never the name of
// a real table; the label source is a source of the policy. Neither a glob nor a schema for
// each tenant makes a new time series.
package keyfillprom

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/figures"
)

// collector reads the statistics of a mount (keyfill's handle on a database). It is safe
// for concurrent use.
type collector struct {
	mount *keyfill.Mount

	entry entryMetrics

	// Metrics that are reported for each source of the policy:
	info, states, left, block, remaining, exhaustion *prometheus.Desc
	fetches, fetchErrors, lastFetch, failing         *prometheus.Desc
	waits, lastKey, leaseHeld, leaseEnd, leasesLost  *prometheus.Desc
}

// entryMetrics are the metrics by entry of the policy.
type entryMetrics struct {
	statements, filled, keys, withheld, suspects *prometheus.Desc // reported for each entry of the policy
}

// NewCollector returns a collector of the counts of a mount (keyfill's handle on a
// database) since it was opened, and of the state of its sources. dbName is the label
// db_name of all its metrics: each mount in a registry needs its own dbName. The mount of a
// registered name gives the sums over all databases that were opened through the name.
//
// The collector fails no scrape. It is safe for concurrent use.
func NewCollector(m *keyfill.Mount, dbName string) prometheus.Collector {
	constant := prometheus.Labels{"db_name": valid(dbName)}
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName("keyfill", "", name), help, labels, constant)
	}
	return &collector{
		mount: m,
		entry: entryMetrics{

			statements: of("statements_total", "INSERTs by outcome: stored, left_out, failed and unknown where keyfill added a key, else kept, refused or passed. The reason is the cause of a failure or a refusal.", "table", "outcome", "reason"),
			filled:     of("filled_statements_total", "INSERTs to which keyfill added a key, or would have under another mode.", "table"),
			keys:       of("keys_total", "Keys that keyfill added to INSERTs.", "table"),
			withheld:   of("withheld_statements_total", "INSERTs that were sent as they came because of the mode or of unsupported: unfilled.", "table"),
			suspects:   of("suspects_total", "Keys of keyfill that the engine found in the table already.", "table"),
		},

		info:        of("source_info", "The kind and the store of a source, always 1.", "source", "kind", "store"),
		states:      of("source_states", "States of the source that this process uses, such as one for each tenant.", "source"),
		left:        of("source_left", "Numbers that are reserved and not handed out.", "source"),
		block:       of("source_block", "Numbers that the next fetch reserves.", "source"),
		remaining:   of("source_remaining", "Numbers that are left before the source is exhausted. There is none for a source with scope: or period:.", "source"),
		exhaustion:  of("source_exhaustion_timestamp_seconds", "When the source will be exhausted at the rate of this process.", "source"),
		fetches:     of("source_fetch_duration_seconds", "How long fetches from the store took that brought numbers, time or a lease.", "source"),
		fetchErrors: of("source_fetch_errors_total", "Fetches from the store that failed.", "source"),
		lastFetch:   of("source_last_fetch_timestamp_seconds", "When the last fetch that succeeded ended.", "source"),
		failing:     of("source_failing", "1 if the last fetch failed, else 0.", "source"),
		waits:       of("source_waits_total", "Draws of keys that had to wait.", "source"),
		lastKey:     of("source_last_key_timestamp_seconds", "A time at which a key was drawn: the last one that needed the store or a new block.", "source"),
		leaseHeld:   of("source_lease_held", "1 if this process has the lease of its worker or series, else 0. An idle process lets it run out.", "source"),
		leasesLost:  of("source_leases_lost_total", "Leases that another process had taken.", "source"),
		leaseEnd:    of("source_lease_end_timestamp_seconds", "When the lease ends unless it is renewed.", "source"),
	}
}

// Describe sends the descriptions of all metrics.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		c.entry.statements, c.entry.filled, c.entry.keys, c.entry.withheld, c.entry.suspects,
		c.info, c.states, c.left, c.block, c.remaining, c.exhaustion,
		c.fetches, c.fetchErrors, c.lastFetch, c.failing, c.waits, c.lastKey, c.leaseHeld, c.leaseEnd, c.leasesLost,
	} {
		out <- desc
	}
}

// Collect sends the present figures.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	f := figures.Read(c.mount)
	for _, s := range f.Statements {
		out <- counter(c.entry.statements, s.Count, s.Entry, string(s.Outcome), s.Reason)
	}
	for _, e := range f.Entries {
		out <- counter(c.entry.filled, e.Filled, e.Name)
		out <- counter(c.entry.keys, e.Keys, e.Name)
		out <- counter(c.entry.withheld, e.Withheld, e.Name)
		out <- counter(c.entry.suspects, e.Suspects, e.Name)
	}
	for _, s := range f.Sources {
		c.collectSource(out, s)
	}
}

// collectSource sends the state of one source. It leaves out figures that a source of its
// kind does not have, or that are not known yet.
func (c *collector) collectSource(out chan<- prometheus.Metric, s keyfill.SourceStats) {
	out <- gauge(c.info, 1, s.Source, s.Kind, s.Store)
	out <- gauge(c.states, float64(s.States), s.Source)
	at := func(desc *prometheus.Desc, t time.Time) {
		if !t.IsZero() {
			out <- gauge(desc, float64(t.UnixMilli())/1000, s.Source)
		}
	}
	at(c.lastKey, s.LastKeyAt)
	at(c.exhaustion, s.Exhausted)
	if s.Max > 0 && s.States > 0 {
		out <- gauge(c.remaining, float64(s.Remaining), s.Source)
	}
	if s.Lease > 0 && s.States > 0 {
		out <- gauge(c.leaseHeld, number(s.LeaseHeld), s.Source)
		at(c.leaseEnd, s.LeaseUntil)
		out <- counter(c.leasesLost, s.LeasesLost, s.Source)
	}
	if s.Fetches == 0 && s.FetchErrors == 0 {
		return
	}
	out <- gauge(c.left, float64(s.Left), s.Source)
	out <- gauge(c.block, float64(s.Block), s.Source)
	buckets := map[float64]uint64{}
	for _, b := range s.FetchTimes {
		buckets[b.Within.Seconds()] = b.Count
	}
	out <- prometheus.MustNewConstHistogram(c.fetches, s.Fetches, s.FetchTime.Seconds(), buckets, valid(s.Source))
	out <- counter(c.fetchErrors, s.FetchErrors, s.Source)
	out <- gauge(c.failing, number(s.LastError != ""), s.Source)
	out <- counter(c.waits, s.Waits, s.Source)
	at(c.lastFetch, s.LastFetchAt)
}

// valid returns a label that Prometheus accepts: the names in a policy that is built in Go
// may contain any bytes.
func valid(label string) string { return strings.ToValidUTF8(label, "\uFFFD") }

func counter(desc *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return metric(desc, prometheus.CounterValue, float64(n), labels)
}

func gauge(desc *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return metric(desc, prometheus.GaugeValue, value, labels)
}

func metric(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels []string) prometheus.Metric {
	for i := range labels {
		labels[i] = valid(labels[i])
	}
	return prometheus.MustNewConstMetric(desc, kind, value, labels...)
}

// number returns 1 for true and 0 for false.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
