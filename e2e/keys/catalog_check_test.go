package keys_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// checkTypes are the types of columns that keys are tried on, for one engine
// of each dialect.
var checkTypes = []struct {
	engine harness.Engine
	types  []string
}{
	{harness.SQLiteFile, []string{"INTEGER", "INTEGER PRIMARY KEY", "BIGINT", "TEXT", "VARCHAR(36)", "BLOB", "REAL", "NUMERIC", "UUID", ""}},
	{harness.MySQLDefault, []string{"TINYINT", "SMALLINT UNSIGNED", "MEDIUMINT", "INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(9)",
		"DECIMAL(10)", "DECIMAL(16)", "DECIMAL(19)", "FLOAT", "DOUBLE", "CHAR(9)", "CHAR(10)", "VARCHAR(16)", "VARCHAR(19)", "CHAR(35)",
		"CHAR(36)", "TEXT", "BINARY(15)", "BINARY(16)", "VARBINARY(20)", "BLOB", "UUID", "DECIMAL(18,2)", "DECIMAL(25,2)", "BIT(8)", "YEAR", "DATE", "TIME",
		"INET6"}},
	{harness.PgxDefault, checkPostgreSQL},
	{harness.PQDefault, checkPostgreSQL},
}

var checkPostgreSQL = []string{"smallint", "integer", "bigint", "numeric", "numeric(9)", "numeric(10)", "numeric(16)", "numeric(19)", "real",
	"double precision", "char(9)", "char(10)", "varchar(16)", "varchar(19)", "char(35)", "char(36)", "text", "bytea", "uuid",
	"numeric(18,2)", "numeric(25,2)", "numeric(20,-2)", "money", `"char"`, "boolean", "bit(8)", "varbit", "date", "time", "timestamp", "timestamptz",
	"interval", "json", "jsonb", "xml", "inet", "cidr", "macaddr", "tsvector", "tsquery", "point"}

// checkKeys are the greatest keys of each kind.
func checkKeys() []struct {
	key   catalog.Key
	value driver.Value
} {
	one := uuid.Must(uuid.NewV7())
	keys := []struct {
		key   catalog.Key
		value driver.Value
	}{
		{catalog.Key{Column: "id", Layout: dialect.SequentialAsString, Length: 36}, dialect.SequentialAsString.Value(one)},
		{catalog.Key{Column: "id", Layout: dialect.SequentialAsBinary}, dialect.SequentialAsBinary.Value(one)},
	}
	for _, bits := range []int{31, 53, 63} {
		greatest := int64(1<<bits - 1)
		k := catalog.Key{Column: "id", Integer: true, MaxBits: bits}
		text := k
		text.Layout = dialect.SequentialAsString
		keys = append(keys, struct {
			key   catalog.Key
			value driver.Value
		}{k, greatest}, struct {
			key   catalog.Key
			value driver.Value
		}{text, fmt.Sprint(greatest)})
	}
	return keys
}

// TestCatalogCheckLaw: the engine stores every key that passes the check as it
// was sent, and of each type some pass and some do not.
func TestCatalogCheckLaw(t *testing.T) {
	t.Parallel()
	for _, c := range checkTypes {
		t.Run(c.engine.Name, func(t *testing.T) {
			t.Parallel()
			s := c.engine.Scratch(t)
			session := newSession(t, s)
			passed := 0
			for i, kind := range c.types {
				name := fmt.Sprintf("t%d", i)
				session.exec(t, fmt.Sprintf("CREATE TABLE %s (id %s)", name, kind))
				table, err := session.read("", name)
				if err != nil {
					t.Fatal(err)
				}
				fits := 0
				for _, k := range checkKeys() {
					err := table.Check(s.Dialect, k.key)
					if err == nil {
						fits++
						checkStored(t, session, name, kind, k.value)
					} else if !errors.Is(err, catalog.ErrType) && !errors.Is(err, catalog.ErrNarrow) {
						t.Errorf("%s: %v", kind, err)
					}
				}
				passed += fits
				if fits == len(checkKeys()) && s.Dialect.Name != "sqlite" {
					t.Errorf("%s takes every key", kind)
				}
			}
			if passed < 8 {
				t.Errorf("%d keys pass, want every kind of them on some column", passed)
			}
		})
	}
}

// checkStored inserts a key and reads it again.
func checkStored(t *testing.T, s *session, table, kind string, key driver.Value) {
	t.Helper()
	ctx := context.Background()
	if _, err := s.conn.ExecContext(ctx, "DELETE FROM "+table); err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.ExecContext(ctx, s.Placeholders("INSERT INTO "+table+" (id) VALUES (?)"), key); err != nil {
		t.Errorf("%s does not take %T %v: %v", kind, key, key, err)
		return
	}
	var stored []byte
	if err := s.conn.QueryRowContext(ctx, "SELECT id FROM "+table).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	want, isBytes := key.([]byte)
	if !isBytes {
		want = fmt.Append(nil, key)
	}
	if !isBytes {
		stored = bytes.TrimRight(stored, " ") // char(n) is padded
	}
	if !bytes.Equal(stored, want) {
		t.Errorf("%s stores %q for %T %v", kind, stored, key, key)
	}
}

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
		columns: harness.ColumnTypes("no BIGINT PRIMARY KEY, a INT", "no BIGINT PRIMARY KEY, a INT", "no INTEGER PRIMARY KEY, a INT"),
		want:    catalog.ErrNoColumn,
		mend: harness.ColumnTypes("ALTER TABLE bad RENAME COLUMN no TO id", "ALTER TABLE bad RENAME COLUMN no TO id",
			"ALTER TABLE bad RENAME COLUMN no TO id")},
	{name: "generated",
		columns: harness.ColumnTypes("id BIGINT GENERATED ALWAYS AS (a) STORED, a INT", "id BIGINT AS (a) STORED, a INT", "id BIGINT AS (a) STORED, a INT"),
		want:    catalog.ErrGenerated},
	{name: "text",
		columns: harness.ColumnTypes("id TEXT PRIMARY KEY, a INT", "id VARCHAR(30) PRIMARY KEY, a INT", "id TEXT PRIMARY KEY, a INT"),
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
		columns: harness.ColumnTypes("id BIGSERIAL PRIMARY KEY, a INT", "id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT", "id INTEGER PRIMARY KEY AUTOINCREMENT, a INT"),
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
//
//deviation:integer-keys | A column that does not take the keys is an error before the first INSERT. The plain driver stores each key that happens to fit. | all | `id INT` without `max_bits: 31`; `id NUMERIC(18,2)` | `unsupported:` does not soften it: mend the column or the policy
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}) {
		for _, c := range checkCases {
			if columns, ok := c.columns[e.Dialect.Name]; ok {
				t.Run(e.Name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					testCheck(t, e.Scratch(t), c, columns)
				})
			}
		}
	}
}

func testCheck(t *testing.T, s *harness.Scratch, c checkCase, columns string) {
	harness.Exec(t, s.Raw, "CREATE TABLE bad ("+columns+")")
	harness.Exec(t, s.Raw, "CREATE TABLE good (id BIGINT PRIMARY KEY, a INT)")
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}
	c.rule.Column, c.rule.InPlace = "id", &source
	cfg := &policy.Config{Dialect: s.Dialect.Name, Tables: map[string]policy.Table{
		"bad": c.rule, "good": {Column: "id", InPlace: &source},
	}}
	var below harness.Spy
	db, m := harness.OpenConnector(t, harness.WrapSqlmw(t, s.Connector, &below), cfg)
	insert := s.Placeholders("INSERT INTO %s (a) VALUES (?)")
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
	_, err = harness.PreparedExec(db, bad, 1)
	check(err)
	check(harness.DrainContext(context.Background(), db, bad+" RETURNING a", 1))
	_, err = m.Keys(context.Background(), "bad", 1)
	check(err)
	for _, q := range below.Take() {
		if strings.HasPrefix(q, "INSERT INTO bad") {
			t.Errorf("it was sent: %s", q)
		}
	}
	if _, err := db.Exec(fmt.Sprintf(insert, "good"), 1); err != nil {
		t.Errorf("the other table: %v", err)
	}
	mend := c.mend[s.Dialect.Name]
	if mend == "" {
		return
	}
	harness.Exec(t, s.Raw, mend)
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		_, err := db.Exec(bad, 1)
		if err == nil {
			break
		}
		check(err)
		if time.Since(began) > harness.Limit {
			t.Fatalf("mended for %v: %v", harness.Limit, err)
		}
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM bad"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// TestCheckPasses: what the policy says about a table makes it fit.
func TestCheckPasses(t *testing.T) {
	t.Parallel()
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
			harness.ColumnTypes("id BIGSERIAL PRIMARY KEY, a INT", "id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT", "id INTEGER PRIMARY KEY AUTOINCREMENT, a INT"),
			policy.Table{InPlace: sequence(func(s *policy.Source) { s.Exclusive = true })}, "1"},
		{"31 bits",
			harness.ColumnTypes("id INT PRIMARY KEY, a INT", "id INT PRIMARY KEY, a INT", "id INT PRIMARY KEY, a INT"),
			policy.Table{MaxBits: 31, InPlace: sequence(nil)}, "1"},
		{"53 bits",
			harness.ColumnTypes("id BIGINT PRIMARY KEY, a INT", "id BIGINT UNSIGNED PRIMARY KEY, a INT", "id INTEGER PRIMARY KEY, a INT"),
			policy.Table{MaxBits: 53, InPlace: sequence(nil)}, "1"},
		{"text",
			harness.ColumnTypes("id TEXT PRIMARY KEY, a INT", "id VARCHAR(19) PRIMARY KEY, a INT", "id TEXT PRIMARY KEY, a INT"),
			policy.Table{Layout: dialect.SequentialAsString, InPlace: sequence(func(s *policy.Source) { s.Start = 12 })}, "12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault, harness.PQBinary}, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE t ("+c.columns[s.Dialect.Name]+")")
				db, _ := s.Open(t, harness.FillID("t", c.rule))
				harness.Exec(t, db, s.Placeholders("INSERT INTO t (a) VALUES (?)"), 1)
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
				if got := harness.Text(t, s.Raw, "SELECT id FROM t WHERE a = 1"); got != c.want {
					t.Errorf("the key is %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestCheckCOMB: MariaDB's uuid type refuses a quarter of all COMBs and stores
// others out of order; UUIDs of version 7 are right there.
func TestCheckCOMB(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id UUID NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{Source: policy.KindCOMB}))
		var e *keyfill.Error
		if _, err := db.Exec("INSERT INTO t (a) VALUES (?)", 1); !errors.Is(err, catalog.ErrCOMB) || !errors.As(err, &e) {
			t.Errorf("a COMB: %v, want ErrCOMB", err)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 0 {
			t.Errorf("%d rows are stored", n)
		}
		db, _ = s.Open(t, harness.FillID("t", policy.Table{Source: policy.KindUUIDv7}))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (?)", 1)
	})
}

// TestCheckView: a view has columns of a type and no index: it is filled where
// nothing else fills its table and the start is given.
func TestCheckView(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE base (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE VIEW v AS SELECT id, a FROM base")
		db, _ := s.Open(t, harness.FillID("v", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
		if _, err := db.Exec("INSERT INTO v (a) VALUES (1)"); err == nil || !strings.Contains(err.Error(), "write start into the policy") {
			t.Errorf("without a start: %v", err)
		}
		db, _ = s.Open(t, harness.FillID("v", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 5, Exclusive: true}}))
		harness.Exec(t, db, "INSERT INTO v (a) VALUES (1)")
		if got := harness.Count(t, s.Raw, "SELECT id FROM base"); got != 5 {
			t.Errorf("the key is %d, want 5", got)
		}
	})
}

// TestCheckTemporary: a table that the catalog does not show keeps its engine's
// answer for keys without a state; a sequence needs its row.
func TestCheckTemporary(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}})
		cfg.Tables["u"] = policy.Table{Column: "id"}
		db, _ := s.Open(t, cfg)
		c := harness.ConnOf(t, db)
		unseen(t, c, "CREATE TEMPORARY TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)",
			"CREATE TEMPORARY TABLE u (id VARCHAR(36) NOT NULL PRIMARY KEY, a INT)")
		harness.Must(t, c, "INSERT INTO u (a) VALUES (1)")
		_, err := c.ExecContext(context.Background(), "INSERT INTO t (a) VALUES (1)")
		if s.Dialect.OneWriter {
			if err != nil { // its catalog shows it
				t.Fatal(err)
			}
			return
		}
		var e *keyfill.Error
		if !errors.Is(err, catalog.ErrNoTable) || !errors.Is(err, store.ErrNoRow) || !errors.As(err, &e) {
			t.Errorf("without a row: %v", err)
		}
		harness.Exec(t, s.Raw, "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('t.id', 7, 't', 'id', '', 'x', CURRENT_TIMESTAMP)")
		harness.Must(t, c, "INSERT INTO t (a) VALUES (1)")
		var id int
		if err := c.QueryRowContext(context.Background(), "SELECT id FROM t").Scan(&id); err != nil || id != 7 {
			t.Errorf("the key is %d, %v; want 7", id, err)
		}
	})
}

// TestCheckCreatedLater: an INSERT into a table that is not there is an error
// that says so; when it is there, its keys begin above those in it.
//
//deviation:integer-keys | If a table was missing, or its column did not take the keys, keyfill looks at the table again after a second. | all | the first INSERT after `CREATE TABLE` | –
func TestCheckCreatedLater(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, source := range []policy.Source{
			{Kind: policy.KindSequence, EnsureSchema: true},
			{Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: harness.NewWorker()},
		} {
			t.Run(source.Kind, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t")
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				defer db.Close()
				if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); err == nil {
					t.Fatal("there is no table")
				}
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				harness.Exec(t, s.Raw, "INSERT INTO t VALUES (41, 0)")
				var err error
				for began := time.Now(); time.Since(began) < harness.Limit; time.Sleep(50 * time.Millisecond) {
					if _, err = db.Exec("INSERT INTO t (a) VALUES (1)"); err == nil {
						break
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a = 1")
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
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE u (id VARCHAR(36) NOT NULL PRIMARY KEY, a INT)")
		var below harness.Spy
		cfg := harness.SequenceID("t")
		cfg.Dialect = s.Dialect.Name
		cfg.Tables["u"] = policy.Table{Column: "id"}
		db, _ := harness.OpenConnector(t, harness.WrapSqlmw(t, s.Connector, &below), cfg)
		asks := func() (n int) {
			for _, q := range below.All() {
				if q := strings.ToLower(q); strings.Contains(q, "information_schema") || strings.Contains(q, "pg_class") || strings.Contains(q, "pg_attribute") || strings.Contains(q, "pragma_table_xinfo") {
					n++
				}
			}
			return n
		}
		harness.Exec(t, db, "INSERT INTO u (a) VALUES (1)")
		if n := asks(); n != 0 {
			t.Errorf("the catalog was asked %d times for a UUID: %q", n, below.All())
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		first := asks()
		for range 20 {
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		}
		if n := asks(); first == 0 || n != first {
			t.Errorf("the catalog was asked %d times, then %d", first, n-first)
		}
		var tx *sql.Tx
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		harness.Must(t, tx, "INSERT INTO t (a) VALUES (1)")
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
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := s.Open(t, harness.SequenceID("t"))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		harness.Must(t, tx, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Must(t, tx, "INSERT INTO t (a) VALUES (1)")
		harness.Must(t, tx, "INSERT INTO t (id, a) VALUES (100, 1)")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond) // then it is looked at again
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
		if got := harness.Count(t, s.Raw, "SELECT id FROM t WHERE a = 2"); got != 101 {
			t.Errorf("the key is %d, want 101", got)
		}
	})
}

// unseen executes queries past keyfill, on the driver's own connection.
func unseen(t *testing.T, c *sql.Conn, queries ...string) {
	t.Helper()
	err := c.Raw(func(dc any) error {
		raw := keyfill.Unwrap(dc.(driver.Conn)).(driver.ExecerContext)
		for _, query := range queries {
			if _, err := raw.ExecContext(context.Background(), query, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
