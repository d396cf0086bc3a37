package keys_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// placeEngines are those with schemas that a session can change to.
var placeEngines = []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}

// schemas makes schemas of their own for a test and returns their names. On MySQL
// and MariaDB, where they are databases, they are gone when the test ends.
func schemas(t *testing.T, s *harness.Scratch, n int) []string {
	t.Helper()
	var names []string
	var here string
	if !s.IsPostgres() {
		if err := s.Raw.QueryRow("SELECT DATABASE()").Scan(&here); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		name := fmt.Sprintf("t%d", i+1)
		if here != "" {
			name = here + "_" + name
			t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP DATABASE IF EXISTS "+name) })
		}
		harness.Exec(t, s.Raw, "CREATE SCHEMA "+name)
		names = append(names, name)
	}
	return names
}

// use is the statement that changes a session to a schema.
func use(s *harness.Scratch, schema string) string {
	if s.IsPostgres() {
		return "SET search_path = " + schema
	}
	return "USE " + schema
}

// on executes statements on one connection.
func on(t *testing.T, conn *sql.Conn, queries ...string) {
	t.Helper()
	for _, query := range queries {
		if _, err := conn.ExecContext(context.Background(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// placeSources are sources with a state, or none but the table.
var placeSources = map[string]*policy.Source{
	"sequence":   {Kind: policy.KindSequence, EnsureSchema: true, Block: 10},
	"joined":     {Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined},
	"maxplusone": {Kind: policy.KindMaxPlusOne, EnsureSchema: true},
	"recycled":   {Kind: policy.KindRecycled, EnsureSchema: true},
}

// TestPlace: a bare name is the table of the schema that the session is in. Each
// has a state of its own, whatever was inserted into before on the connection and
// on others.
func TestPlace(t *testing.T) {
	t.Parallel()
	harness.Each(t, placeEngines, func(t *testing.T, s *harness.Scratch) {
		all := schemas(t, s, 8)
		for i, kind := range []string{"sequence", "joined", "maxplusone", "recycled"} {
			one, two := all[2*i], all[2*i+1]
			harness.Exec(t, s.Raw, "CREATE TABLE "+one+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			harness.Exec(t, s.Raw, "CREATE TABLE "+two+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			harness.Exec(t, s.Raw, "INSERT INTO "+one+".ord VALUES (8, 0)")
			source := *placeSources[kind]
			db, _ := s.Open(t, harness.FillID("ord", policy.Table{InPlace: &source}))
			conn := harness.ConnOf(t, db)
			insert := s.Placeholders("INSERT INTO ord (a) VALUES (?)")
			for _, schema := range []string{one, two, one, two} {
				on(t, conn, use(s, schema))
				if _, err := conn.ExecContext(context.Background(), insert, 1); err != nil {
					t.Fatalf("%s in %s: %v", kind, schema, err)
				}
				on(t, conn, "INSERT INTO ord (a) VALUES (1), (2)")
			}
			on(t, conn, "INSERT INTO "+one+".ord (a) VALUES (3)")
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+one+".ord ORDER BY id"); !slices.Equal(got, append([]int64{8}, harness.Above(startOf(kind), 7)...)) {
				t.Errorf("%s: the first schema has %v", kind, got)
			}
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+two+".ord ORDER BY id"); !slices.Equal(got, harness.UpTo(6)) {
				t.Errorf("%s: the second schema has %v", kind, got)
			}
			conn.Close()
			db.Close()
		}
	})
}

// startOf is where a source of a kind begins in a table with the key 8.
func startOf(kind string) int64 {
	if kind == "recycled" {
		return 1_000_001 // after the series that the key may be of
	}
	return 9
}

// TestPlaceSavepoint: what SET LOCAL has changed is over with its transaction also where
// a savepoint stood between it and an INSERT.
func TestPlaceSavepoint(t *testing.T) {
	t.Parallel()
	engines := []harness.Engine{harness.PgxDefault, harness.PgxSimple, harness.PQDefault}
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		for kind, source := range placeSources {
			t.Run(kind, func(t *testing.T) {
				home, away := kind+"_home", kind+"_away"
				for _, schema := range []string{home, away} {
					harness.Exec(t, s.Raw, "CREATE SCHEMA "+schema)
					harness.Exec(t, s.Raw, "CREATE TABLE "+schema+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				}
				harness.Exec(t, s.Raw, "INSERT INTO "+home+".ord VALUES (8, 0)")
				source := *source
				db, _ := s.Open(t, harness.FillID("ord", policy.Table{InPlace: &source}))
				conn := harness.ConnOf(t, db)
				on(t, conn, "SET search_path = "+home, "INSERT INTO ord (a) VALUES (1)",
					"BEGIN", "SET LOCAL search_path = "+away, "INSERT INTO ord (a) VALUES (2)", "SAVEPOINT s",
					"INSERT INTO ord (a) VALUES (2)", "COMMIT",
					"INSERT INTO ord (a) VALUES (3)")
				if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+home+".ord ORDER BY id"); !slices.Equal(got, append([]int64{8}, harness.Above(startOf(kind), 2)...)) {
					t.Errorf("behind the transaction: %v", got)
				}
			})
		}
	})
}

// TestPlaceHome: the schema in which the database is opened has the state that it
// has without others, also by its name.
func TestPlaceHome(t *testing.T) {
	t.Parallel()
	harness.Each(t, placeEngines, func(t *testing.T, s *harness.Scratch) {
		away := schemas(t, s, 1)[0]
		harness.Exec(t, s.Raw, "CREATE TABLE ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE "+away+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.FillID("ord", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}))
		home := "public"
		if !s.IsPostgres() {
			if err := s.Raw.QueryRow("SELECT DATABASE()").Scan(&home); err != nil {
				t.Fatal(err)
			}
		}
		conn := harness.ConnOf(t, db)
		on(t, conn, "INSERT INTO ord (a) VALUES (1)", use(s, away), "INSERT INTO ord (a) VALUES (1)",
			"INSERT INTO "+home+".ord (a) VALUES (1)", use(s, home), "INSERT INTO ord (a) VALUES (1)",
			"INSERT INTO "+away+".ord (a) VALUES (1)")
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM ord ORDER BY id"); !slices.Equal(got, harness.UpTo(3)) {
			t.Errorf("at home: %v", got)
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+away+".ord ORDER BY id"); !slices.Equal(got, harness.UpTo(2)) {
			t.Errorf("away: %v", got)
		}
		if got := states(t, s); got != "ord.id "+away+".ord.id" && got != away+".ord.id ord.id" {
			t.Errorf("states %s", got)
		}
	})
}

// TestPlaceTakenBack: a search path that is set for a transaction, or in one that is
// rolled back, is the one of before after it. So is one of a function.
func TestPlaceTakenBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		away := schemas(t, s, 1)[0]
		harness.Exec(t, s.Raw, "CREATE TABLE ord (id BIGINT PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE "+away+".ord (id BIGINT PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE FUNCTION enter(name text) RETURNS void LANGUAGE sql AS $$ SELECT set_config('search_path', name, false) $$")
		harness.Exec(t, s.Raw, "CREATE FUNCTION nothing() RETURNS int LANGUAGE sql SET search_path = "+away+" AS $$ SELECT 1 $$")
		db, _ := s.Open(t, harness.FillID("ord", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}))
		conn := harness.ConnOf(t, db)
		insert := "INSERT INTO ord (a) VALUES (1)"
		away = "SET search_path = " + away
		on(t, conn, insert, "BEGIN", away, insert, "ROLLBACK", insert) // here 1, 2
		on(t, conn, "BEGIN", strings.Replace(away, "SET", "SET LOCAL", 1), insert, insert, "COMMIT", insert)
		on(t, conn, "BEGIN", "SAVEPOINT a", away, insert, "ROLLBACK TO a", insert, "COMMIT")
		on(t, conn, "SELECT nothing()", insert, "SELECT public.enter('t1')", insert, "SELECT public.enter('public')", insert, "RESET ALL", insert)
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM ord ORDER BY id"); !slices.Equal(got, harness.UpTo(7)) {
			t.Errorf("at home: %v", got)
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t1.ord ORDER BY id"); len(got) != 3 || got[2] > 5 {
			t.Errorf("away: %v", got)
		}
	})
}

// TestPlacePrepared: a prepared INSERT fills the table that the engine takes: on
// PostgreSQL the one of the search path when it is executed, on MariaDB the one of the
// database in which it was prepared.
func TestPlacePrepared(t *testing.T) {
	t.Parallel()
	harness.Each(t, placeEngines, func(t *testing.T, s *harness.Scratch) {
		all := schemas(t, s, 2)
		for _, schema := range all {
			harness.Exec(t, s.Raw, "CREATE TABLE "+schema+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		}
		harness.Exec(t, s.Raw, "INSERT INTO "+all[0]+".ord VALUES (100, 0)")
		for _, joined := range []string{"", policy.TransactionJoined} {
			db, _ := s.Open(t, harness.FillID("ord", policy.Table{InPlace: &policy.Source{
				Kind: policy.KindSequence, EnsureSchema: true, Transaction: joined, Name: "{schema}-" + joined + "a", Exclusive: true}}))
			conn := harness.ConnOf(t, db)
			on(t, conn, use(s, all[0]))
			stmt, err := conn.PrepareContext(context.Background(), s.Placeholders("INSERT INTO ord (a) VALUES (?)"))
			if err != nil {
				t.Fatal(err)
			}
			for _, schema := range []string{all[0], all[1], all[1], all[0]} {
				on(t, conn, use(s, schema))
				if _, err := stmt.Exec(1); err != nil {
					t.Fatal(err)
				}
			}
			stmt.Close()
			conn.Close()
			db.Close()
		}
		first, second := []int64{100, 101, 102, 103, 104, 105, 106, 107, 108}, []int64(nil)
		if s.IsPostgres() {
			first, second = first[:5], harness.UpTo(4)
		}
		for i, want := range [][]int64{first, second} {
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+all[i]+".ord ORDER BY id"); !slices.Equal(got, want) {
				t.Errorf("%s has %v, want %v", all[i], got, want)
			}
		}
	})
}

// TestPlaceDefaultSchema: default_schema says which entries bare names may mean,
// not that they mean them: that is for the session to say.
func TestPlaceDefaultSchema(t *testing.T) {
	t.Parallel()
	harness.Each(t, placeEngines, func(t *testing.T, s *harness.Scratch) {
		all := schemas(t, s, 3)
		for _, schema := range all {
			harness.Exec(t, s.Raw, "CREATE TABLE "+schema+".ord (id VARCHAR(36), no VARCHAR(36), a INT)")
		}
		cfg := harness.FillID(all[0]+".ord", policy.Table{})
		cfg.Tables[all[1]+".ord"] = policy.Table{Column: "no"}
		cfg.DefaultSchema = all[0]
		db, _ := s.Open(t, cfg)
		conn := harness.ConnOf(t, db)
		for _, schema := range []string{all[2], all[0], all[1], all[2]} {
			on(t, conn, use(s, schema), "INSERT INTO ord (a) VALUES (1)")
		}
		for i, want := range []string{"1 0", "0 1", "0 0"} {
			var got [2]int
			if err := s.Raw.QueryRow("SELECT COUNT(id), COUNT(no) FROM "+all[i]+".ord").Scan(&got[0], &got[1]); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%d %d", got[0], got[1]) != want {
				t.Errorf("%s: %v keys, want %s", all[i], got, want)
			}
		}
	})
}

// TestPlaceTenants: each of 50 tenants has a schema, all on one pool, and the rows of each
// schema are numbered from a state of their own. Numbers that belong to transactions have
// no gaps in any of them. Of others one may be lost: an attempt that gets no answer for a
// second, which happens on a busy machine, is given up, though the server may go on to
// commit it.
func TestPlaceTenants(t *testing.T) {
	t.Parallel()
	const tenants, rows = 50, 6
	for _, transaction := range []string{policy.TransactionAutonomous, policy.TransactionJoined} {
		harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
			all := schemas(t, s, tenants)
			for _, schema := range all {
				harness.Exec(t, s.Raw, "CREATE TABLE "+schema+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			}
			db, m := s.Open(t, harness.FillID("ord", policy.Table{InPlace: &policy.Source{
				Kind: policy.KindSequence, EnsureSchema: true, Transaction: transaction, Block: blockOf(transaction)}}))
			db.SetMaxOpenConns(6)
			var wg sync.WaitGroup
			for worker := range 6 {
				wg.Go(func() {
					for i := range tenants * rows {
						if i%6 != worker {
							continue
						}
						if err := asTenant(s, db, all[i%tenants], i); err != nil {
							t.Errorf("%s: %v", all[i%tenants], err)
							return
						}
					}
				})
			}
			wg.Wait()
			for _, schema := range all {
				got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+schema+".ord ORDER BY id")
				if transaction == policy.TransactionJoined && !slices.Equal(got, harness.UpTo(rows)) || len(slices.Compact(got)) != rows || got[0] < 1 {
					t.Errorf("%s has %v", schema, got)
				}
			}
			if got := strings.Fields(states(t, s)); len(got) != tenants {
				t.Errorf("%d states: %v", len(got), got)
			}
			if got := m.Stats(); len(got.Tables) == 0 {
				t.Error("nothing is counted")
			}
		})
	}
}

func blockOf(transaction string) int64 {
	if transaction == policy.TransactionJoined {
		return 0
	}
	return 1
}

// asTenant inserts a row as an application does that changes to the tenant's schema
// on whatever connection it gets.
func asTenant(s *harness.Scratch, db *sql.DB, schema string, a int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(use(s, schema)); err != nil {
		return err
	}
	if _, err := tx.Exec(s.Placeholders("INSERT INTO ord (a) VALUES (?)"), a); err != nil {
		return err
	}
	return tx.Commit()
}

// TestPlaceQuestions: if the schema does not change, a connection is asked once where it
// is, however often it is used, and no passed statement asks.
//
//deviation:filled-inserts | keyfill asks each new connection for its current schema or database, and asks again after a statement that may have changed it: `USE`, `SET`, `ALTER SESSION`, a function that keyfill does not know, or the end of a transaction with one of these. | MySQL, MariaDB, PostgreSQL, SQL Server, Oracle | `SELECT DATABASE()`; `current_schemas(false)` | –
//deviation:filled-inserts | If the application may reset sessions (pgx with `OptionResetSession` or a pool, unknown drivers, go-ora), keyfill asks a connection for its current schema at each checkout. | PostgreSQL, Oracle, others | `OptionResetSession` | the schema before the name
//deviation:filled-inserts | keyfill does not see that a function called by a trigger, rule, view or operator changes the search path, nor that a new table in an earlier schema of the search path hides the configured one. | PostgreSQL | a trigger that calls `set_config('search_path', …)` | the schema before the name
func TestPlaceQuestions(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		var seen harness.Spy
		connector := driver.Connector(harness.Noting{Connector: s.Connector, Spy: &seen})
		if s.Driver == "pgx" {
			config, err := pgx.ParseConfig(harness.PgxDefault.DSN(t))
			if err != nil {
				t.Fatal(err)
			}
			config.Tracer = tracer{&seen}
			connector = stdlib.GetConnector(*config)
			s.Raw = sql.OpenDB(connector)
			defer s.Raw.Close()
		}
		harness.Exec(t, s.Raw, "CREATE TABLE ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE other (id CHAR(36) NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.FillID("ord", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}})
		cfg.Tables["other"] = policy.Table{Column: "id"}
		cfg.Dialect = s.Dialect.Name
		db, _ := harness.OpenConnector(t, connector, cfg)
		asked := func() (n int) {
			for _, query := range seen.All() {
				if strings.HasSuffix(query, s.Dialect.Place.Query) {
					n++
				}
			}
			return n
		}
		db.SetMaxOpenConns(1)
		use := func() {
			for range 5 {
				harness.Exec(t, db, "INSERT INTO ord (a) VALUES (1)")
				harness.Exec(t, db, s.Placeholders("INSERT INTO ord (a) VALUES (?)"), 1)
				harness.Exec(t, db, "INSERT INTO other (a) VALUES (1)")
				harness.Exec(t, db, "UPDATE ord SET a = 2 WHERE id = 1")
				harness.Count(t, db, "SELECT COUNT(*) FROM ord WHERE COALESCE(a, 0) = 1")
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec("INSERT INTO ord (a) VALUES (1)"); err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
		}
		use()
		// One is the application's connection, another one ours, which says what home
		// is. On MySQL the query about the table says that.
		want := map[bool]int{true: 2, false: 1}[s.IsPostgres()]
		if got := asked(); got != want {
			t.Errorf("%d questions, want %d", got, want)
		}
		conn := harness.ConnOf(t, db)
		on(t, conn, "SET "+map[bool]string{true: "search_path = public", false: "@a = 1"}[s.IsPostgres()])
		conn.Close()
		use()
		if got := asked(); got > 3 {
			t.Errorf("%d questions, want no more than 3", got)
		}
	})
}

// TestPlaceReset: an application's own function may change the search path of a
// connection that is used again.
func TestPlaceReset(t *testing.T) {
	t.Parallel()
	dsn := harness.PgxDefault.DSN(t)
	s := &harness.Scratch{Engine: harness.PgxDefault, Raw: harness.Open(t, "pgx", dsn)}
	all := schemas(t, s, 2)
	for _, schema := range all {
		harness.Exec(t, s.Raw, "CREATE TABLE "+schema+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	to := all[0]
	db, _ := harness.OpenConnector(t, stdlib.GetConnector(*config, stdlib.OptionResetSession(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SET search_path = "+to)
		return err
	})), harness.FillID("ord", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 1}}))
	db.SetMaxOpenConns(1)
	harness.Exec(t, db, "SELECT 1") // the function is for connections that are used again
	for i := range 6 {
		to = all[i%2]
		harness.Exec(t, db, "INSERT INTO ord (a) VALUES (1)")
	}
	for _, schema := range all {
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+schema+".ord ORDER BY id"); !slices.Equal(got, harness.UpTo(3)) {
			t.Errorf("%s has %v", schema, got)
		}
	}
}

// tracer notes the queries that pgx sends.
type tracer struct{ spy *harness.Spy }

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.spy.Note(data.SQL)
	return ctx
}

func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestPlaceReserved: Reserve takes the numbers of the table that INSERTs fill.
func TestPlaceReserved(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		away := schemas(t, s, 1)[0]
		for _, schema := range []string{"", away + "."} {
			harness.Exec(t, s.Raw, "CREATE TABLE "+schema+"ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		}
		db, m := s.Open(t, harness.FillID("ord", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}))
		for i, name := range []string{"ord", away + ".ord"} {
			harness.Exec(t, db, "INSERT INTO "+name+" (a) VALUES (1)")
			if first, err := m.Reserve(context.Background(), name, 1); err != nil || first != 2 {
				t.Errorf("%d: %d, %v", i, first, err)
			}
		}
	})
}
