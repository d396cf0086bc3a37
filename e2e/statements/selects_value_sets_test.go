package statements_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// valueSets are single rows of VALUES that PostgreSQL stores as several.
var valueSets = []selectCell{
	{name: "generate_series", query: "INSERT INTO t (a) VALUES (generate_series(2, 4))"},
	{name: "none", query: "INSERT INTO t (a) VALUES (generate_series(2, 1))"},
	{name: "unnest", query: "INSERT INTO t (a, b) VALUES (unnest(?::int[]), ?)", args: []any{"{7,8,9}", "x"}},
	{name: "two sets", query: "INSERT INTO t (a, b) VALUES (generate_series(1, 3), regexp_split_to_table(?, ','))", args: []any{"p,q"}},
	{name: "inside", query: "INSERT INTO t (b, a) VALUES (upper(regexp_split_to_table('p,q,r', ',')), 4 + generate_series(1, 2))"},
	{name: "nested", query: "INSERT INTO t (a) VALUES (generate_series(1, generate_series(1, 3)))"},
	{name: "json", query: "INSERT INTO t (b, a) VALUES (jsonb_array_elements_text(?::jsonb), length('abc'))", args: []any{`["p", "q"]`}},
	{name: "field", query: "INSERT INTO t (b) VALUES ((jsonb_each_text('{\"p\": 1, \"q\": 2}')).value)"},
	{name: "schema", query: "INSERT INTO t (a) VALUES (pg_catalog.generate_series(1, 3))"},
	{name: "quoted", query: "INSERT INTO t (a) VALUES (\"generate_series\"(1, 3))"},
	{name: "literals of the columns' types", query: "INSERT INTO t (d, a, b) VALUES ('2020-02-03', unnest(ARRAY[1, 2]), NULL)"},
	{name: "upsert", query: "INSERT INTO t (a, b) VALUES (generate_series(1, 3), 'x') ON CONFLICT DO NOTHING"},
	{name: "brackets around", query: "INSERT INTO t (a) (VALUES (generate_series(1, 3)))"},
	{name: "in front", query: "WITH x AS (SELECT 3 AS n) INSERT INTO t (a) VALUES (generate_series(1, (SELECT n FROM x)))"},
	{name: "in a WITH clause", query: "WITH x AS (INSERT INTO t (a) VALUES (generate_series(1, 3)) RETURNING a) SELECT a FROM x"},
	{name: "one in a WITH clause", query: "WITH x AS (INSERT INTO t (b) VALUES (lower(?)) RETURNING a) SELECT a FROM x", args: []any{"X"}},
	{name: "no list", query: "INSERT INTO t VALUES (DEFAULT, 1)"},
	{name: "one", query: "INSERT INTO t (a, b) VALUES (1 + ?, lower(?))", args: []any{2, "X"}},
	{name: "usual calls", query: "INSERT INTO t (b, d, a, f) VALUES (substr(md5(?), 1, 9), to_timestamp(?)::date, length(current_setting('server_encoding')), ?::jsonb ->> 'k')", args: []any{"x", 3, `{"k": "v"}`}},
	{name: "calls without values", query: "INSERT INTO t (b, d, a) VALUES (current_database(), CURRENT_DATE, nextval('numbers') * 0 + position('b' in 'ab'))"},
	{name: "clock and random", query: "INSERT INTO t (d, a, b) VALUES (now(), extract(year from clock_timestamp()), left(gen_random_uuid()::text, 0))"},
	{name: "query", query: "INSERT INTO t (a, b) VALUES ((SELECT MAX(a) FROM u), (SELECT b FROM u WHERE a = ?))", args: []any{2}},
	{name: "types", query: "INSERT INTO t (d, a, b) VALUES ('2020-01-01'::date + 3, '12', (ROW(1, 'x')::pair).y || 'y')"},
	{name: "case", query: "INSERT INTO t (b, d) VALUES (CASE WHEN ? > 1 THEN 'p' ELSE 'q' END, COALESCE(?, DATE '2020-01-01'))", args: []any{2, nil}},
	{name: "several rows", query: "INSERT INTO t (a, b) VALUES (1 + 1, upper('x')), (abs(-3), 'y')"},
	{name: "text in two pieces", query: "INSERT INTO t (b, d) VALUES ('x'\n'y', U&'2020!002d01-01' UESCAPE '!')"},
	{name: "fields", query: "INSERT INTO t (a, b) VALUES ((ROW(3, 'z')::pair).*)"},
	{name: "fields without a type", query: "INSERT INTO t (a, b) VALUES ((ROW(3, 'z')).*)"},
	{name: "fields of OUT parameters", query: "INSERT INTO t (a, b) VALUES ((outs()).*)"},
	{name: "fields in brackets", query: "INSERT INTO t (a, b) VALUES (((outs()).*))"},
	{name: "fields by an argument", query: "INSERT INTO t (a, b) VALUES ((outs(?::int)).*)", args: []any{3}},
	{name: "fields by a call", query: "INSERT INTO t (a, b) VALUES ((public.outs(length(lower(?)))).*)", args: []any{"abc"}},
	{name: "fields of an operator", query: "INSERT INTO t (a, b) VALUES ((? <#># 2).*)", args: []any{1}},
	{name: "fields beside others", query: "INSERT INTO t (d, a, b, f) VALUES ('2020-01-02', (outs()).*, ?)", args: []any{"true"}},
	{name: "fields twice", query: "INSERT INTO t (a, b, d, f) VALUES ((outs(1)).*, (ROW('2020-01-02'::date, true)).*)"},
	{name: "fields of a query", query: "INSERT INTO t (a, b) VALUES ((SELECT r FROM pairs r WHERE x = ?).*)", args: []any{5}},
	{name: "fields of a query's value", query: "INSERT INTO t (a, b) VALUES ((SELECT ROW(1, 'x')::pair).*)"},
	{name: "fields of a condition", query: "INSERT INTO t (a, b) VALUES ((CASE WHEN ? > 1 THEN ROW(1, 'x')::pair END).*)", args: []any{2}},
	{name: "fields of an element", query: "INSERT INTO t (a, b) VALUES (((ARRAY[ROW(1, 'x')::pair])[1]).*)"},
	{name: "fields of an argument", query: "INSERT INTO t (a, b) VALUES ((?::pair).*)", args: []any{"(4,q)"}},
	{name: "fields behind the key", query: "INSERT INTO t (id, a, b) VALUES (DEFAULT, (outs()).*)"},
	{name: "fields before the key", query: "INSERT INTO t (a, b, id) VALUES ((outs()).*, NULL)"},
	{name: "fields around the key", query: "INSERT INTO t (d, f, id, a, b) VALUES ((ROW(DATE '2020-01-02', false)).*, NULL, upper('1')::int, ?)", args: []any{"x"}},
	{name: "fields in several rows", query: "INSERT INTO t (id, a, b) VALUES (DEFAULT, (outs()).*), (NULL, 1, lower('X'))"},
	{name: "fields in a row", query: "INSERT INTO t (b) VALUES (ROW((outs()).*)::text)"},
	{name: "fields of the engine's set", query: "INSERT INTO t (b, f) VALUES ((jsonb_each_text('{\"p\": 1, \"q\": 2}')).*)"},
}

// TestValueSets: the only row of VALUES is stored as the rows that the plain driver
// stores for it, each with a key of its own.
//
//deviation:filled-inserts | A value that may be a set, in the only row of VALUES or in a SELECT without FROM, is sent as `COALESCE(value)`. The value stays the same. A set from a function of the application is an error of keyfill; in a transaction the engine's error comes first. | PostgreSQL | `VALUES (lower($1))`; `VALUES (my_set())` | select FROM the set
func TestValueSets(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxMode("exec"), harness.PgxSimple, harness.PQDefault, harness.PQBinary}, func(t *testing.T, s *harness.Scratch) {
		createSelectTables(t, s)
		for _, query := range []string{
			"CREATE TYPE pair AS (x int, y text)",
			"CREATE SEQUENCE numbers",
			"CREATE TABLE pairs OF pair",
			"INSERT INTO pairs VALUES (5, 'p')",
			"CREATE FUNCTION outs(OUT x int, OUT y text) LANGUAGE sql AS $$SELECT 1, 'x'$$",
			"CREATE FUNCTION outs(n int, OUT x int, OUT y text) LANGUAGE sql AS $$SELECT n, 'x' || n$$",
			// One of the name returns a set, and is not meant.
			"CREATE FUNCTION outs(n text, OUT x int, OUT y text) RETURNS SETOF record LANGUAGE sql AS $$SELECT 1, n UNION ALL SELECT 2, n$$",
			"CREATE FUNCTION outs(l int, r int, OUT x int, OUT y text) LANGUAGE sql AS $$SELECT l, 'y' || r$$",
			"CREATE OPERATOR <#># (leftarg = int, rightarg = int, function = outs)",
		} {
			harness.Exec(t, s.Raw, query)
		}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		for _, c := range valueSets {
			for _, form := range []string{"direct", "prepared", "transaction"} {
				t.Run(c.name+"/"+form, func(t *testing.T) { trySelect(t, s, db, c, form) })
			}
		}
	})
}

// TestRecordKeys: beside a record the key is stored as it is recorded, whatever column takes it.
//
//deviation:filled-inserts | Where the only row of VALUES takes the fields of a record, the key is sent in a `CASE` that the engine drops before it runs. A record that is a set is an error of keyfill. An argument in the key's place is refused. | PostgreSQL | `VALUES ((f()).*)`; `(a, b, id) VALUES ((f()).*, $1)` | select FROM the function
func TestRecordKeys(t *testing.T) {
	t.Parallel()
	sequence := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxMode("exec"), harness.PgxSimple, harness.PQDefault, harness.PQBinary}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE FUNCTION outs(OUT x int, OUT y text) LANGUAGE sql AS $$SELECT 1, 'x'$$")
		for i, c := range []struct {
			column string
			rule   policy.Table
		}{
			{"uuid", policy.Table{Source: policy.KindUUIDv7}},
			{"text", policy.Table{Source: policy.KindUUIDv7}},
			{"varchar(36)", policy.Table{Source: policy.KindUUIDv7}},
			{"char(36)", policy.Table{Source: policy.KindUUIDv4}},
			{"bytea", policy.Table{Source: policy.KindUUIDv7, Layout: dialect.SequentialAsBinary}},
			{"varchar(26)", policy.Table{Source: policy.KindULID}},
			{"int", policy.Table{InPlace: &sequence, MaxBits: 31}},
			{"numeric(19)", policy.Table{InPlace: &sequence}},
			{"varchar(19)", policy.Table{InPlace: &sequence, Layout: dialect.SequentialAsString}},
		} {
			table := fmt.Sprintf("t%d", i)
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id "+c.column+" PRIMARY KEY, a int, b text)")
			c.rule.Column = "id"
			db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{table: c.rule}})
			for _, form := range []string{"direct", "prepared"} {
				for _, values := range []string{"(a, b) VALUES ((outs()).*)", "(a, b, id) VALUES ((outs()).*, NULL)", "(b, a) VALUES (?, (ROW(2)).*)"} {
					var args []any
					if strings.Contains(values, "?") {
						args = []any{"y"}
					}
					ctx, rec := keyfill.Record(context.Background())
					if _, err := harness.SendOnce(ctx, db, form, s.Placeholders("INSERT INTO "+table+" "+values), args); err != nil {
						t.Errorf("%s, %s, %s: %v", c.column, form, values, err)
						continue
					}
					want := rec.Keys(table)
					if len(want) != 1 {
						t.Fatalf("%s: recorded %v", c.column, want)
					}
					key := fmt.Sprint(want[0].Key)
					if c.column == "bytea" {
						key = `\x` + strings.ReplaceAll(key, "-", "")
					}
					if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+table+" WHERE id::text = '"+key+"'"); n != 1 {
						t.Errorf("%s, %s, %s: %d rows have the recorded key %s", c.column, form, values, n, key)
					}
				}
			}
		}
	})
}

// ownSets are single rows that no list of names would find: functions, overloads and
// operators of the application that return sets, by its search path too.
var ownSets = []string{
	"INSERT INTO t (a) VALUES (two())",
	"INSERT INTO t (b) VALUES (upper('x'))",
	"INSERT INTO t (b) VALUES (lower(1))",
	"INSERT INTO t (a) VALUES (1 <<<< 2)",
	"INSERT INTO t (a) VALUES (-(1 <<<< 2))",
	"INSERT INTO t (b) VALUES ((pairs()).y)",
	"INSERT INTO t (a, b) VALUES ((pairs()).*)",
	"INSERT INTO t (a) VALUES (((((((((((two())))))))))))",
	"INSERT INTO t (a) VALUES (ARRAY_LENGTH(ARRAY[two()], 1))",
	"INSERT INTO t (a) VALUES (GREATEST(1, two()))",
	"INSERT INTO t (a) VALUES (COALESCE(1, 2) + two())",
	"INSERT INTO t (d) VALUES (TIMESTAMP '2020-01-01' AT TIME ZONE lower(1))",
	"INSERT INTO t (a) VALUES ((ROW(two(), 2)::pair).x)",
	"INSERT INTO t (id, a) VALUES (NULL, two())",
	"INSERT INTO t (id, a) VALUES (DEFAULT, generate_series(1, 2))",
	"INSERT INTO t (b, a) VALUES (DEFAULT, generate_series(1, 2))",
	"INSERT INTO t (a, b) VALUES ((rows()).*)",
	"INSERT INTO t (a, b) VALUES ((outs(two())).*)",
	"INSERT INTO t (a, b) VALUES ((outs(1)).*)",
	"INSERT INTO t (a, b) VALUES ((ROW(two(), 'x')).*)",
	"INSERT INTO t (id, a, b) VALUES (DEFAULT, (rows()).*)",
	"INSERT INTO t (a, b) VALUES ((1 <*> 2).*)",
}

// TestValueSetsRefused: a row that is stored as several is an error where keys could
// not be made for them, and stores nothing.
//
//deviation:filled-inserts | The only row of VALUES with a set of the engine's own functions is filled as `INSERT … SELECT`. The INSERT is refused if the row also has DEFAULT, or a value for the key that keyfill may have to replace. | PostgreSQL | `VALUES (unnest($1::int[]))` | name the key column
func TestValueSetsRefused(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxMode("exec"), harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		createSelectTables(t, s)
		for _, query := range []string{
			"CREATE TYPE pair AS (x int, y text)",
			"CREATE SCHEMA own",
			"CREATE FUNCTION two() RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 UNION ALL SELECT 2'",
			"CREATE FUNCTION pairs() RETURNS SETOF pair LANGUAGE sql AS $$SELECT 1, 'a' UNION ALL SELECT 2, 'b'$$",
			"CREATE FUNCTION own.upper(text) RETURNS SETOF text LANGUAGE sql AS 'SELECT $1 UNION ALL SELECT $1'",
			"CREATE FUNCTION lower(int) RETURNS SETOF text LANGUAGE sql AS $$SELECT 'utc' UNION ALL SELECT 'utc'$$",
			"CREATE FUNCTION two_of(int, int) RETURNS SETOF int LANGUAGE sql AS 'SELECT $1 UNION ALL SELECT $2'",
			"CREATE OPERATOR <<<< (leftarg = int, rightarg = int, function = two_of)",
			"CREATE FUNCTION rows(OUT x int, OUT y text) RETURNS SETOF record LANGUAGE sql AS $$SELECT 1, 'a' UNION ALL SELECT 2, 'b'$$",
			"CREATE FUNCTION outs(text, OUT x int, OUT y text) LANGUAGE sql AS $$SELECT 1, 'a'$$",
			"CREATE FUNCTION outs(int) RETURNS TABLE (x int, y text) LANGUAGE sql AS $$SELECT 1, 'a' UNION ALL SELECT 2, 'b'$$",
			"CREATE FUNCTION rows_of(int, int) RETURNS SETOF pair LANGUAGE sql AS $$SELECT 1, 'a' UNION ALL SELECT 2, 'b'$$",
			"CREATE OPERATOR <*> (leftarg = int, rightarg = int, function = rows_of)",
		} {
			harness.Exec(t, s.Raw, query)
		}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		conn, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.ExecContext(context.Background(), "SET search_path = own, pg_catalog, public"); err != nil {
			t.Fatal(err)
		}
		for _, query := range ownSets {
			_, err := conn.ExecContext(context.Background(), query)
			var refused *keyfill.Error
			if !errors.Is(err, rewrite.ErrSet) || !errors.As(err, &refused) {
				t.Errorf("%s: %v, want %v", query, err, rewrite.ErrSet)
			}
		}
		if n := harness.RowsOf(t, s.Raw, "SELECT a FROM t"); len(n) != 0 {
			t.Errorf("stored %q", n)
		}
	})
}

// TestRuleStoresMore: a rule that stores a row twice under one key is an error.
//
//deviation:filled-inserts | If a rule stores one row of VALUES as several rows with the same key, the INSERT is an error, and keyfill drops its reserved block. | PostgreSQL | `CREATE RULE … DO INSTEAD INSERT … SELECT` | –
func TestRuleStoresMore(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE r (id BIGINT, a INT)")
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
	harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
	harness.Exec(t, s.Raw, "CREATE RULE two AS ON INSERT TO t DO INSTEAD INSERT INTO r SELECT NEW.id, n FROM generate_series(1, 2) n")
	if _, err := db.Exec("INSERT INTO t (a) VALUES (2)"); err == nil {
		t.Error("a row that was stored twice under one key is no error")
	}
	if got := m.Stats().Tables["t"].Suspects; got != 1 {
		t.Errorf("%d suspects, want 1", got)
	}
}
