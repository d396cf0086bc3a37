package keys_test

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
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// kindEngines are one for each driver, and SQLite in memory.
var kindEngines = []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}

// asciiBin is a column for keys of both cases.
func asciiBin(e harness.Engine, length int) string {
	if e.Dialect.Name == "mariadb" {
		return fmt.Sprintf("VARCHAR(%d) CHARACTER SET ascii COLLATE ascii_bin", length)
	}
	return fmt.Sprintf("VARCHAR(%d)", length)
}

func keyKinds(e harness.Engine) []harness.KeyKind {
	optimistic := func(s *policy.Source) { s.Lock = policy.LockOptimistic }
	all := []harness.KeyKind{
		{Name: "pseudorandom", Source: harness.Mapped(policy.KindPseudorandom, nil), Column: "INT"},
		{Name: "pseudorandom-optimistic", Source: harness.Mapped(policy.KindPseudorandom, optimistic)},
		{Name: "pseudorandom-one", Source: harness.Mapped(policy.KindPseudorandom, func(s *policy.Source) { s.Block = 1 })},
		{Name: "scatter", Source: harness.Mapped(policy.KindScatter, nil)},
		{Name: "scatter-31", Source: harness.Mapped(policy.KindScatter, func(s *policy.Source) { s.Key = "k" }), Column: "INT", Bits: 31},
		{Name: "coprime", Source: harness.Mapped(policy.KindCoprime, func(s *policy.Source) { s.Length = 6 }), Column: "VARCHAR(6)"},
		{Name: "coprime-both", Source: harness.Mapped(policy.KindCoprime, func(s *policy.Source) {
			s.Length, s.Alphabet, s.Collation, s.Start = 3, policy.AlphabetBase62, policy.CollationBinary, 17
		}), Column: asciiBin(e, 3)},
		{Name: "composite", Source: harness.Mapped(policy.KindComposite, func(s *policy.Source) { s.Worker = harness.NewWorker() }), Column: "CHAR(20)"},
		{Name: "composite-24", Source: harness.Mapped(policy.KindComposite, func(s *policy.Source) { s.Worker, s.Length = harness.NewWorker(), 24 }), Column: "CHAR(24)"},
		{Name: "composite-leased", Source: harness.Mapped(policy.KindComposite, func(s *policy.Source) { s.WorkerLease = 30 * time.Second }), Column: "CHAR(20)", Servers: true},
		{Name: "snowflake-leased", Source: harness.Mapped(policy.KindSnowflake, func(s *policy.Source) { s.WorkerLease = 30 * time.Second }), Contiguous: true, Servers: true},
		{Name: "recycled", Source: harness.Mapped(policy.KindRecycled, nil), Contiguous: true},
		{Name: "recycled-short", Source: harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Series = 120 }), Contiguous: true},
		{Name: "sequence-optimistic", Source: harness.Mapped(policy.KindSequence, optimistic), Contiguous: true},
		{Name: "sequence-procedure", Source: harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Via = policy.ViaProcedure }), Contiguous: true, Servers: true},
		{Name: "native", Source: policy.Source{Kind: policy.KindNative, Sequence: "numbers", Block: 50},
			Before: "CREATE SEQUENCE numbers INCREMENT BY 50", Contiguous: true, Servers: true},
		{Name: "native-own", Source: policy.Source{Kind: policy.KindNative}, Column: e.Drawing("numbers"),
			Before: "CREATE SEQUENCE numbers", Contiguous: true, Servers: true},
	}
	for _, stored := range []string{policy.StoredNext, policy.StoredLast} {
		all = append(all, harness.KeyKind{Name: "table-" + stored, Contiguous: true,
			Before: "CREATE TABLE serials (tableName VARCHAR(20) NOT NULL PRIMARY KEY, serial BIGINT NOT NULL);INSERT INTO serials VALUES ('things', 41)",
			Source: policy.Source{Kind: policy.KindSequence, Table: &policy.KeyTable{
				Name: "serials", Key: "tableName", Row: "things", Value: "serial", Stored: stored}}})
	}
	all = append(all, harness.KeyKind{Name: "table-coprime", Column: asciiBin(e, 6),
		Before: "CREATE TABLE last_key (value BIGINT NOT NULL);INSERT INTO last_key VALUES (0)",
		Source: policy.Source{Kind: policy.KindCoprime, Length: 6, Alphabet: policy.AlphabetBase62, Collation: policy.CollationBinary,
			K: 202_652_143_553, Table: &policy.KeyTable{Name: "last_key", Value: "value", Stored: policy.StoredLast}}})
	return slices.DeleteFunc(all, func(k harness.KeyKind) bool {
		return k.Servers && e.Server == nil || k.Files && e.Memory || k.MariaDB && e.Dialect.Name != "mariadb"
	})
}

// eachKind runs a test for each kind on each engine.
func eachKind(t *testing.T, engines []harness.Engine, f func(t *testing.T, s *harness.Scratch, k harness.KeyKind)) {
	for _, e := range harness.ByTurns(t, engines) {
		for _, k := range keyKinds(e) {
			t.Run(e.Name+"/"+k.Name, func(t *testing.T) {
				t.Parallel()
				s := e.Scratch(t)
				k.Create(t, s)
				f(t, s, k)
			})
		}
	}
}

// manyRows returns an INSERT of n rows with the values from a on.
func manyRows(s *harness.Scratch, a, n int) (string, []any) {
	var args []any
	for i := range n {
		args = append(args, a+i)
	}
	return s.Placeholders("INSERT INTO t (a) VALUES (?)" + strings.Repeat(", (?)", n-1)), args
}

// TestKinds: keys of every kind, through Exec, Query with RETURNING, prepared
// statements and transactions, of one row and many, are stored as recorded, and
// never twice.
func TestKinds(t *testing.T) {
	t.Parallel()
	eachKind(t, kindEngines, func(t *testing.T, s *harness.Scratch, k harness.KeyKind) {
		db, m := s.Open(t, k.Config(s.Engine))
		ctx, rec := keyfill.Record(context.Background())
		a := 0
		insert := func(r harness.Runner, n int) {
			t.Helper()
			query, args := manyRows(s, a, n)
			a += n
			if _, err := r.ExecContext(ctx, query, args...); err != nil {
				t.Fatal(err)
			}
		}
		insert(db, 1)
		insert(db, 100)
		harness.Exec(t, db, fmt.Sprintf("INSERT INTO t (a) VALUES (%d)", a)) // without a record
		a++
		query, args := manyRows(s, a, 3)
		a += 3
		returned := harness.KeysOf(t, db, ctx, query+" RETURNING id", args...)
		stmt, err := db.PrepareContext(ctx, s.Placeholders("INSERT INTO t (a) VALUES (?)"))
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
		stored := harness.KeysOf(t, s.Raw, ctx, "SELECT id FROM t ORDER BY a")
		recorded := recordedTexts(t, rec)
		want := slices.Concat(recorded[:101], stored[101:102], recorded[101:])
		want = slices.Delete(want, len(want)-2-lost, len(want)-2)
		if !slices.Equal(stored, want) {
			t.Errorf("stored\n%v\nrecorded\n%v", stored, want)
		}
		if !slices.Equal(returned, stored[102:105]) {
			t.Errorf("returned %v, stored %v", returned, stored[102:105])
		}
		if s.Server == nil {
			recorded = stored // there a rollback gives back what was drawn in it
		}
		checkUnique(t, recorded)
		if s.Memory {
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
		if k.Contiguous && err != nil || !k.Contiguous && !errors.Is(err, keyfill.ErrNoNumbers) {
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
	t.Parallel()
	eachKind(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch, k harness.KeyKind) {
		worker := k.Source.Worker
		for range 3 {
			if worker != nil {
				k.Source.Worker = harness.NewWorker()
			}
			one, _ := s.Open(t, k.Config(s.Engine))
			if worker != nil {
				k.Source.Worker = harness.NewWorker()
			}
			other, _ := s.Open(t, k.Config(s.Engine))
			for n := range 3 {
				for _, db := range []*sql.DB{one, other} {
					query, args := manyRows(s, 0, 10*n+1)
					harness.Exec(t, db, query, args...) // the primary key sees what comes twice
				}
			}
			if err := one.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestKindsLastInsertID: LastInsertId gives the key of one row. Of several that do not
// follow each other it gives none, since a caller that gets one expects the others next
// to it.
func TestKindsLastInsertID(t *testing.T) {
	t.Parallel()
	eachKind(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch, k harness.KeyKind) {
		if strings.Contains(k.Column, "CHAR") {
			return // no integers
		}
		db, _ := s.Open(t, k.Config(s.Engine))
		for a, n := range []int{1, 3} {
			query, args := manyRows(s, 10*a, n)
			res, err := db.Exec(query, args...)
			if err != nil {
				t.Fatal(err)
			}
			id, err := res.LastInsertId()
			if err != nil {
				t.Fatal(err)
			}
			at := 10 * a
			if s.Server == nil {
				at += n - 1
			}
			want := harness.CountInt(t, s.Raw, s.Placeholders("SELECT id FROM t WHERE a = ?"), at)
			if n > 1 && !k.Contiguous {
				want = 0
			}
			if id != want {
				t.Errorf("%d rows: LastInsertId = %d, want %d", n, id, want)
			}
		}
	})
}
