package keys_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestReserve: integers that are reserved are consecutive, an INSERT that brings
// them is kept, and none comes again.
func TestReserve(t *testing.T) {
	t.Parallel()
	for _, source := range []policy.Source{
		{Kind: policy.KindSequence, EnsureSchema: true},
		{Kind: policy.KindSequence, EnsureSchema: true, Block: 1},
		{Kind: policy.KindSnowflake, Store: policy.StoreNone},
	} {
		t.Run(fmt.Sprint(source.Kind, source.Block), func(t *testing.T) {
			harness.Each(t, harness.ReserveEngines, func(t *testing.T, s *harness.Scratch) {
				source := source
				if source.Kind == policy.KindSnowflake {
					source.Worker = harness.NewWorker()
				}
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				ctx := context.Background()
				var used []int64
				for n := range 5 {
					first, err := m.Reserve(ctx, "t", n*50+1)
					if err != nil {
						t.Fatal(err)
					}
					for i := range n*50 + 1 {
						used = append(used, first+int64(i))
					}
					harness.Exec(t, db, s.Placeholders("INSERT INTO t (id, a) VALUES (?, 1)"), first)
					harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
				}
				keys, err := m.Keys(ctx, "t", 3)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range keys {
					used = append(used, k.(int64))
				}
				used = append(used, harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a = 2")...)
				slices.Sort(used)
				if distinct := slices.Compact(slices.Clone(used)); len(distinct) != len(used) || used[0] < 1 {
					t.Errorf("%d keys, %d of them distinct, from %d", len(used), len(distinct), used[0])
				}
				if st := m.Stats().Tables["t"]; st.Kept != 5 || st.Filled != 5 {
					t.Errorf("%+v, want 5 kept and 5 filled", st)
				}
			})
		})
	}
}

// TestReserveSnowflakeWithStore is TestReserve for snowflakes whose time is
// reserved in a store.
func TestReserveSnowflakeWithStore(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSnowflake, Worker: new(3), EnsureSchema: true, Bits: 53}, MaxBits: 53}))
		first, err := m.Reserve(context.Background(), "t", 10)
		if err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, s.Placeholders("INSERT INTO t (a) VALUES (?), (?)"), 1, 2)
		ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY a")
		if ids[0] < first+10 || ids[1] != ids[0]+1 || ids[1] >= 1<<53 {
			t.Errorf("reserved 10 from %d, filled %v", first, ids)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_workers WHERE name = 't.id' AND worker = 3 AND reserved_until > 0"); n != 1 {
			t.Errorf("%d marks in the store", n)
		}
	})
}

// TestReserveErrors: what cannot be reserved says why.
//
//deviation:keys-of-a-transaction | `m.Keys` and `m.Reserve` refuse a source whose keys belong to the INSERT's transaction. | all | – | another source
func TestReserveErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
	cfg := harness.Blocks("t", 5)
	cfg.Tables["u"] = policy.Table{Column: "id"}
	cfg.Tables["v"] = policy.Table{Column: "id", Source: policy.KindIdentity}
	cfg.Tables["tenants"] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, Name: "t{value:tenant}", EnsureSchema: true}}
	_, m := s.Open(t, cfg)
	for _, c := range []struct {
		name  string
		table string
		n     int
		want  string
	}{
		{"uuids", "u", 1, strings.TrimPrefix(keyfill.ErrNoNumbers.Error(), "keyfill: ")},
		{"identity", "v", 1, "does not fill the table"},
		{"no table", "w", 1, "does not fill the table"},
		{"none", "t", 0, "ask for 1 to 1000000"},
		{"too many", "t", 1_000_001, "ask for 1 to 1000000"},
		{"no value", "tenants", 1, `keyfill.WithValue(ctx, "tenant", …)`},
	} {
		_, err := m.Reserve(ctx, c.table, c.n)
		var e *keyfill.Error
		if !errors.As(err, &e) || e.Table != c.table || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if _, keysErr := m.Keys(ctx, c.table, c.n); c.table != "u" && fmt.Sprint(keysErr) != err.Error() {
			t.Errorf("%s: Keys: %v", c.name, keysErr)
		}
	}
	if _, err := m.Reserve(ctx, "u", 1); !errors.Is(err, keyfill.ErrNoNumbers) {
		t.Errorf("uuids: %v", err)
	}
	if keys, err := m.Keys(ctx, "u", 2); err != nil || len(keys) != 2 {
		t.Errorf("uuids: %v, %v", keys, err)
	}
}

// TestReserveNotOne: the mount of a registered name reserves where exactly one
// database is open.
func TestReserveNotOne(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	name := "reserve-" + strings.ToLower(t.Name()) + "-keyfill"
	m, err := keyfill.RegisterByName(name, "sqlite", keyfill.Options{Policy: harness.Blocks("t", 5)})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *sql.DB {
		db, err := sql.Open(name, "file:"+filepath.Join(t.TempDir(), "a.db")+"?"+harness.Patience)
		if err != nil {
			t.Fatal(err)
		}
		harness.Must(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
		return db
	}
	if _, err := m.Reserve(ctx, "t", 1); !errors.Is(err, keyfill.ErrNotOne) {
		t.Errorf("none open: %v", err)
	}
	one := open()
	defer one.Close()
	if first, err := m.Reserve(ctx, "t", 3); err != nil || first != 1 {
		t.Errorf("one open: %d, %v", first, err)
	}
	two := open()
	for _, reserve := range []func() error{
		func() error { _, err := m.Reserve(ctx, "t", 1); return err },
		func() error { _, err := m.Keys(ctx, "t", 1); return err },
	} {
		if err := reserve(); !errors.Is(err, keyfill.ErrNotOne) {
			t.Errorf("two open: %v", err)
		}
	}
	// Each has its own numbers, and its own mount.
	for db, want := range map[*sql.DB]int64{one: 4, two: 1} {
		own, err := keyfill.From(db)
		if err != nil {
			t.Fatal(err)
		}
		if first, err := own.Reserve(ctx, "t", 1); err != nil || first != want {
			t.Errorf("of one of two: %d, %v; want %d", first, err, want)
		}
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if first, err := m.Reserve(ctx, "t", 1); err != nil || first != 5 {
		t.Errorf("one left: %d, %v; want 5", first, err)
	}
}

// TestReserveText: integers that are sent as decimal text.
func TestReserveText(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id TEXT PRIMARY KEY, a INT)")
	cfg := harness.FillID("t", policy.Table{Layout: dialect.SequentialAsString,
		InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 9}})
	_, m := s.Open(t, cfg)
	keys, err := m.Keys(context.Background(), "t", 2)
	if err != nil || !slices.Equal(keys, []driver.Value{"9", "10"}) {
		t.Errorf("keys %q, %v", keys, err)
	}
	if first, err := m.Reserve(context.Background(), "t", 2); err != nil || first != 11 {
		t.Errorf("Reserve: %d, %v", first, err)
	}
}

// TestReserveClosed: a database that is closed gives nothing, and what waits
// for a key gets an error. A store that were waited for would be waited for longer than
// a test may run.
func TestReserveClosed(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.SequenceID("t")
		cfg.StoreWait = 24 * time.Hour
		db, m := s.Open(t, cfg)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Reserve(context.Background(), "t", 1_000_000); err == nil {
			t.Error("a closed database has reserved")
		}
	})
}

// countingConns is a connector that counts its connections.
type countingConns struct {
	driver.Connector
	opened atomic.Int32
}

func (c *countingConns) Connect(ctx context.Context) (driver.Conn, error) {
	c.opened.Add(1)
	return c.Connector.Connect(ctx)
}

// TestReserveConnections: stores are connected at the first key, by at most two
// connections, and make progress while the application's only one is in use.
//
//deviation:integer-keys | keyfill has the tables `keyfill_sequences`, `keyfill_workers` and `keyfill_series`, sends statements on them, and queries the catalog. | all | two connections more, from the first key on; they are closed when idle | `store:` for the tables; `ensure_schema` is off unless said
func TestReserveConnections(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		c, began := &countingConns{Connector: s.Connector}, time.Now()
		db, m := harness.OpenConnector(t, c, harness.SequenceID("t"))
		db.SetMaxOpenConns(1)
		if n := harness.Count(t, db, "SELECT COUNT(*) FROM t"); n != 0 || c.opened.Load() != 1 {
			t.Errorf("%d connections for a database that only reads", c.opened.Load())
		}
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (5, 5)")
		if c.opened.Load() != 1 {
			t.Errorf("%d connections for a row that brings its key", c.opened.Load())
		}
		ctx, cancel := context.WithTimeout(context.Background(), harness.Limit)
		defer cancel()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			if _, err := tx.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Reserve(ctx, "t", 5); err != nil {
			t.Error(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		// Beside each of the two another one is begun where it takes over three seconds.
		most := 3 + 2*int32(time.Since(began)/(3*time.Second))
		if n := c.opened.Load(); n < 2 || n > most {
			t.Errorf("%d connections, want the application's and one or two", n)
		}
	})
}

// TestReserveStoreElsewhere: the state lives in a database of its own, and what
// is reserved goes on while that is down.
func TestReserveStoreElsewhere(t *testing.T) {
	s := harness.WalFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
	central := filepath.Join(t.TempDir(), "central.db")
	t.Setenv("KEYFILL_TEST_CENTRAL", "file:"+central+"?"+harness.Patience)
	cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{
		Kind: policy.KindSequence, EnsureSchema: true, Store: "central", Start: 100, Block: 10}})
	cfg.Stores = map[string]policy.Store{"central": {Driver: "sqlite", DSNEnv: "KEYFILL_TEST_CENTRAL"}}
	db, _ := s.Open(t, cfg)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	harness.Must(t, tx, "INSERT INTO t (a) VALUES (1), (2)")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	harness.Exec(t, db, "INSERT INTO t (a) VALUES (3)")
	if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t"); !slices.Equal(got, []int64{102}) {
		t.Errorf("keys %v, want 102: what a store of its own has given stays given", got)
	}
	// The application's database knows which source fills the column, and no number.
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'keyfill%'"); n != 1 {
		t.Errorf("%d tables in the application's database, want keyfill_sequences", n)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE next_value <> 1 OR column_name <> 'id'"); n != 0 {
		t.Errorf("%d rows in the application's database that are no claim", n)
	}
	if n := harness.Count(t, openSQLite(t, central), "SELECT next_value FROM keyfill_sequences WHERE name = 't.id'"); n < 110 {
		t.Errorf("the row stands at %d", n)
	}
}

func openSQLite(t *testing.T, path string) *sql.DB {
	t.Helper()
	return harness.Open(t, "sqlite", "file:"+path+"?"+harness.Patience)
}
