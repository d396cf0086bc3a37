package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// flake is the policy for a table whose id is a snowflake without a store.
func flake(worker *int, change func(*policy.Source)) *policy.Config {
	s := &policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: worker}
	if change != nil {
		change(s)
	}
	return harness.FillID("t", policy.Table{InPlace: s})
}

// TestSnowflakeShared: the databases of one registration have one generator for
// a worker's number, so that their keys ascend together.
func TestSnowflakeShared(t *testing.T) {
	t.Parallel()
	name := "snowflake-shared-keyfill"
	worker := harness.NewWorker()
	if _, err := keyfill.RegisterByName(name, "sqlite", keyfill.Options{Policy: flake(worker, nil)}); err != nil {
		t.Fatal(err)
	}
	var dbs []*sql.DB
	for i := range 2 {
		db, err := sql.Open(name, "file:"+filepath.Join(t.TempDir(), fmt.Sprint(i))+"?"+harness.Patience)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		harness.Exec(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
		dbs = append(dbs, db)
	}
	ctx, rec := keyfill.Record(context.Background())
	for i := range 10 {
		if _, err := dbs[i%2].ExecContext(ctx, "INSERT INTO t (a) VALUES (1), (2)"); err != nil {
			t.Fatal(err)
		}
	}
	var keys []int64
	for _, k := range rec.All() {
		keys = append(keys, k.Key.(int64))
	}
	if distinct := slices.Compact(slices.Clone(keys)); !slices.IsSorted(keys) || len(distinct) != 20 {
		t.Errorf("keys %v of both databases, want 20 that ascend", keys)
	}
	for i := 0; i < len(keys); i += 2 {
		if keys[i+1] != keys[i]+1 || int(keys[i]>>12&1023) != *worker {
			t.Errorf("a statement has %d and %d, want consecutive ones of worker %d", keys[i], keys[i+1], *worker)
		}
	}
}

// TestSnowflakeTooMany: all keys of a statement are consecutive, so that there
// is a limit to them.
//
//deviation:integer-keys | An INSERT gets at most 4096 snowflakes, as many as the count in a snowflake distinguishes. | all | 5,000 rows in one INSERT | `sequence_bits:`
func TestSnowflakeTooMany(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
	db, m := s.Open(t, flake(harness.NewWorker(), nil))
	rows := func(n int) string { return "INSERT INTO t (a) VALUES (1)" + strings.Repeat(", (1)", n-1) }
	harness.Exec(t, db, rows(4096))
	var e *keyfill.Error
	if _, err := db.Exec(rows(4097)); !errors.Is(err, keysource.ErrTooMany) || !errors.As(err, &e) || e.Table != "t" {
		t.Errorf("4097 rows: %v, want ErrTooMany", err)
	}
	if _, err := m.Reserve(context.Background(), "t", 4097); !errors.Is(err, keysource.ErrTooMany) {
		t.Errorf("4097 at once: %v, want ErrTooMany", err)
	}
	keys := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
	if len(keys) != 4096 || keys[4095] != keys[0]+4095 {
		t.Errorf("%d keys from %d to %d", len(keys), keys[0], keys[len(keys)-1])
	}
}

// TestSnowflakeAbove: without a store, keys begin above the worker's keys in the table;
// one far ahead of the clock is an error, unless the policy says that it is another
// program's.
func TestSnowflakeAbove(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		epoch := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		at := func(d time.Duration, worker int) int64 {
			return time.Since(epoch).Milliseconds()<<22 + d.Milliseconds()<<22 | int64(worker)<<12
		}
		near, far := harness.NewWorker(), harness.NewWorker()
		ahead := at(500*time.Millisecond, *near)
		harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO t VALUES (%d, 0)", ahead))
		db, _ := s.Open(t, flake(near, nil))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a = 1"); got[0] <= ahead {
			t.Errorf("the key is %d, and %d is in the table", got[0], ahead)
		}
		harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO t VALUES (%d, 0)", at(time.Hour, *far)))
		db, _ = s.Open(t, flake(far, nil))
		var e *keyfill.Error
		if _, err := db.Exec("INSERT INTO t (a) VALUES (2)"); !errors.As(err, &e) || !strings.Contains(err.Error(), "on_behind: warn") {
			t.Errorf("a key an hour ahead: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db, _ = s.Open(t, flake(far, func(s *policy.Source) { s.OnBehind = keysource.RemedyWarn }))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
	})
}

// TestSnowflakeAgain: what a closed database has issued does not come again from
// the next one with its number, with a store and without.
//
//deviation:integer-keys | A snowflake without a store waits some seconds for its first key. | all | the first INSERT of a process | a store
func TestSnowflakeAgain(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		stores := []string{policy.StoreNone}
		if !s.Dialect.OneWriter {
			stores = append(stores, "")
		}
		for _, store := range stores {
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t")
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			worker := harness.NewWorker()
			for i := range 3 {
				db, _ := s.Open(t, flake(worker, func(s *policy.Source) { s.Store, s.EnsureSchema = store, store == "" }))
				harness.Exec(t, db, fmt.Sprintf("INSERT INTO t (a) VALUES (%d), (%[1]d)", i))
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			byTime := harness.IntegersOf(t, s.Raw, "SELECT a FROM t ORDER BY id")
			if !slices.Equal(byTime, []int64{0, 0, 1, 1, 2, 2}) {
				t.Errorf("store %q: in the order of the keys the databases are %v", store, byTime)
			}
		}
	})
}
