package statements_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// ruleEngines are drivers of PostgreSQL for tests of rules.
var ruleEngines = []harness.Engine{harness.PgxDefault, harness.PgxMode("exec"), harness.PgxSimple, harness.PQDefault}

// createRuleTables makes t, which is filled, t0, which is t without keyfill, and for each a
// table that rules write to.
func createRuleTables(t *testing.T, s *harness.Scratch, key string) {
	t.Helper()
	harness.Must(t, s.Raw, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public",
		"CREATE TYPE pair AS (x int, y text)", "CREATE DOMAIN pairs AS pair",
		"CREATE TABLE t (id "+key+" PRIMARY KEY, a INT, b TEXT, c pair, d pairs)",
		"CREATE TABLE t0 (id "+key+" DEFAULT "+madeByServer[key]+" PRIMARY KEY, a INT, b TEXT, c pair, d pairs)",
		"CREATE TABLE l (a INT)", "CREATE TABLE l0 (a INT)",
		"CREATE TABLE s (a INT)", "INSERT INTO s VALUES (1), (2), (3)")
}

// madeByServer is what makes a key where keyfill does not.
var madeByServer = map[string]string{"BIGINT": "(random() * 1e15)::bigint", "UUID": "gen_random_uuid()"}

// onBoth executes texts for t and for t0, whose own tables have names that begin alike.
func onBoth(t *testing.T, s *harness.Scratch, queries ...string) {
	t.Helper()
	for _, query := range queries {
		harness.Must(t, s.Raw, query, beside(query))
	}
}

// ownNames are the names of t and of what stands beside it.
var ownNames = regexp.MustCompile(`\b(t|l|base)\b`)

// beside makes a text for t one for t0.
func beside(query string) string { return ownNames.ReplaceAllString(query, "${1}0") }

// sameRows checks that t and t0, and what their rules have written, hold the same rows.
func sameRows(t *testing.T, s *harness.Scratch) {
	t.Helper()
	for _, query := range []string{"SELECT a, b FROM t ORDER BY a, b", "SELECT a FROM l ORDER BY a"} {
		got, want := harness.RowsOf(t, s.Raw, query), harness.RowsOf(t, s.Raw, beside(query))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// valueSetRules are definitions beside a row of VALUES that is stored as two rows.
var valueSetRules = []struct {
	name    string
	define  []string
	refused string // the rule that the refusal names; empty if the row is filled
}{
	{"none", nil, ""},
	{"also insert", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (1)"}, `"more" of "t"`},
	{"also insert of the row", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (NEW.a)"}, `"more" of "t"`},
	{"also update", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO UPDATE l SET a = NEW.a"}, `"more" of "t"`},
	{"also select", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO SELECT NEW.a"}, `"more" of "t"`},
	{"on a condition", []string{"CREATE RULE more AS ON INSERT TO t WHERE NEW.a > 1 DO ALSO INSERT INTO l VALUES (1)"}, `"more" of "t"`},
	{"nothing on a condition", []string{"CREATE RULE more AS ON INSERT TO t WHERE NEW.a > 1 DO INSTEAD NOTHING"}, `"more" of "t"`},
	{"instead", []string{"CREATE RULE more AS ON INSERT TO t DO INSTEAD INSERT INTO l VALUES (NEW.a)"}, `"more" of "t"`},
	{"several", []string{"CREATE RULE a AS ON INSERT TO t DO ALSO NOTIFY x", "CREATE RULE more AS ON INSERT TO t DO ALSO (NOTIFY x; DELETE FROM l)"}, `"more" of "t"`},
	{"always", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO DELETE FROM l", "ALTER TABLE t ENABLE ALWAYS RULE more"}, `"more" of "t"`},
	{"nothing", []string{"CREATE RULE more AS ON INSERT TO t DO INSTEAD NOTHING"}, ""},
	{"notify", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO NOTIFY x"}, ""},
	{"update", []string{"CREATE RULE more AS ON UPDATE TO t DO ALSO DELETE FROM l"}, ""},
	{"disabled", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (1)", "ALTER TABLE t DISABLE RULE more"}, ""},
	{"on replicas", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (1)", "ALTER TABLE t ENABLE REPLICA RULE more"}, ""},
	{"below a view", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (1)",
		"ALTER TABLE t RENAME TO base", "CREATE VIEW t AS SELECT * FROM base WHERE a > 0"}, `"more" of "base"`},
	{"of a view", []string{"ALTER TABLE t RENAME TO base", "CREATE VIEW t AS SELECT * FROM base LIMIT 9",
		"CREATE RULE more AS ON INSERT TO t DO INSTEAD INSERT INTO base VALUES (NEW.id, NEW.a)"}, `"more" of "t"`},
	{"a trigger of a view", []string{"CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (NEW.a)",
		"ALTER TABLE t RENAME TO base", "CREATE VIEW t AS SELECT * FROM base WHERE a > 0",
		`CREATE FUNCTION base() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
			IF NEW.id IS NULL THEN INSERT INTO base (a, b) VALUES (NEW.a, NEW.b); ELSE INSERT INTO base (id, a, b) VALUES (NEW.id, NEW.a, NEW.b); END IF;
			RETURN NEW; END'`,
		"CREATE TRIGGER base INSTEAD OF INSERT ON t FOR EACH ROW EXECUTE FUNCTION base()"}, ""},
	{"a view", []string{"ALTER TABLE t RENAME TO base", "CREATE VIEW t AS SELECT * FROM base WHERE a > 0"}, ""},
}

// TestValueSetsRules: where a rule would write something else for a query than for VALUES,
// a row of VALUES that is a set is refused before anything is sent, and the error names the
// rule. Where none does, t and t0 hold the same afterwards.
//
//deviation:filled-inserts | A row of VALUES with a set-returning function is refused if the table, or a table of the view, has an INSERT rule that does more than NOTHING or NOTIFY: the rule would get a query instead of the row. keyfill asks the catalog for rules first. | PostgreSQL | `CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO log …`; `VALUES (unnest($1::int[]))` | `INSERT … SELECT x FROM unnest($1::int[]) AS x`, which plain logs so too; a trigger; `unsupported: unfilled`
func TestValueSetsRules(t *testing.T) {
	t.Parallel()
	harness.Each(t, ruleEngines, func(t *testing.T, s *harness.Scratch) {
		for key, source := range map[string]policy.Source{
			"BIGINT": {Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Start: 1000}, // a view needs a start
			"UUID":   {Kind: policy.KindUUIDv7},
		} {
			for _, c := range valueSetRules {
				t.Run(key+"/"+c.name, func(t *testing.T) {
					createRuleTables(t, s, key)
					for _, query := range c.define {
						onBoth(t, s, query)
					}
					db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
					defer db.Close()
					query := s.Placeholders("INSERT INTO t (a, b) VALUES (unnest(ARRAY[1, 2]), ?)")
					for _, form := range []string{"direct", "prepared", "transaction"} {
						_, err := harness.SendOnce(context.Background(), db, form, query, []any{"x"})
						if c.refused != "" {
							if !errors.Is(err, rewrite.ErrSetRule) || !errors.As(err, new(*keyfill.Error)) || !strings.Contains(err.Error(), "rule "+c.refused) {
								t.Errorf("%s: %v, want %v", form, err, rewrite.ErrSetRule)
							}
							continue
						}
						if err != nil {
							t.Fatalf("%s: %v", form, err)
						}
						harness.Exec(t, s.Raw, beside(query), "x")
					}
					sameRows(t, s)
				})
			}
		}
	})
}

// TestValueSetsRuleUnfilled: such a row goes out as it came where the policy lets it, and
// a transaction goes on after the refusal.
func TestValueSetsRuleUnfilled(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	createRuleTables(t, s, "BIGINT")
	harness.Must(t, s.Raw, "CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (1)")
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	query := "INSERT INTO t (a) VALUES (generate_series(1, 2))"
	if _, err := tx.Exec(query); !errors.Is(err, rewrite.ErrSetRule) {
		t.Errorf("%v, want %v", err, rewrite.ErrSetRule)
	}
	harness.Must(t, tx, "INSERT INTO t (a) SELECT x FROM generate_series(1, 2) AS x")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM l"); n != 2 {
		t.Errorf("the rule has logged %d rows of the query, want 2", n)
	}
	harness.Must(t, s.Raw, "DELETE FROM l", "ALTER TABLE t ALTER id SET DEFAULT (random() * 1e15)::bigint")
	open, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source, Unsupported: policy.Unfilled}))
	harness.Exec(t, open, query)
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM l"); n != 1 {
		t.Errorf("the rule has logged %d rows of VALUES, want 1", n)
	}
	dry, _ := s.Open(t, &policy.Config{Mode: policy.ModeDryRun, Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &source}}})
	harness.Exec(t, dry, query)
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM l"); n != 2 {
		t.Errorf("the rule has logged %d rows of VALUES and of a dry run, want 2", n)
	}
	if got := m.Stats().Tables["t"]; got.Refused["set_rule"] != 1 || got.Withheld != 1 {
		t.Errorf("%+v, want one that went out unfilled", got)
	}
}

// TestValueSetsRuleText: in a text of several statements the refusal is about the INSERT whose row is a set.
func TestValueSetsRuleText(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
	harness.Each(t, []harness.Engine{harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		createRuleTables(t, s, "BIGINT")
		harness.Must(t, s.Raw, "CREATE TABLE first (id BIGINT PRIMARY KEY, a INT)", "CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (1)")
		db, m := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"first": {Column: "id", InPlace: &source}, "t": {Column: "id", InPlace: &source},
		}})
		begin := "INSERT INTO first (a) VALUES (1); "
		_, err := db.Exec(begin + "INSERT INTO t (a) VALUES (generate_series(1, 2))")
		var refused *keyfill.Error
		if !errors.Is(err, rewrite.ErrSetRule) || !errors.As(err, &refused) || refused.Table != "t" || refused.Offset != len(begin) {
			t.Errorf("%v, want %v at byte %d", err, rewrite.ErrSetRule, len(begin))
		}
		if got := m.Stats().Tables["t"].Refused["set_rule"]; got != 1 {
			t.Errorf("%d refusals are counted for t, want 1", got)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM first"); n != 0 {
			t.Errorf("%d rows in the first table, want none", n)
		}
	})
}

// TestValueSetsRuleLate: a prepared row keeps what was found at its Prepare, and a row that
// is not prepared is looked at each time.
func TestValueSetsRuleLate(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	createRuleTables(t, s, "BIGINT")
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
	query := "INSERT INTO t (a) VALUES (generate_series(1, 2))"
	stmt, err := db.Prepare(query)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	harness.Exec(t, db, query)
	harness.Must(t, s.Raw, "CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (1)")
	if _, err := stmt.Exec(); err != nil {
		t.Errorf("prepared before the rule: %v", err)
	}
	if _, err := db.Exec(query); !errors.Is(err, rewrite.ErrSetRule) {
		t.Errorf("after the rule: %v, want %v", err, rewrite.ErrSetRule)
	}
	harness.Must(t, s.Raw, "DROP RULE more ON t")
	harness.Exec(t, db, query)
	if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM t"); n != 6 {
		t.Errorf("%d keys, want 6", n)
	}
}

// TestRuleReadsKey: a rule logs the keys that are in the table, where the plain driver makes
// others for the log.
//
//deviation:filled-inserts | A rule that reads `NEW.id` several times gets the same key each time. With the plain driver each read evaluates the column's default again, so a log gets other keys than the table. Keys that the server makes for the rows of a query are made again here too. | PostgreSQL | `CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO log VALUES (NEW.id)` | –
func TestRuleReadsKey(t *testing.T) {
	t.Parallel()
	harness.Each(t, ruleEngines, func(t *testing.T, s *harness.Scratch) {
		for key, source := range map[string]policy.Source{
			"BIGINT": {Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true},
			"UUID":   {Kind: policy.KindUUIDv7},
		} {
			t.Run(key, func(t *testing.T) {
				createRuleTables(t, s, key)
				onBoth(t, s, "ALTER TABLE l ADD id "+key, "CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (NEW.a, NEW.id)")
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				defer db.Close()
				for _, query := range []string{
					"INSERT INTO t (a, b) VALUES (7, ?)",
					"INSERT INTO t (a, b) VALUES (8, ?), (9, 'y')",
					"INSERT INTO t (a, b) SELECT 10, ?",
					"INSERT INTO t (a, b) SELECT a, ? FROM s ORDER BY a DESC",
				} {
					query = s.Placeholders(query)
					harness.Exec(t, db, query, "x")
					harness.Exec(t, s.Raw, beside(query), "x")
				}
				sameRows(t, s)
				of := "SELECT COUNT(*) FROM t JOIN l ON t.id = l.id AND t.a = l.a"
				if key == "UUID" && s.Server == harness.PostgreSQL18 {
					return // its uuidv7() is called again for the rule
				}
				if n := harness.Count(t, s.Raw, of); n != 7 {
					t.Errorf("the rule has logged %d keys of the table, want 7", n)
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t0 JOIN l0 ON t0.id = l0.id"); n != 0 {
					t.Errorf("without keyfill the rule has logged %d keys of the table, want none", n)
				}
			})
		}
	})
}

// compositeSets are rows of VALUES with a set and a row constructor.
var compositeSets = []struct {
	query   string
	refused string // the column that the refusal names; empty if the row is filled
}{
	{"INSERT INTO t (a, c) VALUES (generate_series(1, 2), ROW(1, 'x'))", "c"},
	{"INSERT INTO t (a, c) VALUES (generate_series(1, 2), (1, 'x'))", "c"},
	{"INSERT INTO t (c, a) VALUES (((ROW(1, 'x'))), generate_series(1, 2))", "c"},
	{"INSERT INTO t (a, b, d) VALUES (1, 'y', (generate_series(1, 2), 'x'))", "d"},
	{"INSERT INTO t AS n (a, \"c\") VALUES (generate_series(1, 2), ROW(1, 'x'))", "c"},
	{"INSERT INTO t (a, c) VALUES (generate_series(1, 2), ROW(1, 'x')::pair)", ""},
	{"INSERT INTO t (a, c) VALUES (generate_series(1, 2), CAST((1, 'x') AS pair))", ""},
	{"INSERT INTO t (a, c.x, c.y) VALUES (generate_series(1, 2), 1, 'x')", ""},
	{"INSERT INTO t (a, b) VALUES (generate_series(1, 2), ROW(1, 'x'))", ""},
	{"INSERT INTO t (a, b) VALUES (generate_series(1, 2), ((1, 2) = (1, 2))::text)", ""},
	{"INSERT INTO t (a, c) VALUES (length('abc'), ROW(1, 'x'))", ""},
}

// TestValueSetsComposite: a row constructor takes the type of its column in VALUES alone,
// so that a row with a set beside one is refused before anything is sent. The plain driver
// stores each of the rows.
//
//deviation:filled-inserts | A row of VALUES is refused if it has a set-returning function and a row constructor for a column of a composite type: in a query the constructor would not get that type. keyfill asks the catalog for the type first. | PostgreSQL | `VALUES (generate_series(1, 2), ROW(1, 'x'))` | `ROW(1, 'x')::pair`
func TestValueSetsComposite(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
	harness.Each(t, ruleEngines, func(t *testing.T, s *harness.Scratch) {
		createRuleTables(t, s, "BIGINT")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		for _, c := range compositeSets {
			for _, form := range []string{"direct", "prepared", "transaction"} {
				harness.Must(t, s.Raw, "DELETE FROM t", "DELETE FROM t0", beside(c.query))
				_, err := harness.SendOnce(context.Background(), db, form, c.query, nil)
				if c.refused != "" {
					if !errors.Is(err, rewrite.ErrSetRow) || !strings.Contains(err.Error(), `column "`+c.refused+`"`) {
						t.Errorf("%s: %s: %v, want %v", c.query, form, err, rewrite.ErrSetRow)
					}
					harness.Must(t, s.Raw, "DELETE FROM t0")
				} else if err != nil {
					t.Errorf("%s: %s: %v", c.query, form, err)
				}
				all := "SELECT a, b, c::text, d::text FROM t ORDER BY a"
				if got, want := harness.RowsOf(t, s.Raw, all), harness.RowsOf(t, s.Raw, beside(all)); !slices.Equal(got, want) {
					t.Errorf("%s: %s: stored %q, want %q", c.query, form, got, want)
				}
			}
		}
	})
}

// TestSelectRules: a rule that runs the query of an INSERT … SELECT again finds the rows
// that the INSERT has stored, if the query reads its own table. Where the engine then finds
// more rows than have keys, the error names the rule; where it does not, t and t0 hold the
// same afterwards.
//
//deviation:insert-select | A rule that reads NEW runs the query again after its rows are stored. If the query then has more rows, because it reads the table itself, the INSERT is an error that names the rule. If it has other rows, the rule reads the numbers in their order. | PostgreSQL | `CREATE RULE r AS ON INSERT TO t DO ALSO UPDATE n SET a = a + 1 WHERE a = NEW.a`; `INSERT INTO t (a) SELECT a FROM t` | a trigger; a copy of the rows
func TestSelectRules(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Start: 1000}
	joined := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Transaction: policy.TransactionJoined, Start: 1000}
	const (
		alsoUpdate = "CREATE RULE more AS ON INSERT TO t DO ALSO UPDATE l SET a = a + 1 WHERE a = NEW.a"
		alsoInsert = "CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (NEW.a + NEW.id * 0)"
	)
	harness.Each(t, ruleEngines, func(t *testing.T, s *harness.Scratch) {
		for _, c := range []struct {
			name, rule, query string
			fails             bool
		}{
			{"its own table", alsoUpdate, "INSERT INTO t (a) SELECT a FROM t WHERE a < 100", true},
			{"its own table, logged", alsoInsert, "INSERT INTO t (a) SELECT a + 3 FROM t WHERE a < 4", false},
			{"its own table, logged again", alsoInsert, "INSERT INTO t (a) SELECT a FROM t WHERE a < 4", true},
			{"another table", alsoInsert, "INSERT INTO t (a) SELECT a FROM s", false},
			{"a few rows more", alsoInsert, "INSERT INTO t (a) SELECT x FROM generate_series(4, 50) AS x UNION ALL SELECT a FROM t WHERE a < 5", false},
			{"no rule", "", "INSERT INTO t (a) SELECT a FROM t", false},
			{"notify", "CREATE RULE more AS ON INSERT TO t DO ALSO NOTIFY x", "INSERT INTO t (a) SELECT a FROM t", false},
		} {
			for _, form := range []string{"direct", "prepared", "transaction"} {
				for name, source := range map[string]*policy.Source{"autonomous": &source, "joined": &joined} {
					if name == "joined" && c.name == "a few rows more" {
						continue // its numbering has no keys to spare
					}
					t.Run(c.name+"/"+form+"/"+name, func(t *testing.T) {
						createRuleTables(t, s, "BIGINT")
						onBoth(t, s, "INSERT INTO t (id, a) SELECT a, a FROM s", "INSERT INTO l SELECT a FROM s")
						if c.rule != "" {
							onBoth(t, s, c.rule)
						}
						db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: source}))
						defer db.Close()
						query := c.query + s.Placeholders(" LIMIT ?")
						_, err := harness.SendOnce(context.Background(), db, form, query, []any{1000})
						if c.fails {
							if err == nil || !errors.As(err, new(*keyfill.Error)) || !strings.Contains(err.Error(), `rule "more" of "t"`) || strings.Contains(err.Error(), "send the INSERT in a transaction") {
								t.Errorf("%v, want an error that names the rule alone", err)
							}
							if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 3 {
								t.Errorf("%d rows, want the 3 that were there", n)
							}
							return
						}
						if err != nil {
							t.Fatal(err)
						}
						harness.Exec(t, s.Raw, beside(query), 1000)
						sameRows(t, s)
					})
				}
			}
		}
	})
}

// TestSelectRulesText: in a text of several statements the error names the rule too, and
// nothing of the text is stored.
func TestSelectRulesText(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Start: 1000}
	harness.Each(t, []harness.Engine{harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		createRuleTables(t, s, "BIGINT")
		harness.Must(t, s.Raw, "INSERT INTO t (id, a) SELECT x, x FROM generate_series(1, 200) AS x",
			"CREATE RULE more AS ON INSERT TO t DO ALSO INSERT INTO l VALUES (NEW.id)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		_, err := db.Exec("INSERT INTO s VALUES (4); INSERT INTO t (a) SELECT a FROM t")
		if !errors.As(err, new(*keyfill.Error)) || !strings.Contains(err.Error(), `rule "more" of "t"`) {
			t.Errorf("%v, want an error that names the rule", err)
		}
		if n := harness.Count(t, s.Raw, "SELECT (SELECT COUNT(*) FROM t) + (SELECT COUNT(*) FROM s) + (SELECT COUNT(*) FROM l)"); n != 203 {
			t.Errorf("%d rows, want the 203 that were there", n)
		}
	})
}
