package stores_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// The statements and the round trips of the first INSERTs of a process, which opens states
// that are there.
const (
	mostQuestionsFirst   = 6 // for the first table of a process
	mostQuestionsFurther = 3 // for each other table
)

// coldEngines are one engine for each driver, and pgx in its default mode.
var coldEngines = []struct {
	harness.Engine

	most [2]int // questions about the first table and about another one
}{
	{harness.SQLiteFile, [2]int{5, mostQuestionsFurther}}, // in this process: no round trips
	{harness.MySQLDefault, [2]int{5, mostQuestionsFurther}},
	{harness.PgxDefault, [2]int{5, mostQuestionsFurther}},
	{harness.PQDefault, [2]int{5, mostQuestionsFurther}},
}

// TestColdStart counts what a process asks before its first INSERT into a table with a
// sequence, and into another one.
func TestColdStart(t *testing.T) {
	t.Parallel()
	for _, e := range coldEngines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			harness.CreateIDs(t, s, "t", "u")
			insert := func(db *sql.DB, table string) {
				harness.Exec(t, db, "INSERT INTO "+table+" (a) VALUES (1)")
			}
			earlier, _ := s.Open(t, coldPolicy(e.Dialect, 0))
			insert(earlier, "t")
			insert(earlier, "u")

			spy := &harness.Spy{}
			db, _ := harness.OpenConnector(t, harness.Noting{Connector: s.Connector, Spy: spy}, coldPolicy(e.Dialect, 0))
			for i, table := range []string{"t", "u"} {
				insert(db, table)
				asked := questions(spy)
				if i > 0 {
					asked = withoutPlace(asked)
				}
				t.Logf("%s: %d questions for table %d", e.Name, len(asked), i+1)
				if len(asked) > e.most[i] {
					t.Errorf("table %d: %d questions, want at most %d:\n%s", i+1, len(asked), e.most[i], strings.Join(asked, "\n"))
				}
			}
			insert(db, "t")
			if asked := withoutPlace(questions(spy)); len(asked) > 0 {
				t.Errorf("an INSERT with a key in hand: %q", asked)
			}
		})
	}
}

// questions takes the statements that a spy has noted and that are keyfill's own.
func questions(spy *harness.Spy) (asked []string) {
	for _, query := range spy.All() {
		if !strings.HasPrefix(query, "INSERT INTO t ") && !strings.HasPrefix(query, "INSERT INTO u ") {
			asked = append(asked, query)
		}
	}
	spy.Take()
	return asked
}

// withoutPlace leaves out the first question where it is for the place. A connection that is
// wrapped, as a spy's, is asked again each time that it comes back from the pool.
func withoutPlace(asked []string) []string {
	if len(asked) > 0 && strings.Contains(asked[0], "SELECT CAST(pg_catalog.current_schemas") {
		return asked[1:]
	}
	return asked
}

// spying is a connector whose connections note their queries apart from one another.
type spying struct {
	driver.Connector

	mu   sync.Mutex
	each []*harness.Spy
}

// Connect opens a connection with a spy of its own.
func (c *spying) Connect(ctx context.Context) (driver.Conn, error) {
	spy := &harness.Spy{}
	c.mu.Lock()
	c.each = append(c.each, spy)
	c.mu.Unlock()
	return harness.Noting{Connector: c.Connector, Spy: spy}.Connect(ctx)
}

// TestFirstCatalog: on PostgreSQL the first INSERT of a process asks for its table on its own
// connection, while keyfill's is opened, if nothing has changed the session. Otherwise the
// answer would be of another session than the one that keyfill's connections have.
func TestFirstCatalog(t *testing.T) {
	t.Parallel()
	for _, e := range []harness.Engine{harness.PgxDefault, harness.PQDefault} {
		for _, c := range []struct {
			name   string
			before string // a text that is sent before the INSERT
			own    bool   // the INSERT's connection is asked
		}{
			{"as opened", "", true},
			{"another query", "SELECT 1", true},
			{"a setting", "SET quote_all_identifiers = on", false},
			{"another path", "SET search_path = public, pg_catalog", false},
			{"a temporary table", "CREATE TEMPORARY TABLE other (a INT)", false},
			{"a function", "SELECT made()", false},
		} {
			t.Run(e.Name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				s := e.Scratch(t)
				harness.CreateIDs(t, s, "t")
				harness.Exec(t, s.Raw, "CREATE FUNCTION made() RETURNS INT LANGUAGE plpgsql AS $$BEGIN PERFORM set_config('quote_all_identifiers', 'on', false); RETURN 1; END$$")
				all := &spying{Connector: s.Connector}
				db, _ := harness.OpenConnector(t, all, coldPolicy(e.Dialect, 0))
				conn := harness.ConnOf(t, db)
				if c.before != "" {
					rows, err := conn.QueryContext(t.Context(), c.before)
					if err != nil {
						t.Fatal(err)
					}
					if err := errors.Join(rows.Close(), rows.Err()); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := conn.ExecContext(t.Context(), "INSERT INTO t (a) VALUES (1)"); err != nil {
					t.Fatal(err)
				}
				for i, spy := range all.each {
					asked := slices.ContainsFunc(spy.All(), func(q string) bool { return strings.Contains(q, "pg_catalog.format_type(") })
					if asked != (c.own == (i == 0)) {
						t.Errorf("connection %d: asked %v", i+1, asked)
					}
				}
			})
		}
	}
}

// TestTripsAtRest counts the round trips of INSERTs of which each reserves its number, beside
// INSERTs of the plain driver that bring one.
func TestTripsAtRest(t *testing.T) {
	t.Parallel()
	const warm, rows = 5, 20
	for _, e := range coldEngines[1:] {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			database := e.Server.Database(t, e.Driver)
			p := startProxy(t, e.Server.Addr(), (*counter).asked)
			dsn := harness.WithParams(strings.Replace(e.Server.DSN(database), e.Server.Addr(), p.addr(), 1), e.Params)
			plain, err := sql.Open(e.Driver, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			harness.Exec(t, plain, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			harness.Exec(t, plain, "CREATE TABLE u (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			connector, err := harness.NewConnector(e.Driver, dsn)
			if err != nil {
				t.Fatal(err)
			}
			filled, _ := harness.OpenConnector(t, connector, coldPolicy(e.Dialect, 1))
			trips := func(f func(i int)) float64 {
				for i := range warm {
					f(i)
				}
				before := p.trips.Load()
				for i := range rows {
					f(warm + i)
				}
				return float64(p.trips.Load()-before) / rows
			}
			without := trips(func(i int) { harness.Exec(t, plain, fmt.Sprintf("INSERT INTO t (a, id) VALUES (1, %d)", 1000000+i)) })
			with := trips(func(int) { harness.Exec(t, filled, "INSERT INTO u (a) VALUES (1)") })
			t.Logf("%s: %.2f round trips an INSERT, and %.2f with a number that is reserved for it", e.Name, without, with)
			statement, err := harness.NewConnector(e.Driver, harness.WithParams(dsn, "binlog_format=%27STATEMENT%27"))
			if err != nil {
				t.Fatal(err)
			}
			if e.Dialect.Family == dialect.FamilyMySQL {
				// A replica would skip an UPDATE that compares the server.
				apart, _ := harness.OpenConnector(t, statement, coldPolicy(e.Dialect, 1))
				of := trips(func(int) { harness.Exec(t, apart, "INSERT INTO u (a) VALUES (1)") })
				if of != without+2 {
					t.Errorf("with binlog_format=STATEMENT a reservation takes %.2f round trips, want 2", of-without)
				}
			}
			if with > without+1 {
				t.Errorf("a reservation takes %.2f round trips, want 1", with-without)
			}
		})
	}
}

// coldPolicy has a sequence of its own for each of two tables. block 0 lets blocks grow.
func coldPolicy(d *dialect.Dialect, block int64) *policy.Config {
	source := harness.Counted(func(s *policy.Source) { s.Block = block })
	return &policy.Config{Dialect: d.Name, Tables: map[string]policy.Table{
		"t": {Column: "id", InPlace: &source}, "u": {Column: "id", InPlace: &source},
	}}
}
