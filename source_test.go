package keyfill_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// numbers gives each test numbers of workers of its own, as they are taken for
// the process.
var numbers atomic.Int64

func newNumber() int { return int(numbers.Add(1)) }

// flakes is a policy that fills "id" of t with snowflakes of a worker, without a
// store.
func flakes(worker int) *policy.Config {
	return &policy.Config{
		Dialect: "mysql",
		Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &policy.Source{
			Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: &worker,
		}}},
	}
}

// ofWorker changes where the number of the worker comes from.
func ofWorker(change func(*policy.Source)) *policy.Config {
	cfg := flakes(0)
	s := cfg.Tables["t"].InPlace
	s.Worker = nil
	change(s)
	return cfg
}

// TestSnowflakeOpen: what is wrong with a snowflake is an error when the database
// is opened, before anything is connected.
func TestSnowflakeOpen(t *testing.T) {
	t.Setenv("KEYFILL_TEST_WORKER", "secret")
	at := func(o keyfill.Options, year int) keyfill.Options {
		o.Now = func() time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
		return o
	}
	bits31 := flakes(newNumber())
	bits31.Tables["t"] = policy.Table{Column: "id", MaxBits: 31, InPlace: bits31.Tables["t"].InPlace}
	for _, c := range []struct {
		name    string
		options keyfill.Options
		is      error // nil: the policy's
		text    string
	}{
		{"no worker", optionsOf(ofWorker(func(*policy.Source) {})), nil, "say worker_env, worker_ordinal, worker_lease or worker"},
		{"two workers", optionsOf(ofWorker(func(s *policy.Source) { s.Worker, s.WorkerEnv = new(1), "X" })), nil, "take one"},
		{"number too great", optionsOf(flakes(1024)), nil, "0 to 1023"},
		{"variable not set", optionsOf(ofWorker(func(s *policy.Source) { s.WorkerEnv = "KEYFILL_TEST_NOT_SET" })), keysource.ErrOptions, "KEYFILL_TEST_NOT_SET"},
		{"variable without a number", optionsOf(ofWorker(func(s *policy.Source) { s.WorkerEnv = "KEYFILL_TEST_WORKER" })), keysource.ErrOptions, "0 to 1023"},
		{"wider than the column", optionsOf(bits31), nil, "max_bits"},
		{"clock before the epoch", at(optionsOf(flakes(newNumber())), 2019), keysource.ErrClock, "epoch"},
		{"clock after the end", at(optionsOf(flakes(newNumber())), 2090), keysource.ErrExhausted, "2089-09-06"},
		{"bits that end", optionsOf(ofWorker(func(s *policy.Source) {
			s.Worker, s.TimeBits, s.WorkerBits, s.SequenceBits = new(1), 39, 10, 12
		})), nil, "2037"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts}
			_, err := keyfill.OpenDB(&fakeConnector{d}, c.options)
			var p *policy.Error
			if err == nil || c.is != nil && !errors.Is(err, c.is) || c.is == nil && !errors.As(err, &p) && !strings.Contains(err.Error(), "policy") {
				t.Fatalf("the error is %v", err)
			}
			if !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("the text is %q, want %q in it", err, c.text)
			}
			if d.conns != 0 {
				t.Errorf("%d connections were opened", d.conns)
			}
		})
	}
}

// TestSnowflakeOrdinal: where the host's name ends in the number of a worker, as in web-3,
// that is the worker of the keys. Any other name is an error with its table and column.
func TestSnowflakeOrdinal(t *testing.T) {
	cfg := ofWorker(func(s *policy.Source) { s.WorkerOrdinal = true })
	cfg.Tables["a*"], cfg.Tables["u"] = policy.Table{Column: "id", Source: "uuidv7"}, policy.Table{Column: "id", Source: "uuidv7"}
	db, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{strength: contexts}}, keyfill.Options{Policy: cfg})
	if worker, ok := hostOrdinal(t); ok && worker <= 1023 {
		if err != nil {
			t.Fatalf("on a host whose name ends in -%d: %v", worker, err)
		}
		defer db.Close()
		m, err := keyfill.From(db)
		if err != nil {
			t.Fatal(err)
		}
		id, err := m.Reserve(t.Context(), "t", 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(id >> 12 & 1023); got != worker {
			t.Errorf("the key is worker %d's, want %d", got, worker)
		}
		return
	}
	var e *keyfill.Error
	if !errors.As(err, &e) || e.Table != "t" || e.Column != "id" || !errors.Is(err, keysource.ErrOptions) || !strings.Contains(err.Error(), "the host's name") {
		t.Errorf("the error is %v", err)
	}
}

// hostOrdinal returns the number in which the first label of the host's name ends, after
// a hyphen. ok is false if there is none.
func hostOrdinal(t *testing.T) (n int, ok bool) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	label, _, _ := strings.Cut(host, ".")
	found := regexp.MustCompile(`.-(0|[1-9][0-9]{0,8})$`).FindStringSubmatch(label)
	if found == nil {
		return 0, false
	}
	n, err = strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n, true
}

// TestSnowflakeWorkerEnv: the number is read when the database is opened.
func TestSnowflakeWorkerEnv(t *testing.T) {
	worker := newNumber()
	t.Setenv("KEYFILL_TEST_WORKER", itoa(worker))
	d := &fakeDriver{strength: contexts}
	cfg := ofWorker(func(s *policy.Source) { s.WorkerEnv = "KEYFILL_TEST_WORKER" })
	m, err := keyfill.From(open(t, d, cfg))
	if err != nil {
		t.Fatal(err)
	}
	id, err := m.Reserve(context.Background(), "t", 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := int(id >> 12 & 1023); got != worker {
		t.Errorf("the key is worker %d's, want %d", got, worker)
	}
}

// TestWorkerTaken: without a store a number belongs to one registration: another
// one is an error at open, and gets it when the databases of the first are
// closed. Databases of one registration share it.
//
//deviation:integer-keys | With a snowflake without a store, a process cannot open a second database with the same worker's number. | all | the same DSN under two names | one name, or another number
func TestWorkerTaken(t *testing.T) {
	worker := newNumber()
	cfg := flakes(worker)
	name, otherName := t.Name()+"-a-keyfill", t.Name()+"-b-keyfill"
	for _, name := range []string{name, otherName} {
		// Registering takes nothing: no database is open.
		if _, err := keyfill.Register(name, &fakeDriver{strength: contexts}, keyfill.Options{Policy: cfg}); err != nil {
			t.Fatal(err)
		}
	}

	one := mustOpen(t, name)
	two := mustOpen(t, name)
	taken := func() {
		t.Helper()
		if _, err := sql.Open(otherName, ""); !errors.Is(err, keysource.ErrWorkerTaken) {
			t.Errorf("another name: %v, want ErrWorkerTaken", err)
		}
		if _, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: cfg}); !errors.Is(err, keysource.ErrWorkerTaken) {
			t.Errorf("a connector: %v, want ErrWorkerTaken", err)
		}
	}
	taken()
	// Other numbers are free.
	open(t, &fakeDriver{}, flakes(newNumber()))
	for _, db := range []*sql.DB{one, two} {
		taken()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	free := mustOpen(t, otherName)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	// Closed twice, it gives back nothing that is another's.
	owner := open(t, &fakeDriver{}, cfg)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sql.Open(otherName, ""); !errors.Is(err, keysource.ErrWorkerTaken) {
		t.Errorf("after a second Close: %v, want ErrWorkerTaken", err)
	}
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWorkerGivenBack: an open that fails keeps no number.
func TestWorkerGivenBack(t *testing.T) {
	worker, other := newNumber(), newNumber()
	holder := open(t, &fakeDriver{}, flakes(other))
	two := flakes(worker)
	two.Tables["u"] = policy.Table{Column: "id", InPlace: &policy.Source{
		Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: &other, Name: "u",
	}}
	if _, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: two}); !errors.Is(err, keysource.ErrWorkerTaken) {
		t.Fatalf("with a number that is taken: %v", err)
	}
	open(t, &fakeDriver{}, flakes(worker))
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWorkerBits: in one registration a number has one layout.
func TestWorkerBits(t *testing.T) {
	worker := newNumber()
	cfg := flakes(worker)
	cfg.Tables["u"] = policy.Table{Column: "id", InPlace: &policy.Source{
		Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: &worker, Bits: 53,
	}}
	_, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: cfg})
	if !errors.Is(err, keysource.ErrWorkerTaken) || !strings.Contains(err.Error(), "different bits") {
		t.Errorf("two layouts: %v", err)
	}
	open(t, &fakeDriver{}, flakes(worker))
}

// centralStore is a policy with a sequence whose state is in a store.
func centralStore(s policy.Store) *policy.Config {
	return &policy.Config{
		Dialect: "mysql",
		Stores:  map[string]policy.Store{"central": s},
		Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &policy.Source{
			Kind: policy.KindSequence, Store: "central",
		}}},
	}
}

// TestStoreOpen: what is wrong with a store is an error at open, without its
// DSN.
func TestStoreOpen(t *testing.T) {
	for _, c := range []struct {
		name  string
		store policy.Store
		text  string
	}{
		{"driver not registered", policy.Store{Driver: "nosuchdriver", DSN: "secret"}, `no driver named "nosuchdriver" is registered: import its package`},
		{"variable not set", policy.Store{Driver: "nosuchdriver2", DSNEnv: "KEYFILL_TEST_NOT_SET"}, "nosuchdriver2"},
	} {
		_, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: centralStore(c.store)})
		if err == nil || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), `store "central"`) {
			t.Errorf("%s: %v, want %s", c.name, err, c.text)
		}
	}
	name, _ := wrap(t, &fakeDriver{}, flakes(newNumber()))
	_, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: centralStore(policy.Store{Driver: name, DSNEnv: "KEYFILL_TEST_NOT_SET"})})
	if err == nil || !strings.Contains(err.Error(), "KEYFILL_TEST_NOT_SET") {
		t.Errorf("variable not set: %v", err)
	}
}
