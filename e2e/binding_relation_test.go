package e2e_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// sameRows is a relation whose rows are those of another one too.
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
		"sequence": counted(func(s *policy.Source) { s.Start = 1 }),
		"joined":   counted(func(s *policy.Source) { s.Block, s.Start, s.Transaction = 0, 1, policy.TransactionJoined }),
		"recycled": mapped(policy.KindRecycled, func(s *policy.Source) { s.Start = 1 }),
	}
}

// TestBindingRelations: where the rows of one relation are those of another one too,
// a view, a partition, a child, a source of the second is refused whichever comes
// first, and no key is there twice; with exclusive it is taken.
func TestBindingRelations(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch) {
		for _, c := range sameRowsOfOther {
			for name, src := range relationSources() {
				if c.only != s.dialect.Name {
					continue
				}
				for _, names := range [][2]string{{c.one, c.other}, {c.other, c.one}} {
					t.Run(c.name+", "+name+", "+names[0]+" first", func(t *testing.T) {
						s := s.engine.scratch(t)
						for _, query := range c.schema {
							exec(t, s.raw, query)
						}
						for _, relation := range names {
							db, _ := s.open(t, fillID(relation, policy.Table{InPlace: &src}))
							for range 3 {
								_, err := db.Exec("INSERT INTO " + relation + " (a) VALUES (1)")
								if refused := errors.Is(err, c.refused); refused != (relation == c.other) || err != nil && !refused {
									t.Errorf("%s: %v", relation, err)
								}
							}
						}
						noneTwice(t, s.raw)
						exclusive := src
						exclusive.Exclusive, exclusive.Start, exclusive.Name = true, 10_000, "x"
						if src.Kind == policy.KindRecycled {
							exclusive.Start = 10_001
						}
						db, _ := s.open(t, fillID(c.other, policy.Table{InPlace: &exclusive}))
						exec(t, db, "INSERT INTO "+c.other+" (a) VALUES (1)")
					})
				}
			}
		}
	})
}

// TestBindingAttached: a file that is attached a second time under another name has
// the same table, and a second source for it is refused.
func TestBindingAttached(t *testing.T) {
	s := sqliteFile.scratch(t)
	exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT)")
	exec(t, s.raw, "CREATE INDEX i ON t (id)")
	file := text(t, s.raw, "SELECT file FROM pragma_database_list WHERE name = 'main'")
	for _, names := range [][2]string{{"t", "again.t"}, {"again.t", "t"}} {
		exec(t, s.raw, "DROP TABLE IF EXISTS keyfill_sequences")
		exec(t, s.raw, "DELETE FROM t")
		for i, relation := range names {
			src := counted(func(s *policy.Source) { s.Start, s.Name = 1, fmt.Sprint("n", i) })
			db, _ := s.open(t, fillID(relation, policy.Table{InPlace: &src}))
			db.SetMaxOpenConns(1)
			exec(t, db, "ATTACH '"+file+"' AS again")
			for range 3 {
				_, err := db.Exec("INSERT INTO " + relation + " (a) VALUES (1)")
				if refused := errors.Is(err, catalog.ErrAttached); refused != (relation != "t") || err != nil && !refused {
					t.Errorf("%v: %s: %v", names, relation, err)
				}
			}
			db.Close()
		}
		noneTwice(t, s.raw)
	}
}

// TestBindingCaseless: where the server compares the names of tables without case, a
// table has one column under all its spellings.
func TestBindingCaseless(t *testing.T) {
	e := mysqlDefault
	e.server = testdb.Start(t, testdb.MariaDB().With("--lower-case-table-names=1"))
	s := e.scratch(t)
	if count(t, s.raw, "SELECT @@lower_case_table_names") == 0 {
		skip(t, "the server tells the case of tables' names")
	}
	exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT, KEY (id))")
	for _, names := range [][2]string{{"t", "T"}, {"T", "t"}} {
		exec(t, s.raw, "DROP TABLE IF EXISTS keyfill_sequences")
		exec(t, s.raw, "DELETE FROM t")
		for i, relation := range names {
			src := counted(func(s *policy.Source) { s.Start, s.Name = 1, fmt.Sprint("n", i) })
			db, _ := s.open(t, fillID(relation, policy.Table{InPlace: &src}))
			for range 3 {
				_, err := db.Exec("INSERT INTO " + relation + " (a) VALUES (1)")
				if i == 0 && err != nil || i == 1 && !errors.Is(err, keysource.ErrStoreState) {
					t.Errorf("%v: %s: %v", names, relation, err)
				}
			}
		}
		noneTwice(t, s.raw)
	}
}

// noneTwice checks that no key of t is there twice.
func noneTwice(t *testing.T, raw *sql.DB) {
	t.Helper()
	if keys := integersOf(t, raw, "SELECT id FROM t ORDER BY id"); len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("keys %v: some are there twice", keys)
	}
}
