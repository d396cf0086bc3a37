package e2e_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// kindEngines are one for each driver, and SQLite in memory.
var kindEngines = []engine{sqliteFile, sqliteMemory, mysqlDefault, pgxDefault, pqDefault}

// keyKind is a source with a state, and a column for its keys.
type keyKind struct {
	name   string
	source policy.Source
	column string // its type; "" is BIGINT
	before string // what has to be there
	bits   int

	contiguous bool
	servers    bool // not on SQLite
	files      bool // not in memory
	mariadb    bool // there only
}

// mapped is a source that makes what it needs.
func mapped(kind string, change func(*policy.Source)) policy.Source {
	s := policy.Source{Kind: kind, EnsureSchema: true}
	if change != nil {
		change(&s)
	}
	return s
}

// asciiBin is a column for keys of both cases.
func (e engine) asciiBin(length int) string {
	if e.dialect.Name == "mariadb" {
		return fmt.Sprintf("VARCHAR(%d) CHARACTER SET ascii COLLATE ascii_bin", length)
	}
	return fmt.Sprintf("VARCHAR(%d)", length)
}

func keyKinds(e engine) []keyKind {
	optimistic := func(s *policy.Source) { s.Lock = policy.LockOptimistic }
	all := []keyKind{
		{name: "pseudorandom", source: mapped(policy.KindPseudorandom, nil), column: "INT"},
		{name: "pseudorandom-optimistic", source: mapped(policy.KindPseudorandom, optimistic)},
		{name: "pseudorandom-one", source: mapped(policy.KindPseudorandom, func(s *policy.Source) { s.Block = 1 })},
		{name: "scatter", source: mapped(policy.KindScatter, nil)},
		{name: "scatter-31", source: mapped(policy.KindScatter, func(s *policy.Source) { s.Key = "k" }), column: "INT", bits: 31},
		{name: "coprime", source: mapped(policy.KindCoprime, func(s *policy.Source) { s.Length = 6 }), column: "VARCHAR(6)"},
		{name: "coprime-both", source: mapped(policy.KindCoprime, func(s *policy.Source) {
			s.Length, s.Alphabet, s.Collation, s.Start = 3, policy.AlphabetBase62, policy.CollationBinary, 17
		}), column: e.asciiBin(3)},
		{name: "composite", source: mapped(policy.KindComposite, func(s *policy.Source) { s.Worker = newWorker() }), column: "CHAR(20)"},
		{name: "composite-24", source: mapped(policy.KindComposite, func(s *policy.Source) { s.Worker, s.Length = newWorker(), 24 }), column: "CHAR(24)"},
		{name: "composite-leased", source: mapped(policy.KindComposite, func(s *policy.Source) { s.WorkerLease = 30 * time.Second }), column: "CHAR(20)", servers: true},
		{name: "snowflake-leased", source: mapped(policy.KindSnowflake, func(s *policy.Source) { s.WorkerLease = 30 * time.Second }), contiguous: true, servers: true},
		{name: "recycled", source: mapped(policy.KindRecycled, nil), contiguous: true},
		{name: "recycled-short", source: mapped(policy.KindRecycled, func(s *policy.Source) { s.Series = 120 }), contiguous: true},
		{name: "sequence-optimistic", source: mapped(policy.KindSequence, optimistic), contiguous: true},
		{name: "sequence-procedure", source: mapped(policy.KindSequence, func(s *policy.Source) { s.Via = policy.ViaProcedure }), contiguous: true, servers: true},
		{name: "native", source: policy.Source{Kind: policy.KindNative, Sequence: "numbers", Block: 50},
			before: "CREATE SEQUENCE numbers INCREMENT BY 50", contiguous: true, servers: true},
		{name: "native-own", source: policy.Source{Kind: policy.KindNative}, column: e.drawing("numbers"),
			before: "CREATE SEQUENCE numbers", contiguous: true, servers: true},
	}
	for _, stored := range []string{policy.StoredNext, policy.StoredLast} {
		all = append(all, keyKind{name: "table-" + stored, contiguous: true,
			before: "CREATE TABLE serials (tableName VARCHAR(20) NOT NULL PRIMARY KEY, serial BIGINT NOT NULL);INSERT INTO serials VALUES ('things', 41)",
			source: policy.Source{Kind: policy.KindSequence, Table: &policy.KeyTable{
				Name: "serials", Key: "tableName", Row: "things", Value: "serial", Stored: stored}}})
	}
	all = append(all, keyKind{name: "table-coprime", column: e.asciiBin(6),
		before: "CREATE TABLE last_key (value BIGINT NOT NULL);INSERT INTO last_key VALUES (0)",
		source: policy.Source{Kind: policy.KindCoprime, Length: 6, Alphabet: policy.AlphabetBase62, Collation: policy.CollationBinary,
			K: 202_652_143_553, Table: &policy.KeyTable{Name: "last_key", Value: "value", Stored: policy.StoredLast}}})
	return slices.DeleteFunc(all, func(k keyKind) bool {
		return k.servers && e.server == nil || k.files && e.memory || k.mariadb && e.dialect.Name != "mariadb"
	})
}

// config is the policy for a table whose id comes from the source.
func (k keyKind) config(e engine) *policy.Config {
	cfg := fillID("t", policy.Table{InPlace: &k.source, MaxBits: k.bits})
	cfg.Dialect = e.dialect.Name
	return cfg
}

// create makes the table, and what the source needs.
func (k keyKind) create(t *testing.T, s *scratch) {
	t.Helper()
	for query := range strings.SplitSeq(k.before, ";") {
		if query != "" {
			exec(t, s.raw, query)
		}
	}
	column := k.column
	if column == "" {
		column = "BIGINT"
	}
	exec(t, s.raw, "CREATE TABLE t (id "+column+" NOT NULL PRIMARY KEY, a INT)")
}

// eachKind runs a test for each kind on each engine.
func eachKind(t *testing.T, engines []engine, f func(t *testing.T, s *scratch, k keyKind)) {
	for _, e := range engines {
		for _, k := range keyKinds(e) {
			t.Run(e.name+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				s := e.scratch(t)
				k.create(t, s)
				f(t, s, k)
			})
		}
	}
}

// keysOf returns the first column of a query's rows as text.
func keysOf(t *testing.T, q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, ctx context.Context, query string, args ...any) []string {
	t.Helper()
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// manyRows returns an INSERT of n rows with the values from a on.
func (s *scratch) manyRows(a, n int) (string, []any) {
	var args []any
	for i := range n {
		args = append(args, a+i)
	}
	return s.placeholders("INSERT INTO t (a) VALUES (?)" + strings.Repeat(", (?)", n-1)), args
}

// TestKinds: keys of every kind, through Exec, Query with RETURNING, prepared
// statements and transactions, of one row and many, are stored as recorded, and
// never twice.
func TestKinds(t *testing.T) {
	eachKind(t, kindEngines, func(t *testing.T, s *scratch, k keyKind) {
		db, m := s.open(t, k.config(s.engine))
		ctx, rec := keyfill.Record(context.Background())
		a := 0
		insert := func(r runner, n int) {
			t.Helper()
			query, args := s.manyRows(a, n)
			a += n
			if _, err := r.ExecContext(ctx, query, args...); err != nil {
				t.Fatal(err)
			}
		}
		insert(db, 1)
		insert(db, 100)
		exec(t, db, fmt.Sprintf("INSERT INTO t (a) VALUES (%d)", a)) // without a record
		a++
		query, args := s.manyRows(a, 3)
		a += 3
		returned := keysOf(t, db, ctx, query+" RETURNING id", args...)
		stmt, err := db.PrepareContext(ctx, s.placeholders("INSERT INTO t (a) VALUES (?)"))
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		for range 5 {
			if _, err := stmt.ExecContext(ctx, a); err != nil {
				t.Fatal(err)
			}
			a++
		}
		lost := 0
		for _, commits := range []bool{true, false} {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			insert(tx, 1)
			insert(tx, 100)
			if commits {
				err = tx.Commit()
			} else {
				err, lost = tx.Rollback(), 101
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		insert(db, 2)
		stored := keysOf(t, s.raw, ctx, "SELECT id FROM t ORDER BY a")
		recorded := recordedTexts(t, rec)
		want := slices.Concat(recorded[:101], stored[101:102], recorded[101:])
		want = slices.Delete(want, len(want)-2-lost, len(want)-2)
		if !slices.Equal(stored, want) {
			t.Errorf("stored\n%v\nrecorded\n%v", stored, want)
		}
		if !slices.Equal(returned, stored[102:105]) {
			t.Errorf("returned %v, stored %v", returned, stored[102:105])
		}
		if s.server == nil {
			recorded = stored // there a rollback gives back what was drawn in it
		}
		checkUnique(t, recorded)
		if s.memory {
			return
		}
		keys, err := m.Keys(context.Background(), "t", 20)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			stored = append(stored, fmt.Sprint(key))
		}
		checkUnique(t, stored)
		_, err = m.Reserve(context.Background(), "t", 7)
		if k.contiguous && err != nil || !k.contiguous && !errors.Is(err, keyfill.ErrNoNumbers) {
			t.Errorf("Reserve: %v", err)
		}
	})
}

// recordedTexts returns the keys of a record, which are known to be stored, or
// come from rows that were not read.
func recordedTexts(t *testing.T, rec *keyfill.Recorder) []string {
	t.Helper()
	var texts []string
	for _, key := range rec.Keys("t") {
		if key.Outcome != keyfill.Stored {
			t.Errorf("key of row %d is %v", key.Row, key.Outcome)
		}
		texts = append(texts, fmt.Sprint(key.Key))
	}
	return texts
}

// checkUnique fails the test where a key is there twice.
func checkUnique(t *testing.T, keys []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, key := range keys {
		if seen[key] {
			t.Errorf("%s twice", key)
		}
		seen[key] = true
	}
}

// TestKindsAgain: a process that comes later never repeats a key, and neither
// does one that is there at the same time.
func TestKindsAgain(t *testing.T) {
	eachKind(t, []engine{sqliteFile, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch, k keyKind) {
		worker := k.source.Worker
		for range 3 {
			if worker != nil {
				k.source.Worker = newWorker()
			}
			one, _ := s.open(t, k.config(s.engine))
			if worker != nil {
				k.source.Worker = newWorker()
			}
			other, _ := s.open(t, k.config(s.engine))
			for n := range 3 {
				for _, db := range []*sql.DB{one, other} {
					query, args := s.manyRows(0, 10*n+1)
					exec(t, db, query, args...) // the primary key sees what comes twice
				}
			}
			if err := one.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestKindsLastInsertID: LastInsertId gives the key of one row. Of several that
// do not follow each other it gives none, since who is given one takes the
// others to be beside it.
func TestKindsLastInsertID(t *testing.T) {
	eachKind(t, []engine{sqliteFile, mysqlDefault}, func(t *testing.T, s *scratch, k keyKind) {
		if strings.Contains(k.column, "CHAR") {
			return // no integers
		}
		db, _ := s.open(t, k.config(s.engine))
		for a, n := range []int{1, 3} {
			query, args := s.manyRows(10*a, n)
			res, err := db.Exec(query, args...)
			if err != nil {
				t.Fatal(err)
			}
			id, err := res.LastInsertId()
			if err != nil {
				t.Fatal(err)
			}
			at := 10 * a
			if s.server == nil {
				at += n - 1
			}
			want := countInt(t, s.raw, s.placeholders("SELECT id FROM t WHERE a = ?"), at)
			if n > 1 && !k.contiguous {
				want = 0
			}
			if id != want {
				t.Errorf("%d rows: LastInsertId = %d, want %d", n, id, want)
			}
		}
	})
}
