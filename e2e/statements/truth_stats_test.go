package statements_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// TestStatsCountOnce asks that each execution is counted once, also where the
// driver answers driver.ErrSkip and database/sql comes back with a prepared
// statement.
func TestStatsCountOnce(t *testing.T) {
	t.Parallel()
	const (
		fill   = "INSERT INTO people (name) VALUES (?)"
		keep   = "INSERT INTO people (id, name) VALUES ('k', ?)"
		pass   = "INSERT INTO others (name) VALUES (?)"
		refuse = "INSERT INTO people (name) SELECT ? FROM others WHERE 1 = 0"
	)
	refused := map[keyfill.Reason]uint64{"select": 1}
	for _, c := range []struct {
		name  string
		query string
		rule  policy.Table
		want  keyfill.TableStats
		pass  uint64
	}{
		{name: "fill", query: fill, want: keyfill.TableStats{Filled: 1, Keys: 1}},
		{name: "keep", query: keep, want: keyfill.TableStats{Kept: 1}},
		{name: "pass", query: pass, pass: 1},
		{name: "unfilled", query: refuse, rule: policy.Table{Unsupported: policy.Unfilled, Layout: dialect.SequentialAsBinary, InPlace: &policy.Source{Kind: policy.KindUUIDv4}},
			want: keyfill.TableStats{Refused: refused, Withheld: 1}},
		{name: "dry run", query: fill, rule: policy.Table{Mode: policy.ModeDryRun},
			want: keyfill.TableStats{Filled: 1, Withheld: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			engines := harness.LoadEngines
			if c.name == "unfilled" {
				engines = harness.Without18(engines)
			}
			harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36), name TEXT)")
				harness.Exec(t, s.Raw, "CREATE TABLE others (name TEXT)")
				db, m := s.Open(t, harness.FillID("people", c.rule))
				harness.Exec(t, db, s.Placeholders(c.query), "a")
				got := m.Stats()
				if g := got.Tables["people"]; got.Passed != c.pass || g.Filled != c.want.Filled || g.Keys != c.want.Keys ||
					g.Kept != c.want.Kept || g.Withheld != c.want.Withheld || g.Refused["select"] != c.want.Refused["select"] {
					t.Errorf("passed %d and counted %+v, want %d and %+v", got.Passed, g, c.pass, c.want)
				}
			})
		})
	}
}

// TestStatsOfFailures: an INSERT that the engine rejects is counted as filled, and
// as one that has failed.
func TestStatsOfFailures(t *testing.T) {
	t.Parallel()
	const one, two = "INSERT INTO people (name) VALUES (?)", "INSERT INTO people (name) VALUES (?), (?)"
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE)")
		db, m := s.Open(t, harness.FillID("people", policy.Table{}))
		returning := func(query string, args ...any) error {
			ctx, _ := keyfill.Record(t.Context()) // MariaDB's error comes after the rows
			return harness.DrainContext(ctx, db, s.Placeholders(query+" RETURNING id"), args...)
		}
		execs := func(query string, args ...any) error {
			_, err := db.Exec(s.Placeholders(query), args...)
			return err
		}
		for i, send := range []func(string, ...any) error{execs, returning} {
			name := string(rune('a' + i))
			if err := send(one, name); err != nil {
				t.Fatal(err)
			}
			if err := send(one, name); err == nil {
				t.Fatal("a row was stored twice")
			}
			if err := send(two, name+"2", name); err == nil {
				t.Fatal("a row was stored twice")
			}
		}
		got := m.Stats().Tables["people"]
		failed, unknown := uint64(4), uint64(0)
		if !s.Dialect.AtomicStatements {
			failed, unknown = 2, 2 // the first of two rows may be stored, in MyISAM it is
		}
		if got.Filled != 6 || got.Keys != 8 || got.Failed != failed || got.Unknown != unknown {
			t.Errorf("counted %+v, want 6 filled with 8 keys, %d failed, %d unknown", got, failed, unknown)
		}
	})
}

// TestTruthOfStats asks after statements of every form whether what is counted as stored,
// left out and failed is what is in the table, with a record of the keys and without.
func TestTruthOfStats(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"blocks": {Kind: policy.KindSequence, EnsureSchema: true, Start: 101},
		"joined": {Kind: policy.KindSequence, EnsureSchema: true, Start: 101, Transaction: policy.TransactionJoined},
	}
	harness.Each(t, truthEngines, func(t *testing.T, s *harness.Scratch) {
		for name, source := range sources {
			for _, c := range truthCases {
				if c.only != "" && !slices.Contains(strings.Fields(c.only), s.Dialect.Name) {
					continue
				}
				for i, recorded := range []bool{true, false} {
					if !testturn.Of(t, i+len(c.name), 2) {
						continue
					}
					t.Run(name+"/"+c.name+map[bool]string{true: "/recorded", false: ""}[recorded], func(t *testing.T) {
						testTruthOfStats(t, s, c, source, recorded)
					})
				}
			}
		}
	})
}

func testTruthOfStats(t *testing.T, s *harness.Scratch, c truthCase, source policy.Source, recorded bool) {
	createPeople(t, s)
	db, m := s.Open(t, harness.FillID("people", policy.Table{InPlace: &source}))
	defer db.Close()
	ctx := context.Background()
	if recorded {
		ctx, _ = keyfill.Record(ctx)
	}
	_, failed := truthPaths[c.path](ctx, db, c.text)

	got := m.Stats().Tables["people"]
	if got.Filled == 0 {
		if failed == nil {
			t.Errorf("nothing is filled: %+v", got)
		}
		return // the keys of a transaction suit no such text: it is refused
	}
	if got.Stored+got.LeftOut+got.Failed+got.Unknown != got.Filled {
		t.Errorf("of %d filled statements is said what became of others: %+v", got.Filled, got)
	}
	stored := uint64(harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE id > 100"))
	switch {
	case got.Stored == got.Filled && stored != got.Keys:
		t.Errorf("%d of %d keys are stored, and all statements are counted as stored: %+v", stored, got.Keys, got)
	case got.Stored+got.Unknown == 0 && stored > 0:
		t.Errorf("%d keys are stored, and no statement is counted as stored: %+v", stored, got)
	case failed == nil && got.Failed > 0, failed != nil && got.LeftOut > 0:
		t.Errorf("the statement ended in %v, and is counted as %+v", failed, got)
	}
	if c.path != "exec" && c.path != "twice" || !recorded {
		return
	}
	// What the record knows of all rows of an Exec, the statistics know too.
	switch want := c.want(s.Dialect.Name); {
	case strings.Trim(want, "S") == "" && got.Stored != got.Filled:
		t.Errorf("all keys are recorded as stored, and counted is %+v", got)
	case strings.Trim(want, "N") == "" && got.LeftOut+got.Failed != got.Filled:
		t.Errorf("all keys are recorded as not stored, and counted is %+v", got)
	}
}
