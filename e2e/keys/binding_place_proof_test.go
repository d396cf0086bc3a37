package keys_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// twoTenants makes schemas a and b with a table of one name each, and functions whose
// effect no text shows. The numbers of a begin at 9, b's at 501.
func twoTenants(t *testing.T, s *harness.Scratch) {
	t.Helper()
	for _, q := range []string{
		"CREATE SCHEMA a", "CREATE SCHEMA b",
		"CREATE TABLE a.t (id BIGINT PRIMARY KEY, n INT)", "CREATE TABLE b.t (id BIGINT PRIMARY KEY, n INT)",
		"INSERT INTO a.t VALUES (8, 0)", "INSERT INTO b.t VALUES (500, 0)",
		"CREATE TABLE public.tenants (name text)", "INSERT INTO public.tenants VALUES ('b')",
		"CREATE TABLE public.log (x text)",
		`CREATE FUNCTION public.use_tenant(name text) RETURNS int LANGUAGE plpgsql AS
			$$ BEGIN PERFORM set_config('search_path', name || ',public', false); RETURN 1; END $$`,
		"CREATE FUNCTION public.index(name text) RETURNS int LANGUAGE sql AS 'SELECT public.use_tenant(name)'",
		"INSERT INTO public.log VALUES ('x')",
		`CREATE FUNCTION public.make_temporary() RETURNS int LANGUAGE plpgsql AS
			$$ BEGIN CREATE TEMP TABLE t (id BIGSERIAL PRIMARY KEY, n INT); RETURN 1; END $$`,
		// No text says what the trigger does.
		`CREATE FUNCTION public.moves() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN PERFORM set_config('search_path', 'b,public', false); RETURN NEW; END $$`,
		"CREATE TABLE public.moving (n INT)",
		"CREATE TRIGGER moves BEFORE INSERT ON public.moving FOR EACH ROW EXECUTE FUNCTION public.moves()",
	} {
		harness.Exec(t, s.Raw, q)
	}
}

// proofEngines are those whose INSERTs prove what a name means.
var proofEngines = []harness.Engine{harness.PgxDefault, harness.PgxSimple, harness.PQDefault}

// TestPlaceProven: a function moves the session, or makes a temporary table, and the next
// INSERT gets its number from the table that it reaches: also where the text of the call
// says nothing of it.
//
//deviation:filled-inserts | After a text that may have changed what names mean, the first key of an INSERT with a bare name stands in an expression that fails if the name means another table. Harmless texts are BEGIN, COMMIT, savepoints, and statements whose functions keyfill knows. | PostgreSQL, SQLite | `CASE WHEN CAST('"t"' AS regclass) = CAST('"a"."t"' AS regclass) THEN … END`; a trigger that sets `search_path` | the schema before the name
//deviation:filled-inserts | If the expression that proves the table fails outside of a transaction, keyfill fills and sends the INSERT again, twice at most. In a transaction or a batch of `keyfillpgx` the INSERT is an error. Before a COPY keyfill asks by a query instead. | PostgreSQL | a trigger that sets `search_path` | the schema before the name
//deviation:filled-inserts | A connection uses the expression that proves a table's schema for at most eight schemas, and each process tests the expression with two queries. A prepared INSERT has the expression if its schema is known. SQLite needs it only for temporary tables, after `keyfill.Unwrap`. | PostgreSQL, SQLite | `CREATE TEMP TABLE t` through `keyfill.Unwrap` | the schema before the name
func TestPlaceProven(t *testing.T) {
	t.Parallel()
	harness.Each(t, proofEngines, func(t *testing.T, s *harness.Scratch) {
		twoTenants(t, s)
		for n, c := range []struct {
			text      string
			temporary bool
		}{
			{"SELECT use_tenant('b')", false},
			{"SELECT index('b')", false}, // a word of the grammar of other engines
			{"ALTER TABLE log ALTER COLUMN x TYPE text USING use_tenant('b')", false},
			{"SELECT 1 AS ok FROM set_config('search_path','b,public',false)", false},
			{"SELECT 1 AS ok FROM use_tenant('b')", false},
			{"SELECT n.name AS n FROM tenants AS n WHERE set_config('search_path', n.name || ',public', false) <> ''", false},
			{"INSERT INTO log SELECT set_config('search_path','b,public',false)", false},
			{"INSERT INTO log (x) SELECT 'x' AS x FROM use_tenant('b')", false},
			{"WITH w AS (SELECT use_tenant('b')) SELECT * FROM w", false},
			{"SELECT make_temporary()", true},
			{"SELECT 1 AS ok FROM make_temporary() AS m (n)", true},
			{"DO $$ BEGIN CREATE TEMP TABLE t (id BIGSERIAL PRIMARY KEY, n INT); END $$", true},
		} {
			for _, kind := range []string{"sequence", "joined", "begun"} {
				i := n + 10
				source := *placeSources["sequence"]
				if kind == "joined" {
					source = *placeSources[kind]
				}
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				conn := harness.ConnOf(t, db)
				insert := s.Placeholders("INSERT INTO t (n) VALUES (?)")
				prepared := func(when string) {
					stmt, err := conn.PrepareContext(t.Context(), insert)
					if err != nil {
						t.Fatal(err)
					}
					defer stmt.Close()
					for range 2 {
						if _, err := stmt.ExecContext(t.Context(), i); err != nil {
							t.Errorf("%s, %s: prepared %s: %v", kind, c.text, when, err)
						}
					}
				}
				on(t, conn, "SET search_path = a, public", "INSERT INTO t (n) VALUES (1)")
				held, err := conn.PrepareContext(t.Context(), insert)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := held.ExecContext(t.Context(), i); err != nil {
					t.Fatal(err)
				}
				if kind == "begun" {
					on(t, conn, "BEGIN")
				}
				on(t, conn, c.text)
				before := harness.IntegersOf(t, s.Raw, "SELECT id FROM a.t ORDER BY id")
				if _, err := conn.ExecContext(t.Context(), insert, i); err != nil {
					t.Errorf("%s, %s: %v", kind, c.text, err)
				}
				if _, err := held.ExecContext(t.Context(), i); err != nil {
					t.Errorf("%s, %s: prepared in front: %v", kind, c.text, err)
				}
				prepared("behind")
				if kind == "begun" {
					on(t, conn, "COMMIT")
				}
				if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM a.t ORDER BY id"); !slices.Equal(got, before) {
					t.Errorf("%s, %s: a has %v, and had %v", kind, c.text, got, before)
				}
				here := "b.t"
				if c.temporary {
					here = "pg_temp.t"
				}
				var rows, least int64
				if err := conn.QueryRowContext(t.Context(), "SELECT count(*), min(id) FROM "+here+" WHERE n = "+fmt.Sprint(i)).Scan(&rows, &least); err != nil {
					t.Fatal(err)
				}
				if rows != 4 || !c.temporary && least < 501 || c.temporary && least != 1 {
					t.Errorf("%s, %s: %s has %d rows from %d", kind, c.text, here, rows, least)
				}
				conn.Close()
				db.Close()
				for _, q := range []string{"DELETE FROM a.t WHERE n > 0", "DELETE FROM b.t WHERE n >= 0 AND id > 500", "DROP TABLE IF EXISTS keyfill_sequences, a.keyfill_sequences"} {
					harness.Exec(t, s.Raw, q)
				}
			}
		}
	})
}

// TestPlaceProofFails: if no text shows that the session has moved, the INSERT's own
// proof fails. Outside of a transaction it is decided again and stored where it belongs;
// in one it is an error that says so, and nothing is stored.
func TestPlaceProofFails(t *testing.T) {
	t.Parallel()
	harness.Each(t, proofEngines, func(t *testing.T, s *harness.Scratch) {
		twoTenants(t, s)
		var database string
		if err := s.Raw.QueryRow("SELECT current_database()").Scan(&database); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"sequence", "joined"} {
			for _, way := range []string{"direct", "prepared", "prepared at home", "begun"} {
				home := way == "prepared at home"
				if home && kind == "joined" {
					continue // its tables are in a too, and are not found from b
				}
				if home {
					harness.Exec(t, s.Raw, "ALTER DATABASE "+database+" SET search_path = a, public")
				}
				source := *placeSources[kind]
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				conn := harness.ConnOf(t, db)
				if !home { // where it is proven whatever was sent
					on(t, conn, "SET search_path = a, public", "INSERT INTO t (n) VALUES (1)")
				}
				run := func(db interface {
					ExecContext(context.Context, string, ...any) (sql.Result, error)
					PrepareContext(context.Context, string) (*sql.Stmt, error)
				}) error {
					insert := s.Placeholders("INSERT INTO t (n) VALUES (?)")
					if !strings.HasPrefix(way, "prepared") {
						if _, err := db.ExecContext(t.Context(), "INSERT INTO moving (n) VALUES (1)"); err != nil {
							t.Fatal(err)
						}
						_, err := db.ExecContext(t.Context(), insert, 7)
						return err
					}
					stmt, err := db.PrepareContext(t.Context(), insert)
					if err != nil {
						t.Fatal(err)
					}
					defer stmt.Close()
					if _, err := db.ExecContext(t.Context(), "INSERT INTO moving (n) VALUES (1)"); err != nil {
						t.Fatal(err)
					}
					_, err = stmt.ExecContext(t.Context(), 7)
					return err
				}
				if way == "begun" {
					tx, err := conn.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					err = run(tx)
					if err == nil || !strings.Contains(err.Error(), "#name-moved") {
						t.Errorf("%s %s: %v", kind, way, err)
					}
					_ = tx.Rollback()
				} else if err := run(conn); err != nil {
					t.Errorf("%s %s: %v", kind, way, err)
				}
				if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM a.t WHERE n = 7"); len(got) > 0 {
					t.Errorf("%s %s: a has %v", kind, way, got)
				}
				if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM b.t WHERE n = 7"); way != "begun" && (len(got) != 1 || got[0] < 501) {
					t.Errorf("%s %s: b has %v", kind, way, got)
				}
				conn.Close()
				db.Close()
				harness.Exec(t, s.Raw, "ALTER DATABASE "+database+" RESET search_path")
				for _, q := range []string{"DELETE FROM a.t WHERE n > 0", "DELETE FROM b.t WHERE n > 0", "DROP TABLE IF EXISTS keyfill_sequences, a.keyfill_sequences"} {
					harness.Exec(t, s.Raw, q)
				}
			}
		}
	})
}

// TestPlaceManyTenants: one connection serves many tenants by SET LOCAL search_path. Each gets
// numbers of its own, and the texts that prove what the name means do not grow with the
// tenants: each text is a trip more, and a statement that the server keeps.
func TestPlaceManyTenants(t *testing.T) {
	t.Parallel()
	const tenants, most = 24, 2 * (8 + 1) // eight places that are proven, and the text without a proof
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for i := range tenants {
			harness.Exec(t, s.Raw, fmt.Sprintf("CREATE SCHEMA tenant%d", i))
			harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE tenant%d.t (id BIGINT PRIMARY KEY, n INT)", i))
			harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO tenant%d.t VALUES (%d, 0)", i, 1000*i))
		}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}))
		conn := harness.ConnOf(t, db)
		insert := s.Placeholders("INSERT INTO t (n) VALUES (?)")
		var held *sql.Stmt
		for round := range 2 {
			for i := range tenants {
				on(t, conn, "BEGIN", fmt.Sprintf("SET LOCAL search_path = tenant%d, public", i))
				if held == nil {
					var err error
					if held, err = conn.PrepareContext(t.Context(), insert); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := held.ExecContext(t.Context(), round); err != nil {
					t.Fatalf("tenant %d: %v", i, err)
				}
				if _, err := conn.ExecContext(t.Context(), insert, round); err != nil {
					t.Fatalf("tenant %d: %v", i, err)
				}
				on(t, conn, "COMMIT")
			}
		}
		for i := range tenants {
			got := harness.IntegersOf(t, s.Raw, fmt.Sprintf("SELECT id FROM tenant%d.t ORDER BY id", i))
			if want := append([]int64{int64(1000 * i)}, harness.Above(int64(1000*i+1), 4)...); !slices.Equal(got, want) {
				t.Errorf("tenant %d has %v, want %v", i, got, want)
			}
		}
		var kept int
		if err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO t %'").Scan(&kept); err != nil {
			t.Fatal(err)
		}
		if kept < 2 || kept > most {
			t.Errorf("the server keeps %d statements of the INSERT for %d tenants, want at most %d", kept, tenants, most)
		}
	})
}

// TestPlaceUnwrapped: a program that has the driver's own connection can make a temporary
// table that no text shows. The next INSERT goes where it goes without keyfill, and a row
// of the other table gets no number of the configured one.
func TestPlaceUnwrapped(t *testing.T) {
	t.Parallel()
	engines := append([]harness.Engine{harness.SQLiteFile, harness.MattnFile}, proofEngines...)
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		for _, kind := range []string{"sequence", "joined"} {
			harness.Exec(t, s.Raw, "CREATE TABLE "+kind+" (id BIGINT PRIMARY KEY, n INT)")
			harness.Exec(t, s.Raw, "INSERT INTO "+kind+" VALUES (8, 0)")
			source := *placeSources[kind]
			db, _ := s.Open(t, harness.FillID(kind, policy.Table{InPlace: &source}))
			conn := harness.ConnOf(t, db)
			insert := "INSERT INTO " + kind + " (n) VALUES (1)"
			held, err := conn.PrepareContext(t.Context(), insert)
			if err != nil {
				t.Fatal(err)
			}
			on(t, conn, insert)
			if err := conn.Raw(func(c any) error {
				_, err := keyfill.Unwrap(c).(driver.ExecerContext).ExecContext(t.Context(),
					"CREATE TEMPORARY TABLE "+kind+" (id INTEGER, n INT)", nil)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			// From here on keyfill knows again that no transaction is open.
			tx, err := conn.BeginTx(t.Context(), nil)
			if err == nil {
				err = tx.Commit()
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, begun := range []bool{false, true} {
				if begun {
					on(t, conn, "BEGIN")
				}
				on(t, conn, insert)
				if _, err := held.ExecContext(t.Context()); err != nil {
					t.Errorf("%s: prepared, in a transaction %t: %v", kind, begun, err)
				}
				if begun {
					on(t, conn, "COMMIT")
				}
			}
			var rows, keys int
			if err := conn.QueryRowContext(t.Context(), "SELECT count(*), count(id) FROM "+kind).Scan(&rows, &keys); err != nil {
				t.Fatal(err)
			}
			if rows != 4 || keys != 0 {
				t.Errorf("%s: the temporary table has %d rows, %d of them with keys", kind, rows, keys)
			}
			on(t, conn, "DROP TABLE "+kind, insert)
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+kind+" ORDER BY id"); len(got) != 3 {
				t.Errorf("%s: the table has %v", kind, got)
			}
			conn.Close()
			db.Close()
		}
	})
}
