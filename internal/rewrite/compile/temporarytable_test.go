package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/rewrite"
)

const tempDialects = "mysql mariadb postgres sqlite"

func TestTemporary(t *testing.T) {
	for _, tt := range []struct {
		query    string
		dialects string
		want     []string
	}{
		{"CREATE TEMPORARY TABLE people (a int)", tempDialects, []string{"people"}},
		{"CREATE TEMPORARY TABLE IF NOT EXISTS people (a int)", tempDialects, []string{"people"}},
		{"create temp table if not exists people as select 1", tempDialects, []string{"people"}},
		{"CREATE OR REPLACE TEMPORARY TABLE shop.`People` (a int)", "mariadb", []string{"people"}},
		{"CREATE LOCAL TEMP TABLE People (a int)", "postgres", []string{"people"}},
		{`CREATE GLOBAL TEMPORARY TABLE "People" (a int)`, "postgres", []string{"People"}},
		{"SELECT 1 AS a INTO TEMP people", "postgres", []string{"people"}},
		{"SELECT 1 AS a INTO TEMPORARY TABLE people", "postgres", []string{"people"}},
		{"CREATE TABLE pg_temp.people (a int)", "postgres", []string{"people"}},
		{"CREATE TABLE temp.people (a int)", "sqlite", []string{"people"}},
		{"CREATE TEMP TABLE a (a int); CREATE /* x */ TEMP TABLE b (a int)", tempDialects, []string{"a", "b"}},
		{"CREATE /*!32302 TEMPORARY */ TABLE people (a int)", "mysql mariadb", []string{"people"}},
		{"CREATE TEMPORARY /*M! TABLE IF NOT EXISTS */ people (a int)", "mariadb", []string{"people"}},
		{`CREATE TABLE "pg_temp".people (a int)`, "postgres", []string{"people"}},
		{`CREATE TABLE "temp".people (a int)`, "sqlite", []string{"people"}},
		{"CREATE TABLE [temp].people (a int)", "sqlite", []string{"people"}},
		{"CREATE TABLE 'temp'.people (a int)", "sqlite", []string{"people"}},
		{"CREATE TABLE 'TEMP' . 'people' (a int)", "sqlite", []string{"people"}},
		{"CREATE TEMP VIEW people AS SELECT 1 AS a", "postgres sqlite", []string{"people"}},
		{"CREATE OR REPLACE TEMPORARY VIEW people AS SELECT 1 AS a", "postgres", []string{"people"}},
		{"CREATE TEMP RECURSIVE VIEW people (a) AS SELECT 1", "postgres", []string{"people"}},
		{"CREATE VIEW pg_temp.people AS SELECT 1 AS a", "postgres", []string{"people"}},
		{"CREATE TEMP VIEW IF NOT EXISTS people AS SELECT 1 AS a", "sqlite", []string{"people"}},
		{`SELECT 1 AS "temp"`, tempDialects, nil},
		{"ALTER TABLE pg_temp.x RENAME TO people", "postgres", []string{"x", "people"}},
		{"ALTER TABLE temp.x RENAME TO people", "sqlite", []string{"x", "people"}},
		{"CREATE TEMP TABLE", tempDialects, nil},
		{"SELECT 'TEMP TABLE people'", tempDialects, nil},
		{"CREATE TEMP TABLE /* it does not end", tempDialects, nil},
	} {
		for _, name := range strings.Fields(tt.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := effects.Temporary(d, tt.query); !slices.Equal(got, tt.want) {
				t.Errorf("%s: Temporary(%q) = %q, want %q", name, tt.query, got, tt.want)
			}
			if len(tt.want) > 0 && words.Concerns(d, tt.query)&words.ConcernsTemporary == 0 {
				t.Errorf("%s: Concerns(%q) has no ConcernsTemporary", name, tt.query)
			}
		}
	}
}

// The names that something gets are those of temporary tables where the
// connection has some.
func TestTemporaryRename(t *testing.T) {
	for query, want := range map[string][]string{
		"ALTER TABLE x RENAME TO people":                 {"people"},
		"ALTER TABLE x RENAME people":                    {"people"},
		"ALTER TABLE x RENAME AS `people`, ADD b int":    {"people"},
		"RENAME TABLE x TO people, shop.y TO shop.staff": {"people", "staff"},
		"ALTER TABLE x RENAME COLUMN a TO b; SELECT 1":   {"b"},
	} {
		if got := effects.Temporary(dialect.MariaDB(), query); !slices.Equal(got, want) {
			t.Errorf("Temporary(%q) = %q, want %q", query, got, want)
		}
	}
}

// Where the text itself may change what the name means, no answer from before it
// counts.
func TestCompileBesideSeveral(t *testing.T) {
	target := &plans.Target{Table: "people", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing}}}
	lookup := func(_, table string) *plans.Target {
		if table == "people" {
			return target
		}
		return nil
	}
	const insert = "INSERT INTO people (a) VALUES (1)"
	for _, tt := range []struct {
		query    string
		standing plans.Standing
		want     plans.Action
		reason   rewrite.Reason
	}{
		{"DROP TABLE people; " + insert, plans.IsTemporary, plans.Refuse, rewrite.ErrSeveral},
		{"ROLLBACK; " + insert, plans.IsTemporary, plans.Refuse, rewrite.ErrSeveral},
		{"ROLLBACK; " + insert, plans.WasTemporary, plans.Refuse, rewrite.ErrSeveral},
		{"ROLLBACK; " + insert, plans.IsConfigured, plans.Fill, ""},
		{"SELECT dropit(); " + insert, plans.IsTemporary, plans.Refuse, rewrite.ErrSeveral},
		{"INSERT INTO others (a) VALUES (dropit()); " + insert, plans.IsTemporary, plans.Refuse, rewrite.ErrSeveral},
		{"DROP TABLE people; WITH w AS (" + insert + " RETURNING a) SELECT a FROM w", plans.IsTemporary, plans.Refuse, rewrite.ErrSeveral},
		{"DROP TABLE people; INSERT INTO people (id, a) VALUES (1, 1)", plans.IsTemporary, plans.Keep, ""},
		{"BEGIN; SELECT lower('A'); INSERT INTO others (a) VALUES (1); " + insert, plans.IsTemporary, plans.Pass, ""},
		{insert + "; DROP TABLE people", plans.IsTemporary, plans.Pass, ""},
		{insert, plans.WasTemporary, plans.Fill, ""},
		{insert, plans.ByPath, plans.Fill, ""},
		{insert, plans.Unasked, plans.Refuse, rewrite.ErrReadsCount},
		{"CREATE TEMP TABLE people (a int); " + insert, plans.WasTemporary, plans.Pass, ""},
		{"CREATE TEMP TABLE people (a int); " + insert, plans.ByPath, plans.Refuse, rewrite.ErrSeveral},
		{"CREATE TEMP TABLE people (a int); INSERT INTO pg_temp.people (a) VALUES (1)", plans.ByPath, plans.Pass, ""},
	} {
		p := compile.QueryWithTemporary(dialect.PostgreSQL(), lookup, tt.query, func(plans.TableName) plans.Standing { return tt.standing })
		var reason rewrite.Reason
		if p.Refusal != nil {
			reason = p.Refusal.Reason
		}
		if p.Action != tt.want || reason != tt.reason {
			t.Errorf("CompileBeside(%q), standing %d: %v %q, want %v %q", tt.query, tt.standing, p.Action, reason, tt.want, tt.reason)
		}
	}
}

func TestConcernsTemporary(t *testing.T) {
	for _, query := range []string{"SELECT temperature FROM t", "SELECT attempt, contemporary FROM t", "UPDATE template SET a = 1"} {
		for _, d := range dialect.All() {
			if words.Concerns(d, query)&words.ConcernsTemporary != 0 {
				t.Errorf("%s: Concerns(%q) has ConcernsTemporary", d.Name, query)
			}
		}
	}
	for _, d := range dialect.All() {
		got := words.Concerns(d, "CREATE TEMP TABLE t (a int); INSERT INTO t (a) VALUES (1)")
		want := goldens.Has(tempDialects, d)
		if got&words.ConcernsInsert == 0 || (got&words.ConcernsTemporary != 0) != want {
			t.Errorf("%s: Concerns = %d", d.Name, got)
		}
	}
}

// A table that hidden says is a temporary one is no configured table, whatever
// form the INSERT has, and nothing else is asked about.
func TestCompileBeside(t *testing.T) {
	target := &plans.Target{Table: "people", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing}}}
	lookup := func(_, table string) *plans.Target {
		if table == "people" {
			return target
		}
		return nil
	}
	for _, tt := range []struct {
		query string
		want  plans.Action
		asked []plans.TableName
	}{
		{"INSERT INTO people (a) VALUES (1)", plans.Pass, []plans.TableName{{Table: "people", Text: "people"}}},
		{`INSERT INTO pg_temp . "people" (a) VALUES (1)`, plans.Pass, []plans.TableName{{Schema: "pg_temp", Table: "people", Text: `pg_temp . "people"`}}},
		{"INSERT INTO public.people (a) VALUES (1)", plans.Fill, []plans.TableName{{Schema: "public", Table: "people", Text: "public.people"}}},
		{"INSERT INTO others (a) VALUES (1)", plans.Pass, nil},
		{"INSERT INTO people (a) SELECT 1", plans.Pass, []plans.TableName{{Table: "people", Text: "people"}}},
		{"WITH w AS (INSERT INTO people (a) VALUES (1) RETURNING a) SELECT a FROM w", plans.Pass, []plans.TableName{{Table: "people", Text: "people"}}},
		{"EXPLAIN INSERT INTO people (a) VALUES (1)", plans.Pass, []plans.TableName{{Table: "people", Text: "people"}}},
		{"MERGE INTO people USING (VALUES (1)) AS s (a) ON false WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)", plans.Pass,
			[]plans.TableName{{Table: "people", Text: "people"}}},
		{"PREPARE p AS INSERT INTO people (a) VALUES (1)", plans.Pass, []plans.TableName{{Table: "people", Text: "people"}}},
		{"COPY people (a) FROM STDIN", plans.Pass, []plans.TableName{{Table: "people", Text: "people"}}},
	} {
		var asked []plans.TableName
		p := compile.QueryWithTemporary(dialect.PostgreSQL(), lookup, tt.query, func(n plans.TableName) plans.Standing {
			if !slices.Contains(asked, n) {
				asked = append(asked, n)
			}
			if n.Schema == "public" {
				return plans.IsConfigured
			}
			return plans.IsTemporary
		})
		if p.Action != tt.want || !slices.Equal(asked, tt.asked) {
			t.Errorf("CompileBeside(%q) = %v asking %v, want %v asking %v", tt.query, p.Action, asked, tt.want, tt.asked)
		}
	}
}
