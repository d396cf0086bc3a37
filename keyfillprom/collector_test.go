package keyfillprom_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillprom"
	"github.com/keyfill/keyfill/policy"
)

const file = `
version: 1
dialect: sqlite
tables:
  customers: {column: id, source: uuidv7}
  orders:    {column: id, max_bits: 31, source: {kind: sequence, name: order_no, ensure_schema: true, block: 10}}
  visits:    {column: id, source: {kind: recycled, ensure_schema: true, lease: 1m}}
  events:    {column: id, source: {kind: snowflake, worker: WORKER}}
  "log_*":   {column: id, source: ulid}
  misspelt:  {column: id, source: ulid}
`

// workers counts the databases, which all have another worker's number.
var workers atomic.Int64

// config returns the policy of a database.
func config(t *testing.T) *policy.Config {
	t.Helper()
	cfg, err := policy.Parse([]byte(strings.Replace(file, "WORKER", strconv.FormatInt(workers.Add(1), 10), 1)))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// open opens a database of SQLite with some tables.
func open(t *testing.T) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	db, err := keyfill.OpenDB(connector{"file:" + t.TempDir() + "/test.db"}, keyfill.Options{Policy: config(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"customers", "log_a", "log_b"} {
		do(t, db, "CREATE TABLE "+table+" (id TEXT PRIMARY KEY, note TEXT UNIQUE)", true)
	}
	for _, table := range []string{"orders", "visits", "events"} {
		do(t, db, "CREATE TABLE "+table+" (id INTEGER PRIMARY KEY, note TEXT)", true)
	}
	do(t, db, "CREATE TABLE other (note TEXT)", true)
	return db, m
}

// connector opens connections of the driver modernc.org/sqlite.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return &sqlite.Driver{} }

// do executes a statement, which ends in an error where works is false.
func do(t *testing.T, db *sql.DB, query string, works bool, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); (err == nil) != works {
		t.Fatalf("%s: error %v", query, err)
	}
}

// work opens a database and has each outcome of an INSERT there.
func work(t *testing.T) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	db, m := open(t)
	do(t, db, "INSERT INTO customers (note) VALUES (?), (?)", true, "a", "b")
	do(t, db, "INSERT INTO customers (note) VALUES (?)", false, "a")          // UNIQUE
	do(t, db, "INSERT OR IGNORE INTO customers (note) VALUES (?)", true, "a") // the row is there
	do(t, db, "INSERT INTO customers (id, note) VALUES ('k', 'c')", true)     // brings its key
	do(t, db, "INSERT INTO customers (note) SELECT 'd', 'e'", false)          // a value too many
	for range 3 {
		do(t, db, "INSERT INTO orders (note) VALUES (?)", true, "a")
	}
	do(t, db, "INSERT INTO visits (note) VALUES (?)", true, "a")
	do(t, db, "INSERT INTO events (note) VALUES (?)", true, "a")
	do(t, db, "INSERT INTO log_a (note) VALUES (?)", true, "a")
	do(t, db, "INSERT INTO log_b (note) VALUES (?)", true, "a")
	do(t, db, "INSERT INTO other (note) VALUES (?)", true, "a")
	m.SetMode(policy.ModeDryRun)
	do(t, db, "INSERT INTO log_b (id, note) VALUES (NULL, ?)", true, "b")
	m.SetMode(policy.ModeFill)
	return db, m
}

// TestCounts: each outcome of an INSERT on a real database is in the metrics, under the
// entry of the policy.
func TestCounts(t *testing.T) {
	_, m := work(t)
	want, err := os.Open("testdata/counts.prom")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = want.Close() }()
	if err := testutil.CollectAndCompare(keyfillprom.NewCollector(m, "shop"), want,
		"keyfill_statements_total", "keyfill_filled_statements_total", "keyfill_keys_total", "keyfill_suspects_total", "keyfill_withheld_statements_total", "keyfill_source_info"); err != nil {
		t.Error(err)
	}
}

// gather returns the metrics of a mount by name and the label source.
func gather(t *testing.T, m *keyfill.Mount) map[string]*dto.Metric {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(keyfillprom.NewCollector(m, "shop"))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*dto.Metric{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				if label.GetName() == "source" {
					name += " " + label.GetValue()
				}
			}
			found[name] = metric
		}
	}
	return found
}

// TestSources: the state of each source is in the metrics as [keyfill.Mount.Sources] has
// it, and what a source does not have is not.
func TestSources(t *testing.T) {
	_, m := work(t)
	metrics := gather(t, m)
	for name, want := range map[string]float64{
		"keyfill_source_remaining order_no":   1<<31 - 1 - 3,
		"keyfill_source_block order_no":       10,
		"keyfill_source_failing order_no":     0,
		"keyfill_source_lease_held visits.id": 1,
	} {
		if got := metrics[name].GetGauge(); got == nil || got.GetValue() != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, s := range m.Sources() {
		h := metrics["keyfill_source_fetch_duration_seconds "+s.Source].GetHistogram()
		if (h == nil) != (s.Fetches == 0) {
			t.Errorf("%s has the histogram %v of %v", s.Source, h, s.FetchTimes)
		}
		if h == nil {
			continue
		}
		if h.GetSampleCount() != s.Fetches || math.Abs(h.GetSampleSum()-s.FetchTime.Seconds()) > 1e-9 || len(h.GetBucket()) != len(s.FetchTimes) {
			t.Errorf("%s has the histogram %v, want %d fetches in %v", s.Source, h, s.Fetches, s.FetchTimes)
		}
	}
	for _, name := range []string{"keyfill_source_left", "keyfill_source_remaining", "keyfill_source_lease_held", "keyfill_source_fetch_errors_total"} {
		if got := metrics[name+" customers.id"]; got != nil {
			t.Errorf("a source without a state has %s: %v", name, got)
		}
	}
	if end := metrics["keyfill_source_exhaustion_timestamp_seconds events.id"].GetGauge().GetValue(); end < float64(time.Now().AddDate(10, 0, 0).Unix()) {
		t.Errorf("the snowflakes end at %v, want some decades from now", end)
	}
	end := time.Unix(int64(metrics["keyfill_source_lease_end_timestamp_seconds visits.id"].GetGauge().GetValue()), 0)
	if left := time.Until(end); left < 0 || left > time.Minute+time.Second {
		t.Errorf("the lease ends in %v, want a minute at most", left)
	}
}

// TestLint: the names and help texts are as Prometheus wants them.
func TestLint(t *testing.T) {
	_, m := work(t)
	problems, err := testutil.CollectAndLint(keyfillprom.NewCollector(m, "shop"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestSeveral: the collectors of several databases stand in one registry, beside
// database/sql's, and one name is registered once.
func TestSeveral(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, name := range []string{"shop", "archive"} {
		db, m := work(t)
		registry.MustRegister(keyfillprom.NewCollector(m, name), collectors.NewDBStatsCollector(db, name))
	}
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
	_, m := open(t)
	if err := registry.Register(keyfillprom.NewCollector(m, "shop")); err == nil {
		t.Error("a second collector of one name is registered")
	}
}

// TestAnyName: names that Prometheus takes for no text end no scrape.
func TestAnyName(t *testing.T) {
	cfg := config(t)
	cfg.Tables["a\xffb"] = cfg.Tables["customers"]
	db, err := keyfill.OpenDB(connector{"file:" + t.TempDir() + "/test.db"}, keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(keyfillprom.NewCollector(m, "shop\xff")); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

// TestMeanwhile: scrapes while INSERTs run see no count go back.
func TestMeanwhile(t *testing.T) {
	db, m := open(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(keyfillprom.NewCollector(m, "shop"))
	var group sync.WaitGroup
	ended := make(chan struct{})
	group.Go(func() {
		defer close(ended)
		for range 200 {
			if _, err := db.Exec("INSERT INTO orders (note) VALUES (?)", "a"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	last := 0.0
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		default:
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() != "keyfill_keys_total" {
				continue
			}
			now := 0.0
			for _, metric := range family.GetMetric() {
				now += metric.GetCounter().GetValue()
			}
			if now < last {
				t.Errorf("%v keys behind %v", now, last)
			}
			last = now
		}
	}
	group.Wait()
	if last != 200 {
		t.Errorf("%v keys are counted, want 200", last)
	}
}
