package keyfillotel

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/figures"
)

// Register makes a meter observe the counts of a mount (keyfill's handle on a database)
// since it was opened, and the state of its sources, each time that the metrics are
// collected. The attributes are added to all of its metrics: if a process has several
// databases, give each one an attribute, such as db.namespace. The mount of a registered
// name gives the sums over all databases that were opened through the name.
//
// The error is [ErrRegistered] if the meter observes the mount already, with the same
// attributes, or is an error of the meter; nothing more is observed then. Unregister of the
// result ends the observation. Meters are compared by their addresses: two wrappers around
// one meter are two meters.
func Register(meter metric.Meter, m *keyfill.Mount, attributes ...attribute.KeyValue) (metric.Registration, error) {
	i := newInstruments(meter) // a meter returns the same instruments each time that it is asked for them
	if err := errors.Join(i.failed...); err != nil {
		return nil, err
	}
	common := attribute.NewSet(attributes...)
	entry, err := registered.add(meter, m, common)
	if err != nil {
		return nil, err
	}
	r, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		i.observe(o, figures.Read(m), time.Now(), common)
		return nil
	}, i.all...)
	if err != nil {
		registered.remove(entry)
		return nil, err
	}
	return &registration{Registration: r, entry: entry}, nil
}

// instruments are the metrics of a mount (keyfill's handle on a database).
type instruments struct {
	meter  metric.Meter
	all    []metric.Observable
	failed []error

	entry entryMetrics

	// Metrics that are reported for each source of the policy:
	fetches, fetchErrors, waits, leasesLost metric.Int64ObservableCounter
	fetchTime                               metric.Float64ObservableCounter
	states, left, block                     metric.Int64ObservableUpDownCounter
	remaining, failing, held                metric.Int64ObservableGauge
	lasts, leaseLeft                        metric.Float64ObservableGauge
}

// entryMetrics are the metrics by entry of the policy.
type entryMetrics struct {
	statements, filled, keys, withheld, suspects metric.Int64ObservableCounter // reported for each entry of the policy
}

func newInstruments(meter metric.Meter) *instruments {
	i := &instruments{meter: meter}

	i.entry.statements = i.counter("keyfill.statements", "{statement}", "Statements by outcome: stored, left_out, failed and unknown where keyfill added a key, else kept, refused or passed. The reason is the cause of a failure or a refusal.")
	i.entry.filled = i.counter("keyfill.filled", "{statement}", "INSERTs to which keyfill added a key, or would have under another mode.")
	i.entry.withheld = i.counter("keyfill.withheld", "{statement}", "INSERTs that were sent as they came because of the mode or of unsupported: unfilled.")
	i.entry.keys = i.counter("keyfill.keys", "{key}", "Keys that keyfill added to INSERTs.")
	i.entry.suspects = i.counter("keyfill.suspects", "{key}", "Keys of keyfill that the engine found in the table already.")

	i.fetches = i.counter("keyfill.source.fetches", "{fetch}", "Fetches from the store that brought numbers, time or a lease.")
	i.fetchErrors = i.counter("keyfill.source.fetch.errors", "{fetch}", "Fetches from the store that failed.")
	i.waits = i.counter("keyfill.source.waits", "{draw}", "Draws of keys that had to wait.")
	i.leasesLost = i.counter("keyfill.source.leases_lost", "{lease}", "Leases that another process had taken.")
	i.fetchTime = i.secondsSum("keyfill.source.fetch.time", "How long the fetches took together that succeeded.")

	i.states = i.sum("keyfill.source.states", "{state}", "States of the source that this process uses, such as one for each tenant.")
	i.left = i.sum("keyfill.source.left", "{key}", "Numbers that are reserved and not handed out.")
	i.block = i.sum("keyfill.source.block", "{key}", "Numbers that the next fetch reserves.")

	i.remaining = i.gauge("keyfill.source.remaining", "{key}", "Numbers that are left before the source is exhausted.")
	i.failing = i.gauge("keyfill.source.failing", "1", "1 if the last fetch failed, else 0.")
	i.held = i.gauge("keyfill.source.lease.held", "1", "1 if this process has the lease of its worker or series, else 0.")
	i.lasts = i.seconds("keyfill.source.time_left", "How long the source lasts at the rate of this process.")
	i.leaseLeft = i.seconds("keyfill.source.lease.time_left", "How long the lease lasts unless it is renewed.")
	return i
}

// noted notes an instrument, or the meter's error, and returns the instrument.
func noted[T metric.Observable](i *instruments, instrument T, err error) T {
	if err != nil {
		i.failed = append(i.failed, err)
	} else {
		i.all = append(i.all, instrument)
	}
	return instrument
}

func (i *instruments) counter(name, unit, text string) metric.Int64ObservableCounter {
	instrument, err := i.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return noted(i, instrument, err)
}

func (i *instruments) sum(name, unit, text string) metric.Int64ObservableUpDownCounter {
	instrument, err := i.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return noted(i, instrument, err)
}

func (i *instruments) gauge(name, unit, text string) metric.Int64ObservableGauge {
	instrument, err := i.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	return noted(i, instrument, err)
}

func (i *instruments) seconds(name, text string) metric.Float64ObservableGauge {
	instrument, err := i.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(text))
	return noted(i, instrument, err)
}

func (i *instruments) secondsSum(name, text string) metric.Float64ObservableCounter {
	instrument, err := i.meter.Float64ObservableCounter(name, metric.WithUnit("s"), metric.WithDescription(text))
	return noted(i, instrument, err)
}

// observe reports the present figures to the observer.
func (i *instruments) observe(o metric.Observer, f figures.Figures, now time.Time, common attribute.Set) {
	with := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributes(append(common.ToSlice(), more...)...)
	}
	for _, s := range f.Statements {
		more := []attribute.KeyValue{attribute.String(outcomeKey, string(s.Outcome))}
		if s.Entry != "" {
			more = append(more, text(entryKey, s.Entry))
		}
		if s.Reason != "" {
			more = append(more, attribute.String(reasonKey, s.Reason))
		}
		o.ObserveInt64(i.entry.statements, int64(s.Count), with(more...))
	}
	for _, e := range f.Entries {
		of := with(text(entryKey, e.Name))
		o.ObserveInt64(i.entry.filled, int64(e.Filled), of)
		o.ObserveInt64(i.entry.keys, int64(e.Keys), of)
		o.ObserveInt64(i.entry.withheld, int64(e.Withheld), of)
		o.ObserveInt64(i.entry.suspects, int64(e.Suspects), of)
	}
	for _, s := range f.Sources {
		i.observeSource(o, s, now, with(text(sourceKey, s.Source), attribute.String(kindKey, s.Kind)))
	}
}

// observeSource reports the state of one source, without the figures that a source of its
// kind does not have, or that are not known yet.
func (i *instruments) observeSource(o metric.Observer, s keyfill.SourceStats, now time.Time, of metric.MeasurementOption) {
	o.ObserveInt64(i.states, int64(s.States), of)
	if !s.Exhausted.IsZero() {
		o.ObserveFloat64(i.lasts, s.Exhausted.Sub(now).Seconds(), of)
	}
	if s.Max > 0 && s.States > 0 {
		o.ObserveInt64(i.remaining, s.Remaining, of)
	}
	if s.Lease > 0 && s.States > 0 {
		o.ObserveInt64(i.held, number(s.LeaseHeld), of)
		o.ObserveInt64(i.leasesLost, int64(s.LeasesLost), of)
		if !s.LeaseUntil.IsZero() {
			o.ObserveFloat64(i.leaseLeft, s.LeaseUntil.Sub(now).Seconds(), of)
		}
	}
	if s.Fetches == 0 && s.FetchErrors == 0 {
		return
	}
	o.ObserveInt64(i.left, s.Left, of)
	o.ObserveInt64(i.block, s.Block, of)
	o.ObserveInt64(i.fetches, int64(s.Fetches), of)
	o.ObserveInt64(i.fetchErrors, int64(s.FetchErrors), of)
	o.ObserveInt64(i.waits, int64(s.Waits), of)
	o.ObserveFloat64(i.fetchTime, s.FetchTime.Seconds(), of)
	o.ObserveInt64(i.failing, number(s.LastError != ""), of)
}

// The names of attributes that OpenTelemetry's semantic conventions do not define.
const (
	entryKey   = "keyfill.entry"
	outcomeKey = "keyfill.outcome"
	reasonKey  = "keyfill.reason"
	sourceKey  = "keyfill.source.name"
	kindKey    = "keyfill.source.kind"
)

// text returns an attribute that every exporter accepts: the names in a policy that is
// built in Go may contain any bytes.
func text(key, value string) attribute.KeyValue {
	return attribute.String(key, strings.ToValidUTF8(value, "\uFFFD"))
}

// number returns 1 for true and 0 for false.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
