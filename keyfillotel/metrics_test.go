package keyfillotel_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillotel"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

const file = `
version: 1
dialect: sqlite
tables:
  customers: {column: id, source: uuidv7}
  orders:    {column: id, max_bits: 31, source: {kind: sequence, name: order_no, ensure_schema: true, block: 10}}
  visits:    {column: id, source: {kind: recycled, ensure_schema: true, lease: 1m}}
  "log_*":   {column: id, source: ulid}
  misspelt:  {column: id, source: ulid}
`

// options are what a database is opened with.
func options(t *testing.T) keyfill.Options {
	t.Helper()
	cfg, err := policy.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return keyfill.Options{Policy: cfg}
}

// wrapped returns a connector of a new database, and its mount.
func wrapped(t *testing.T) (*keyfill.Connector, *keyfill.Mount) {
	t.Helper()
	ours, err := keyfill.WrapConnector(connector{"file:" + t.TempDir() + "/test.db"}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	return ours, ours.Mount()
}

// open opens a new database with the tables of the policy.
func open(t *testing.T) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	ours, m := wrapped(t)
	db := sql.OpenDB(ours)
	create(t, db)
	return db, m
}

// create creates the tables of the policy.
func create(t *testing.T, db *sql.DB) {
	t.Helper()
	t.Cleanup(func() { _ = db.Close() })
	for _, table := range []string{"customers", "log_a", "log_b"} {
		do(t, db, "CREATE TABLE "+table+" (id TEXT PRIMARY KEY, note TEXT UNIQUE)", true)
	}
	for _, table := range []string{"orders", "visits"} {
		do(t, db, "CREATE TABLE "+table+" (id INTEGER PRIMARY KEY, note TEXT)", true)
	}
	do(t, db, "CREATE TABLE other (note TEXT)", true)
}

// connector opens connections of the driver modernc.org/sqlite.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return &sqlite.Driver{} }

// do executes a statement, which ends in an error where works is false.
func do(t *testing.T, db *sql.DB, query string, works bool) {
	t.Helper()
	if _, err := db.Exec(query); (err == nil) != works {
		t.Fatalf("%s: error %v", query, err)
	}
}

// collect returns the metrics by their names and attributes.
func collect(t *testing.T, reader *sdk.ManualReader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	note := func(name string, attributes attribute.Set, value float64) {
		key := name
		for _, a := range attributes.ToSlice() {
			key += fmt.Sprintf(" %s=%s", strings.TrimPrefix(string(a.Key), "keyfill."), a.Value.AsString())
		}
		if _, twice := found[key]; twice {
			t.Errorf("%s comes twice", key)
		}
		found[key] = value
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Description == "" || m.Unit == "" {
				t.Errorf("%s has the unit %q and the description %q", m.Name, m.Unit, m.Description)
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, p.Value)
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	return found
}

// TestMetrics: each outcome of an INSERT on a real database, and the state of each source,
// are in the metrics.
func TestMetrics(t *testing.T) {
	db, m := open(t)
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	registration, err := keyfillotel.Register(provider.Meter("test"), m, attribute.String("db.namespace", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	do(t, db, "INSERT INTO customers (note) VALUES ('a'), ('b')", true)
	do(t, db, "INSERT INTO customers (note) VALUES ('a')", false)
	do(t, db, "INSERT INTO customers (id, note) VALUES ('k', 'c')", true)
	do(t, db, "INSERT INTO customers (note) SELECT 'd', 'e'", false)
	do(t, db, "INSERT INTO orders (note) VALUES ('a')", true)
	do(t, db, "INSERT INTO visits (note) VALUES ('a')", true)
	do(t, db, "INSERT INTO log_a (note) VALUES ('a')", true)
	do(t, db, "INSERT INTO log_b (note) VALUES ('a')", true)
	do(t, db, "INSERT INTO other (note) VALUES ('a')", true)

	got := collect(t, reader)
	for name, want := range map[string]float64{
		"keyfill.statements db.namespace=shop entry=customers outcome=stored":                      1,
		"keyfill.statements db.namespace=shop entry=customers outcome=failed reason=engine":        1,
		"keyfill.statements db.namespace=shop entry=customers outcome=kept":                        1,
		"keyfill.statements db.namespace=shop entry=customers outcome=refused reason=column_count": 1,
		"keyfill.statements db.namespace=shop entry=log_* outcome=stored":                          2,
		"keyfill.statements db.namespace=shop entry=misspelt outcome=stored":                       0,
		"keyfill.statements db.namespace=shop outcome=passed":                                      1,
		"keyfill.filled db.namespace=shop entry=customers":                                         2,
		"keyfill.withheld db.namespace=shop entry=customers":                                       0,
		"keyfill.keys db.namespace=shop entry=customers":                                           3,
		"keyfill.suspects db.namespace=shop entry=orders":                                          0,
		"keyfill.source.remaining db.namespace=shop source.kind=sequence source.name=order_no":     1<<31 - 2,
		"keyfill.source.failing db.namespace=shop source.kind=sequence source.name=order_no":       0,
		"keyfill.source.lease.held db.namespace=shop source.kind=recycled source.name=visits.id":   1,
		"keyfill.source.states db.namespace=shop source.kind=ulid source.name=log_*.id":            0,
	} {
		if value, told := got[name]; !told || value != want {
			t.Errorf("%s is %v (told: %v), want %v", name, value, told, want)
		}
	}
	for _, s := range m.Sources() {
		of := fmt.Sprintf(" db.namespace=shop source.kind=%s source.name=%s", s.Kind, s.Source)
		if fetches, told := got["keyfill.source.fetches"+of]; told != (s.Fetches > 0) || fetches != float64(s.Fetches) {
			t.Errorf("keyfill.source.fetches%s is %v (told: %v), want %d", of, fetches, told, s.Fetches)
		}
	}
	if left := got["keyfill.source.lease.time_left db.namespace=shop source.kind=recycled source.name=visits.id"]; left <= 0 || left > 60 {
		t.Errorf("the lease lasts %v s, want a minute at most", left)
	}
	for name := range got {
		if strings.HasPrefix(name, "db.client.") || strings.Contains(name, "log_a") {
			t.Errorf("%s is not keyfill's to tell", name)
		}
	}

	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, reader); len(got) > 0 {
		t.Errorf("without the registration there is %q", slices.Sorted(maps.Keys(got)))
	}
}

// TestFetchTimes: the histogram has each fetch once, and none before the first one.
func TestFetchTimes(t *testing.T) {
	db, m := open(t)
	reader := sdk.NewManualReader(sdk.WithProducer(keyfillotel.NewProducer(m, attribute.String("db.namespace", "shop"))))
	provider := sdk.NewMeterProvider(sdk.WithReader(reader)) // a reader without one reads nothing
	defer func() { _ = provider.Shutdown(t.Context()) }()
	read := func() []metricdata.HistogramDataPoint[float64] {
		t.Helper()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		var points []metricdata.HistogramDataPoint[float64]
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				h, ok := m.Data.(metricdata.Histogram[float64])
				if m.Name != "keyfill.source.fetch.duration" || m.Unit != "s" || !ok || h.Temporality != metricdata.CumulativeTemporality {
					t.Errorf("there is %+v, want cumulative times of fetches in seconds", m)
				}
				points = append(points, h.DataPoints...)
			}
		}
		return points
	}
	if points := read(); len(points) > 0 {
		t.Errorf("before the first fetch there is %+v", points)
	}
	for range 25 { // more than a block
		do(t, db, "INSERT INTO orders (note) VALUES ('a')", true)
	}
	points := read()
	if len(points) != 1 {
		t.Fatalf("there are %d histograms, want one of the source order_no", len(points))
	}
	var want keyfill.SourceStats
	for _, s := range m.Sources() {
		if s.Source == "order_no" {
			want = s
		}
	}
	p := points[0]
	of := attribute.NewSet(attribute.String("db.namespace", "shop"), attribute.String("keyfill.source.name", "order_no"), attribute.String("keyfill.source.kind", "sequence"))
	if p.Attributes != of {
		t.Errorf("the attributes are %v, want %v", p.Attributes, of)
	}
	var inBuckets uint64
	for _, n := range p.BucketCounts {
		inBuckets += n
	}
	slowest, _ := p.Max.Value()
	if p.Count != want.Fetches || want.Fetches < 3 || inBuckets != p.Count || len(p.BucketCounts) != len(p.Bounds)+1 || len(p.Bounds) != keysource.FetchBuckets ||
		p.Sum != want.FetchTime.Seconds() || slowest != want.SlowestFetch.Seconds() {
		t.Errorf("the histogram is %+v, want the %d fetches of %+v", p, want.Fetches, want)
	}
	for i, b := range want.FetchTimes[:len(want.FetchTimes)-1] {
		if p.Bounds[i] != b.Within.Seconds() || i == 0 && p.BucketCounts[0] != b.Count {
			t.Errorf("the bucket to %v has %d, want %d to %v", p.Bounds[i], p.BucketCounts[i], b.Count, b.Within)
		}
	}
}

// TestSeveral: two databases report their metrics through one meter, by their attributes.
func TestSeveral(t *testing.T) {
	reader := sdk.NewManualReader()
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
	for i, name := range []string{"shop", "archive"} {
		db, m := open(t)
		if _, err := keyfillotel.Register(meter, m, attribute.String("db.namespace", name)); err != nil {
			t.Fatal(err)
		}
		for range i + 1 {
			do(t, db, "INSERT INTO orders (note) VALUES ('a')", true)
		}
	}
	got := collect(t, reader)
	for name, want := range map[string]float64{"shop": 1, "archive": 2} {
		if keys := got["keyfill.keys db.namespace="+name+" entry=orders"]; keys != want {
			t.Errorf("%s has %v keys, want %v", name, keys, want)
		}
	}
}
