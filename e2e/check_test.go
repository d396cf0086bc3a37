package e2e_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// checkCase is a table that cannot take the keys that the policy has for it, and
// what mends that.
type checkCase struct {
	name    string
	columns map[string]string // what stands in CREATE TABLE, by dialect
	rule    policy.Table
	want    error
	mend    map[string]string // a statement; none where the policy has to change
}

var checkCases = []checkCase{
	{name: "no such column",
		columns: columnTypes("no BIGINT PRIMARY KEY, a INT", "no BIGINT PRIMARY KEY, a INT", "no INTEGER PRIMARY KEY, a INT"),
		want:    catalog.ErrNoColumn,
		mend: columnTypes("ALTER TABLE bad RENAME COLUMN no TO id", "ALTER TABLE bad RENAME COLUMN no TO id",
			"ALTER TABLE bad RENAME COLUMN no TO id")},
	{name: "generated",
		columns: columnTypes("id BIGINT GENERATED ALWAYS AS (a) STORED, a INT", "id BIGINT AS (a) STORED, a INT", "id BIGINT AS (a) STORED, a INT"),
		want:    catalog.ErrGenerated},
	{name: "text",
		columns: columnTypes("id TEXT PRIMARY KEY, a INT", "id VARCHAR(30) PRIMARY KEY, a INT", "id TEXT PRIMARY KEY, a INT"),
		want:    catalog.ErrType},
	{name: "too short for text",
		columns: map[string]string{"postgres": "id VARCHAR(9) PRIMARY KEY, a INT", "mariadb": "id VARCHAR(9) PRIMARY KEY, a INT"},
		rule:    policy.Table{Layout: dialect.SequentialAsString},
		want:    catalog.ErrType,
		mend: map[string]string{"postgres": "ALTER TABLE bad ALTER COLUMN id TYPE VARCHAR(19)",
			"mariadb": "ALTER TABLE bad MODIFY id VARCHAR(19)"}},
	{name: "narrow",
		columns: map[string]string{"postgres": "id INT PRIMARY KEY, a INT", "mariadb": "id INT PRIMARY KEY, a INT"},
		want:    catalog.ErrNarrow,
		mend: map[string]string{"postgres": "ALTER TABLE bad ALTER COLUMN id TYPE BIGINT",
			"mariadb": "ALTER TABLE bad MODIFY id BIGINT"}},
	{name: "live",
		columns: columnTypes("id BIGSERIAL PRIMARY KEY, a INT", "id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT", "id INTEGER PRIMARY KEY AUTOINCREMENT, a INT"),
		want:    catalog.ErrLive,
		mend: map[string]string{"postgres": "ALTER TABLE bad ALTER COLUMN id DROP DEFAULT",
			"mariadb": "ALTER TABLE bad MODIFY id BIGINT NOT NULL"}},
	{name: "identity always",
		columns: map[string]string{"postgres": "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a INT"},
		want:    catalog.ErrIdentityAlways,
		mend:    map[string]string{"postgres": "ALTER TABLE bad ALTER COLUMN id DROP IDENTITY"}},
}

// TestCheck: a table that cannot take its keys is an error of the caller before
// anything is sent; others go on; a moment later it is looked at again.
func TestCheck(t *testing.T) {
	for _, e := range []engine{sqliteFile, mysqlDefault, mysqlInterp, pgxDefault, pqDefault} {
		for _, c := range checkCases {
			if columns, ok := c.columns[e.dialect.Name]; ok {
				t.Run(e.name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					e.scratch(t).testCheck(t, c, columns)
				})
			}
		}
	}
}

func (s *scratch) testCheck(t *testing.T, c checkCase, columns string) {
	exec(t, s.raw, "CREATE TABLE bad ("+columns+")")
	exec(t, s.raw, "CREATE TABLE good (id BIGINT PRIMARY KEY, a INT)")
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}
	c.rule.Column, c.rule.InPlace = "id", &source
	cfg := &policy.Config{Dialect: s.dialect.Name, Tables: map[string]policy.Table{
		"bad": c.rule, "good": {Column: "id", InPlace: &source},
	}}
	var below spy
	db, m := openConnector(t, wrapSqlmw(t, s.connector, &below), cfg)
	insert := s.placeholders("INSERT INTO %s (a) VALUES (?)")
	bad := fmt.Sprintf(insert, "bad")

	check := func(err error) {
		t.Helper()
		var e *keyfill.Error
		if !errors.As(err, &e) || e.Table != "bad" || e.Column != "id" || !errors.Is(err, c.want) {
			t.Fatalf("the error is %v (%[1]T), want %v in a *keyfill.Error", err, c.want)
		}
	}
	_, err := db.Exec(bad, 1)
	check(err)
	_, err = db.Exec("INSERT INTO bad (a) VALUES (1)")
	check(err)
	_, err = preparedExec(db, bad, 1)
	check(err)
	check(drainContext(context.Background(), db, bad+" RETURNING a", 1))
	_, err = m.Keys(context.Background(), "bad", 1)
	check(err)
	for _, q := range below.take() {
		if strings.HasPrefix(q, "INSERT INTO bad") {
			t.Errorf("it was sent: %s", q)
		}
	}
	if _, err := db.Exec(fmt.Sprintf(insert, "good"), 1); err != nil {
		t.Errorf("the other table: %v", err)
	}
	mend := c.mend[s.dialect.Name]
	if mend == "" {
		return
	}
	exec(t, s.raw, mend)
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		_, err := db.Exec(bad, 1)
		if err == nil {
			break
		}
		check(err)
		if time.Since(began) > 5*time.Second {
			t.Fatalf("mended for 5 seconds: %v", err)
		}
	}
	if n := count(t, s.raw, "SELECT COUNT(*) FROM bad"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// TestCheckPasses: what the policy says about a table makes it fit.
func TestCheckPasses(t *testing.T) {
	sequence := func(change func(*policy.Source)) *policy.Source {
		s := &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
		if change != nil {
			change(s)
		}
		return s
	}
	for _, c := range []struct {
		name    string
		columns map[string]string
		rule    policy.Table
		want    string // the key as text
	}{
		{"exclusive",
			columnTypes("id BIGSERIAL PRIMARY KEY, a INT", "id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT", "id INTEGER PRIMARY KEY AUTOINCREMENT, a INT"),
			policy.Table{InPlace: sequence(func(s *policy.Source) { s.Exclusive = true })}, "1"},
		{"31 bits",
			columnTypes("id INT PRIMARY KEY, a INT", "id INT PRIMARY KEY, a INT", "id INT PRIMARY KEY, a INT"),
			policy.Table{MaxBits: 31, InPlace: sequence(nil)}, "1"},
		{"53 bits",
			columnTypes("id BIGINT PRIMARY KEY, a INT", "id BIGINT UNSIGNED PRIMARY KEY, a INT", "id INTEGER PRIMARY KEY, a INT"),
			policy.Table{MaxBits: 53, InPlace: sequence(nil)}, "1"},
		{"text",
			columnTypes("id TEXT PRIMARY KEY, a INT", "id VARCHAR(19) PRIMARY KEY, a INT", "id TEXT PRIMARY KEY, a INT"),
			policy.Table{Layout: dialect.SequentialAsString, InPlace: sequence(func(s *policy.Source) { s.Start = 12 })}, "12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, []engine{sqliteFile, mysqlDefault, mysqlInterp, pgxDefault, pgxSimple, pqDefault, pqBinary}, func(t *testing.T, s *scratch) {
				exec(t, s.raw, "CREATE TABLE t ("+c.columns[s.dialect.Name]+")")
				db, _ := s.open(t, fillID("t", c.rule))
				exec(t, db, s.placeholders("INSERT INTO t (a) VALUES (?)"), 1)
				exec(t, db, "INSERT INTO t (a) VALUES (2)")
				if got := text(t, s.raw, "SELECT id FROM t WHERE a = 1"); got != c.want {
					t.Errorf("the key is %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestCheckCOMB: MariaDB's uuid type refuses a quarter of all COMBs and stores
// others out of order; UUIDs of version 7 are right there.
func TestCheckCOMB(t *testing.T) {
	each(t, mysqlEngines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id UUID NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.open(t, fillID("t", policy.Table{Source: policy.KindCOMB}))
		var e *keyfill.Error
		if _, err := db.Exec("INSERT INTO t (a) VALUES (?)", 1); !errors.Is(err, catalog.ErrCOMB) || !errors.As(err, &e) {
			t.Errorf("a COMB: %v, want ErrCOMB", err)
		}
		if n := count(t, s.raw, "SELECT COUNT(*) FROM t"); n != 0 {
			t.Errorf("%d rows are stored", n)
		}
		db, _ = s.open(t, fillID("t", policy.Table{Source: policy.KindUUIDv7}))
		exec(t, db, "INSERT INTO t (a) VALUES (?)", 1)
	})
}

// TestCheckView: a view has columns of a type and no index: it is filled where
// nothing else fills its table and the start is given.
func TestCheckView(t *testing.T) {
	each(t, []engine{mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE base (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		exec(t, s.raw, "CREATE VIEW v AS SELECT id, a FROM base")
		db, _ := s.open(t, fillID("v", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
		if _, err := db.Exec("INSERT INTO v (a) VALUES (1)"); err == nil || !strings.Contains(err.Error(), "give a start") {
			t.Errorf("without a start: %v", err)
		}
		db, _ = s.open(t, fillID("v", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 5, Exclusive: true}}))
		exec(t, db, "INSERT INTO v (a) VALUES (1)")
		if got := count(t, s.raw, "SELECT id FROM base"); got != 5 {
			t.Errorf("the key is %d, want 5", got)
		}
	})
}

// TestCheckTemporary: a table that the catalog does not show keeps its engine's
// answer for keys without a state; a sequence needs its row.
func TestCheckTemporary(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		cfg := fillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}})
		cfg.Tables["u"] = policy.Table{Column: "id"}
		db, _ := s.open(t, cfg)
		c := connOf(t, db)
		unseen(t, c, "CREATE TEMPORARY TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)",
			"CREATE TEMPORARY TABLE u (id VARCHAR(36) NOT NULL PRIMARY KEY, a INT)")
		must(t, c, "INSERT INTO u (a) VALUES (1)")
		_, err := c.ExecContext(context.Background(), "INSERT INTO t (a) VALUES (1)")
		if s.dialect.OneWriter {
			if err != nil { // its catalog shows it
				t.Fatal(err)
			}
			return
		}
		var e *keyfill.Error
		if !errors.Is(err, catalog.ErrNoTable) || !errors.As(err, &e) || !strings.Contains(err.Error(), "INSERT INTO keyfill_sequences") {
			t.Errorf("without a row: %v", err)
		}
		exec(t, s.raw, "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('t.id', 7, 't', 'id', '', 'x', CURRENT_TIMESTAMP)")
		must(t, c, "INSERT INTO t (a) VALUES (1)")
		var id int
		if err := c.QueryRowContext(context.Background(), "SELECT id FROM t").Scan(&id); err != nil || id != 7 {
			t.Errorf("the key is %d, %v; want 7", id, err)
		}
	})
}

// TestCheckCreatedLater: an INSERT into a table that is not there is an error
// that says so; when it is there, its keys begin above those in it.
func TestCheckCreatedLater(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		for _, source := range []policy.Source{
			{Kind: policy.KindSequence, EnsureSchema: true},
			{Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: new(int(time.Now().UnixNano()>>10) % 1000)},
		} {
			t.Run(source.Kind, func(t *testing.T) {
				exec(t, s.raw, "DROP TABLE IF EXISTS t")
				db, _ := s.open(t, fillID("t", policy.Table{InPlace: &source}))
				defer db.Close()
				if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); err == nil {
					t.Fatal("there is no table")
				}
				exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				exec(t, s.raw, "INSERT INTO t VALUES (41, 0)")
				var err error
				for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
					if _, err = db.Exec("INSERT INTO t (a) VALUES (1)"); err == nil {
						break
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				got := integersOf(t, s.raw, "SELECT id FROM t WHERE a = 1")
				if len(got) != 1 || source.Kind == policy.KindSequence && got[0] != 42 || got[0] < 42 {
					t.Errorf("keys %v, want one above 41", got)
				}
			})
		}
	})
}

// TestCheckOnce: the catalog is asked once, however many INSERTs follow, and not
// at all for keys that fit every column.
func TestCheckOnce(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		exec(t, s.raw, "CREATE TABLE u (id VARCHAR(36) NOT NULL PRIMARY KEY, a INT)")
		var below spy
		cfg := sequenceID("t")
		cfg.Dialect = s.dialect.Name
		cfg.Tables["u"] = policy.Table{Column: "id"}
		db, _ := openConnector(t, wrapSqlmw(t, s.connector, &below), cfg)
		asks := func() (n int) {
			for _, q := range below.all() {
				if q := strings.ToLower(q); strings.Contains(q, "information_schema") || strings.Contains(q, "pg_class") || strings.Contains(q, "pg_attribute") || strings.Contains(q, "pragma_table_xinfo") {
					n++
				}
			}
			return n
		}
		exec(t, db, "INSERT INTO u (a) VALUES (1)")
		if n := asks(); n != 0 {
			t.Errorf("the catalog was asked %d times for a UUID: %q", n, below.all())
		}
		exec(t, db, "INSERT INTO t (a) VALUES (1)")
		first := asks()
		for range 20 {
			exec(t, db, "INSERT INTO t (a) VALUES (1)")
		}
		if n := asks(); first == 0 || n != first {
			t.Errorf("the catalog was asked %d times, then %d", first, n-first)
		}
		var tx *sql.Tx
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		must(t, tx, "INSERT INTO t (a) VALUES (1)")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := asks(); n != first {
			t.Errorf("the catalog was asked in a transaction")
		}
	})
}

// TestCheckInTransaction: a table that was created in the transaction that is
// open is there for its INSERT, and for others when it has committed.
func TestCheckInTransaction(t *testing.T) {
	each(t, []engine{sqliteFile, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		db, _ := s.open(t, sequenceID("t"))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		must(t, tx, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		must(t, tx, "INSERT INTO t (a) VALUES (1)")
		must(t, tx, "INSERT INTO t (id, a) VALUES (100, 1)")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond) // then it is looked at again
		exec(t, db, "INSERT INTO t (a) VALUES (2)")
		want := 101
		if s.dialect.OneWriter {
			want = 2 // the key of its own came later
		}
		if got := count(t, s.raw, "SELECT id FROM t WHERE a = 2"); got != want {
			t.Errorf("the key is %d, want %d", got, want)
		}
	})
}
