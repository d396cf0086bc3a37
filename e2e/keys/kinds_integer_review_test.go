package keys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// numbers is a sequence that makes what it needs.
func numbers() *policy.Source {
	return &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
}

// TestStaleRowID: what the connection has stored last in another table may be
// the number that a statement drew and did not store.
func TestStaleRowID(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE a (id INTEGER PRIMARY KEY, n INT)")
	harness.Exec(t, s.Raw, "CREATE TABLE b (id INTEGER PRIMARY KEY, email TEXT UNIQUE, n INT)")
	cfg := &policy.Config{Tables: map[string]policy.Table{
		"a": {Column: "id", InPlace: numbers()}, "b": {Column: "id", InPlace: numbers()}}}
	db, _ := s.Open(t, cfg)
	db.SetMaxOpenConns(1)
	for _, q := range []string{
		"INSERT OR IGNORE INTO b (email) VALUES ('x')",
		"INSERT INTO b (email) VALUES ('x') ON CONFLICT (email) DO NOTHING",
		"INSERT INTO b (email) VALUES ('x') ON CONFLICT (email) DO UPDATE SET n = 1",
		"INSERT INTO b (id, email) VALUES (NULL, 'x'), ({next}, 'x') ON CONFLICT (email) DO UPDATE SET n = 1",
		"INSERT OR IGNORE INTO b (id, email) VALUES (NULL, 'x'), ({next}, 'x') RETURNING id",
	} {
		harness.Exec(t, db, "DELETE FROM b")
		res, err := db.Exec("INSERT INTO b (email) VALUES ('x')")
		if err != nil {
			t.Fatal(err)
		}
		k, _ := res.LastInsertId()
		// the next key of b is k+1: give the table a a row of that number
		harness.Exec(t, s.Raw, "DELETE FROM a")
		harness.Exec(t, db, "INSERT INTO a (id, n) VALUES (?, 1)", k+1)
		res, err = db.Exec(strings.ReplaceAll(q, "{next}", fmt.Sprint(k+1)))
		if err != nil {
			t.Fatal(err)
		}
		id, err := res.LastInsertId()
		n, _ := res.RowsAffected()
		if c := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM b WHERE id = ?", id); id != 0 && c == 0 {
			t.Errorf("%s: LastInsertId %d %v (affected %d) is not stored in b", q, id, err, n)
		}
	}
}

// TestRowsLeftOutByTheTable: constraints and triggers of SQLite leave out or
// replace rows without a word in the statement.
func TestRowsLeftOutByTheTable(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY"} {
		for _, ddl := range []string{
			"CREATE TABLE t (id " + typ + ", email TEXT UNIQUE ON CONFLICT IGNORE)",
			"CREATE TABLE t (id " + typ + ", email TEXT UNIQUE ON CONFLICT REPLACE)",
			"CREATE TABLE t (id " + typ + ", email TEXT); CREATE TRIGGER tr BEFORE INSERT ON t WHEN EXISTS (SELECT 1 FROM t WHERE email = NEW.email) BEGIN SELECT RAISE(IGNORE); END",
		} {
			s := harness.SQLiteFile.Scratch(t)
			harness.Exec(t, s.Raw, ddl)
			db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: numbers()}))
			ctx, rec := keyfill.Record(context.Background())
			res, err := db.ExecContext(ctx, "INSERT INTO t (email) VALUES ('x'), ('y'), ('x')")
			if err != nil {
				t.Fatal(err)
			}
			id, _ := res.LastInsertId()
			n, _ := res.RowsAffected()
			if c := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE id = ?", id); id != 0 && c == 0 {
				t.Errorf("%s: LastInsertId %d (affected %d) is not stored", ddl, id, n)
			}
			for _, k := range rec.All() {
				if c := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE id = ?", k.Key); k.Outcome == keyfill.Stored && c == 0 {
					t.Errorf("%s: Record says %v stored, affected %d", ddl, k, n)
				}
			}
		}
	}
}

// TestOtherNumberedColumn: where the engine numbers another column, LastInsertId
// means that one, as without keyfill.
//
//deviation:lastinsertid | LastInsertId is the number of the other column if the engine numbers one too. | MySQL, MariaDB, SQLite | `id BIGINT AUTO_INCREMENT` beside a `number` that is filled: as without keyfill | `last_insert_id: session` or `result`
func TestOtherNumberedColumn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		engine harness.Engine
		create string
	}{
		{harness.MySQLDefault, "CREATE TABLE t (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, no BIGINT NOT NULL UNIQUE, a INT)"},
		{harness.SQLiteFile, "CREATE TABLE t (id INTEGER PRIMARY KEY, no BIGINT NOT NULL UNIQUE, a INT)"},
	} {
		t.Run(tt.engine.Name, func(t *testing.T) {
			s := tt.engine.Scratch(t)
			harness.Exec(t, s.Raw, tt.create)
			harness.Exec(t, s.Raw, "INSERT INTO t VALUES (500, 7, 1)")
			db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Column: "no", InPlace: numbers()}}})
			for _, query := range []string{"INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a, no) VALUES (1, NULL)"} {
				res, err := db.Exec(query)
				if err != nil {
					t.Fatal(err)
				}
				id, err := res.LastInsertId()
				if want := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); err != nil || id != int64(want) {
					t.Errorf("%s: LastInsertId %d, %v, want %d", query, id, err, want)
				}
			}
			if got := harness.Count(t, s.Raw, "SELECT MAX(no) FROM t"); got != 9 {
				t.Errorf("the last number is %d, want 9", got)
			}
		})
	}
}

// TestStateOfOneTable: an entry without a schema is for a table in any, and each of
// them has a state of its own, whichever comes first.
func TestStateOfOneTable(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	for _, schema := range []string{"x", "y"} {
		harness.Exec(t, s.Raw, "CREATE SCHEMA "+schema)
		harness.Exec(t, s.Raw, "CREATE TABLE "+schema+".t (id BIGINT PRIMARY KEY, a INT)")
	}
	harness.Exec(t, s.Raw, "INSERT INTO y.t SELECT g, 1 FROM generate_series(1, 150) g")
	for _, order := range [][]string{{"x.t", "y.t"}, {"y.t", "x.t"}} {
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: numbers()}))
		for _, name := range order {
			if _, err := db.Exec("INSERT INTO " + name + " (a) VALUES (2)"); err != nil {
				t.Errorf("%v: %s: %v", order, name, err)
			}
		}
	}
	for name, above := range map[string]int64{"x.t": 0, "y.t": 150} {
		ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+name+" WHERE a = 2 ORDER BY id")
		if len(ids) != 2 || ids[0] != above+1 {
			t.Errorf("%s has the keys %v, want two from %d", name, ids, above+1)
		}
	}
}

// TestPartition: a partition that a glob matches beside the whole table would be
// numbered twice.
//
//deviation:integer-keys | An INSERT into a partition is refused where a policy matches it: the whole table is numbered. | PostgreSQL | `log_2026` under `log*` | `exclusive: true`
func TestPartition(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE log (id BIGINT NOT NULL, a INT, PRIMARY KEY (id, a)) PARTITION BY RANGE (a)")
	harness.Exec(t, s.Raw, "CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (10)")
	db, _ := s.Open(t, harness.FillID("log*", policy.Table{InPlace: numbers()}))
	harness.Exec(t, db, "INSERT INTO log (a) VALUES (1)")
	if _, err := db.Exec("INSERT INTO log_1 (a) VALUES (1)"); !errors.Is(err, catalog.ErrPartition) {
		t.Errorf("log_1: %v", err)
	}
}

// TestViewOverTriggers: LAST_INSERT_ID(key) is not for a view, whose table may
// have triggers that read it.
func TestViewOverTriggers(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE p (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT=7779")
	harness.Exec(t, s.Raw, "CREATE TABLE b (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	harness.Exec(t, s.Raw, "CREATE TABLE lg (pid BIGINT)")
	harness.Exec(t, s.Raw, "CREATE TRIGGER tr BEFORE INSERT ON b FOR EACH ROW INSERT INTO lg VALUES (LAST_INSERT_ID())")
	harness.Exec(t, s.Raw, "CREATE VIEW v AS SELECT * FROM b")
	for _, name := range []string{"b", "v"} {
		db, _ := s.Open(t, harness.FillID(name, policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 40, Name: "n" + name, Exclusive: true}}))
		db.SetMaxOpenConns(1)
		harness.Exec(t, s.Raw, "DELETE FROM lg")
		harness.Exec(t, s.Raw, "DELETE FROM b")
		harness.Exec(t, db, "INSERT INTO p (a) VALUES (1)")
		want := harness.Count(t, db, "SELECT LAST_INSERT_ID()")
		harness.Exec(t, db, "INSERT INTO "+name+" (a) VALUES (1)")
		if got := harness.Count(t, db, "SELECT pid FROM lg"); got != want {
			t.Errorf("%s: trigger read %d, want %d", name, got, want)
		}
	}
}

// TestNumberingWithAnIndex: the greatest number of all tenants is no measure of
// one tenant's.
func TestNumberingWithAnIndex(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE tickets (tenant TEXT, no BIGINT, a INT, UNIQUE (tenant, no))")
	harness.Exec(t, s.Raw, "CREATE INDEX ON tickets (no)")
	cfg := &policy.Config{Tables: map[string]policy.Table{"tickets": {Column: "no", InPlace: &policy.Source{
		Kind: policy.KindSequence, EnsureSchema: true, Name: "{table}.{value:tenant}", Exclusive: true, Start: 1,
	}}}}
	for round := range 2 {
		db, _ := s.Open(t, cfg)
		for _, tenant := range []string{"a", "b"} {
			_, err := db.ExecContext(keyfill.WithValue(context.Background(), "tenant", tenant), "INSERT INTO tickets (tenant, a) VALUES ($1, 1)", tenant)
			if err != nil {
				t.Errorf("round %d tenant %s: %v", round, tenant, err)
			}
		}
		db.Close()
	}
}
