package keys_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// sameRows is a relation that shares its rows with another one.
type sameRows struct {
	name    string
	only    string // the dialect
	schema  []string
	one     string // has all rows
	other   string
	refused error // of other
}

var sameRowsOfOther = []sameRows{
	{"view", "mariadb", []string{
		"CREATE TABLE t (id BIGINT NOT NULL, a INT, KEY (id))", "CREATE VIEW v AS SELECT id, a FROM t",
	}, "t", "v", catalog.ErrView},
	{"view", "postgres", []string{
		"CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE INDEX ON t (id)", "CREATE VIEW v AS SELECT id, a FROM t",
	}, "t", "v", catalog.ErrView},
	{"view", "sqlite", []string{
		"CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE INDEX i ON t (id)", "CREATE VIEW v AS SELECT id, a FROM t",
		"CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN INSERT INTO t (id, a) VALUES (NEW.id, NEW.a); END",
	}, "t", "v", catalog.ErrView},
	{"partition", "postgres", []string{
		"CREATE TABLE t (id BIGINT NOT NULL, a INT) PARTITION BY RANGE (a)", "CREATE INDEX ON t (id)",
		"CREATE TABLE part PARTITION OF t FOR VALUES FROM (0) TO (10)",
	}, "t", "part", catalog.ErrPartition},
	{"child", "postgres", []string{
		"CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE INDEX ON t (id)",
		"CREATE TABLE child () INHERITS (t)", "CREATE INDEX ON child (id)",
	}, "t", "child", catalog.ErrChild},
}

// relationSources are sources of integers that each have a state.
func relationSources() map[string]policy.Source {
	return map[string]policy.Source{
		"sequence": harness.Counted(func(s *policy.Source) { s.Start = 1 }),
		"joined":   harness.Counted(func(s *policy.Source) { s.Block, s.Start, s.Transaction = 0, 1, policy.TransactionJoined }),
		"recycled": harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Start = 1 }),
	}
}

// TestBindingRelations: if two relations share their rows, a view, a partition, a child,
// a source of the second is refused whichever comes first, and no key is there twice;
// with exclusive it is taken.
//
//deviation:integer-keys | An INSERT into a view is refused where a source with a state would fill it: its table may be numbered too. | all | a sequence for a view | configure the table; `exclusive: true`
//deviation:integer-keys | An INSERT into a table that inherits from another one is refused where a source with a state would fill it: the other table shows its rows too. | PostgreSQL | `CREATE TABLE b () INHERITS (a)` | `exclusive: true`
func TestBindingRelations(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, c := range sameRowsOfOther {
			for name, src := range relationSources() {
				if c.only != s.Dialect.Name {
					continue
				}
				for _, names := range [][2]string{{c.one, c.other}, {c.other, c.one}} {
					t.Run(c.name+", "+name+", "+names[0]+" first", func(t *testing.T) {
						s := s.Engine.Scratch(t)
						for _, query := range c.schema {
							harness.Exec(t, s.Raw, query)
						}
						for _, relation := range names {
							db, _ := s.Open(t, harness.FillID(relation, policy.Table{InPlace: &src}))
							for range 3 {
								_, err := db.Exec("INSERT INTO " + relation + " (a) VALUES (1)")
								if refused := errors.Is(err, c.refused); refused != (relation == c.other) || err != nil && !refused {
									t.Errorf("%s: %v", relation, err)
								}
							}
						}
						noneTwice(t, s.Raw)
						exclusive := src
						exclusive.Exclusive, exclusive.Start, exclusive.Name = true, 10_000, "x"
						if src.Kind == policy.KindRecycled {
							exclusive.Start = 10_001
						}
						db, _ := s.Open(t, harness.FillID(c.other, policy.Table{InPlace: &exclusive}))
						harness.Exec(t, db, "INSERT INTO "+c.other+" (a) VALUES (1)")
					})
				}
			}
		}
	})
}

// TestBindingAttached: a file that is attached a second time under another name has
// the same table, and a second source for it is refused.
//
//deviation:integer-keys | An INSERT under the second name of an attached file is refused where a source with a state would fill its table. | SQLite | `ATTACH` of the file that is `main` | name it as `main.t`; `exclusive: true`
func TestBindingAttached(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT)")
	harness.Exec(t, s.Raw, "CREATE INDEX i ON t (id)")
	file := harness.Text(t, s.Raw, "SELECT file FROM pragma_database_list WHERE name = 'main'")
	for _, names := range [][2]string{{"t", "again.t"}, {"again.t", "t"}} {
		harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS keyfill_sequences")
		harness.Exec(t, s.Raw, "DELETE FROM t")
		for i, relation := range names {
			src := harness.Counted(func(s *policy.Source) { s.Start, s.Name = 1, fmt.Sprint("n", i) })
			db, _ := s.Open(t, harness.FillID(relation, policy.Table{InPlace: &src}))
			db.SetMaxOpenConns(1)
			harness.Exec(t, db, "ATTACH '"+file+"' AS again")
			for range 3 {
				_, err := db.Exec("INSERT INTO " + relation + " (a) VALUES (1)")
				if refused := errors.Is(err, catalog.ErrAttached); refused != (relation != "t") || err != nil && !refused {
					t.Errorf("%v: %s: %v", names, relation, err)
				}
			}
			db.Close()
		}
		noneTwice(t, s.Raw)
	}
}

// TestBindingCaseless: where the server compares the names of tables without case, a
// table has one column under all its spellings.
func TestBindingCaseless(t *testing.T) {
	t.Parallel()
	e := harness.MySQLDefault
	e.Server = testdb.Start(t, testdb.MariaDB().With("--lower-case-table-names=1"))
	s := e.Scratch(t)
	if harness.Count(t, s.Raw, "SELECT @@lower_case_table_names") == 0 {
		harness.Skip(t, "the server tells the case of tables' names")
	}
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT, KEY (id))")
	for _, names := range [][2]string{{"t", "T"}, {"T", "t"}} {
		harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS keyfill_sequences")
		harness.Exec(t, s.Raw, "DELETE FROM t")
		for i, relation := range names {
			src := harness.Counted(func(s *policy.Source) { s.Start, s.Name = 1, fmt.Sprint("n", i) })
			db, _ := s.Open(t, harness.FillID(relation, policy.Table{InPlace: &src}))
			for range 3 {
				_, err := db.Exec("INSERT INTO " + relation + " (a) VALUES (1)")
				if i == 0 && err != nil || i == 1 && !errors.Is(err, keysource.ErrStoreState) {
					t.Errorf("%v: %s: %v", names, relation, err)
				}
			}
		}
		noneTwice(t, s.Raw)
	}
}

// noneTwice checks that no key of t is there twice.
func noneTwice(t *testing.T, raw *sql.DB) {
	t.Helper()
	if keys := harness.IntegersOf(t, raw, "SELECT id FROM t ORDER BY id"); len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("keys %v: some are there twice", keys)
	}
}
