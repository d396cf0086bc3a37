package keyfillotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/keyfill/keyfill"
)

// NewProducer returns a producer that gives a reader of the SDK the histogram
// keyfill.source.fetch.duration, in seconds: how long the successful fetches of each source
// took (its requests to a store). A meter has no instrument that observes a histogram, so
// [Register] cannot.
//
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(keyfillotel.NewProducer(m)))
//
// The attributes are added to all points, as by Register. The counts are cumulative since
// the mount was opened, whatever temporality the reader prefers: with an exporter that
// accepts only deltas, use keyfill.source.fetches and keyfill.source.fetch.time instead. It
// is safe for concurrent use.
func NewProducer(m *keyfill.Mount, attributes ...attribute.KeyValue) sdk.Producer {
	return producer{m, attribute.NewSet(attributes...), time.Now()}
}

type producer struct {
	mount  *keyfill.Mount
	common attribute.Set
	start  time.Time
}

// Produce returns the histogram, or nothing if no source has fetched.
func (p producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	now := time.Now()
	var points []metricdata.HistogramDataPoint[float64]
	for _, s := range p.mount.Sources() {
		if s.Fetches == 0 {
			continue
		}
		point := metricdata.HistogramDataPoint[float64]{
			Attributes: attribute.NewSet(append(p.common.ToSlice(), text(sourceKey, s.Source), attribute.String(kindKey, s.Kind))...),
			StartTime:  p.start, Time: now, Count: s.Fetches, Sum: s.FetchTime.Seconds(),
			Max: metricdata.NewExtrema(s.SlowestFetch.Seconds()),
		}
		before := uint64(0)
		for _, b := range s.FetchTimes {
			point.Bounds = append(point.Bounds, b.Within.Seconds())
			point.BucketCounts = append(point.BucketCounts, b.Count-before)
			before = b.Count
		}
		point.BucketCounts = append(point.BucketCounts, s.Fetches-before) // add the fetches that took longer than the last bound
		points = append(points, point)
	}
	if points == nil {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{Name: "github.com/keyfill/keyfill/keyfillotel"},
		Metrics: []metricdata.Metrics{{
			Name: "keyfill.source.fetch.duration", Unit: "s", Description: "How long the fetches took that succeeded.",
			Data: metricdata.Histogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality},
		}},
	}}, nil
}
