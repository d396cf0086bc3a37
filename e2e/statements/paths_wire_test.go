package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// wire counts how often its connections turn from reading to writing: the round
// trips, a message without an answer included.
type wire struct{ turns atomic.Int64 }

// wireConn is one connection of a wire.
type wireConn struct {
	net.Conn
	wire *wire
	read atomic.Bool // something was read since the last write
}

func (c *wireConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.read.Store(true)
	}
	return n, err
}

func (c *wireConn) Write(b []byte) (int, error) {
	if c.read.Swap(false) {
		c.wire.turns.Add(1)
	}
	return c.Conn.Write(b)
}

// DialContext is for pgx and go-sql-driver.
func (w *wire) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: conn, wire: w}, nil
}

// Dial and DialTimeout are for lib/pq.
func (w *wire) Dial(network, address string) (net.Conn, error) {
	return w.DialContext(context.Background(), network, address)
}

func (w *wire) DialTimeout(network, address string, _ time.Duration) (net.Conn, error) {
	return w.Dial(network, address)
}

// connector returns the driver's connector for a new database, whose
// connections count.
func (w *wire) connector(t *testing.T, e harness.Engine) driver.Connector {
	t.Helper()
	dsn := e.DSN(t)
	switch e.Driver {
	case "mysql":
		cfg, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		// The field DialFunc is newer than the oldest driver.
		network, own := cfg.Net, "wire of "+cfg.DBName
		mysql.RegisterDialContext(own, func(ctx context.Context, address string) (net.Conn, error) {
			return w.DialContext(ctx, network, address)
		})
		cfg.Net = own
		c, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	case "pgx":
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		cfg.DialFunc = w.DialContext
		return stdlib.GetConnector(*cfg)
	}
	c, err := pq.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.Dialer(w)
	return c
}

// An INSERT without arguments stays one round trip, with its key as a literal:
// an argument more would make it two or three.
func TestTrapNoArguments(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			w := new(wire)
			c := w.connector(t, e)
			raw := sql.OpenDB(c)
			defer raw.Close()
			harness.Exec(t, raw, "CREATE TABLE people (id CHAR(36) PRIMARY KEY, name VARCHAR(20))")
			db, err := keyfill.OpenDB(c, keyfill.Options{Policy: harness.FillID("people", policy.Table{})})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			// The first of three may open a connection, prepare, or ask which of
			// MySQL and MariaDB it is.
			turns := func(f func(i int)) int64 {
				var n int64
				for i := range 3 {
					before := w.turns.Load()
					f(i)
					n = w.turns.Load() - before
				}
				return n
			}

			plain := turns(func(i int) {
				harness.Exec(t, raw, fmt.Sprintf("INSERT INTO people (name, id) VALUES ('a', 'a%d')", i))
			})
			naive := turns(func(i int) {
				query := fmt.Sprintf("INSERT INTO people (name, id) VALUES ('b %d', ?)", i)
				harness.Exec(t, raw, e.Placeholders(query), fmt.Sprint("b", i))
			})
			if !e.Is(harness.PgxSimple) && naive <= plain {
				t.Errorf("%d round trips with an argument, %d without: this is no trap any more", naive, plain)
			}
			ours := turns(func(int) { harness.Exec(t, db, "INSERT INTO people (name) VALUES ('c')") })
			if ours != plain {
				t.Errorf("%d round trips, want %d as through the raw driver", ours, plain)
			}
			if n := harness.Count(t, raw, "SELECT COUNT(DISTINCT id) FROM people WHERE length(id) = 36"); n != 3 {
				t.Errorf("%d keys are stored, want 3", n)
			}
		})
	}
}

// Several statements in one string, of which one may do anything to the later ones, are
// refused with a reason and none is sent; an argument more would make it the error of the
// engine, or store half.
func TestTrapSeveralStatements(t *testing.T) {
	t.Parallel()
	multi := harness.MySQLDefault
	multi.Name, multi.Params = "mysql-multi", "multiStatements=true"
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, multi, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			s := e.Scratch(t)
			for _, table := range []string{"people", "pets", "others"} {
				harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id CHAR(36) PRIMARY KEY, name VARCHAR(20))")
			}
			db, m := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
				"people": {Column: "id"}, "pets": {Column: "id"},
			}})

			if s.IsPostgres() && !e.Is(harness.PgxSimple) {
				_, err := s.Raw.Exec("INSERT INTO people (name, id) VALUES ('a', $1); INSERT INTO pets (name, id) VALUES ('b', '1')", harness.Key)
				if err == nil {
					t.Error("the naive statement is no error: this is no trap any more")
				}
			}
			// Both without the wrapper's business: as through the raw driver.
			harness.Exec(t, db, "INSERT INTO others (id, name) VALUES ('1', 'a'); INSERT INTO others (id, name) VALUES ('2', 'b')")
			for _, query := range []string{
				"CALL p(); INSERT INTO people (name) VALUES ('a'); INSERT INTO pets (name) VALUES ('b')",
				"INSERT INTO others (id, name) VALUES ('3', 'a'); CALL p(); INSERT INTO pets (name) VALUES ('b')",
				"CALL p(); INSERT INTO people (name) VALUES ('a'); DELETE FROM others",
			} {
				_, err := db.Exec(query)
				checkSeveral(t, s, err)
				_, err = db.Query(query)
				checkSeveral(t, s, err)
				_, err = db.Prepare(query)
				checkSeveral(t, s, err)
			}
			if n := harness.Count(t, s.Raw, "SELECT (SELECT COUNT(*) FROM people) + (SELECT COUNT(*) FROM pets)"); n != 0 {
				t.Errorf("%d rows are stored of strings that were refused", n)
			}
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM others"); n != 2 {
				t.Errorf("%d other rows, want 2", n)
			}
			if n := m.Stats().Tables["people"].Refused[keyfill.Reason(rewrite.ErrSeveral)]; n != 6 {
				t.Errorf("%d refusals are counted, want 6", n)
			}
		})
	}
}

func checkSeveral(t *testing.T, s *harness.Scratch, err error) {
	t.Helper()
	var e *keyfill.Error
	if !errors.Is(err, rewrite.ErrSeveral) || !errors.As(err, &e) || e.Table == "" || e.Offset < 0 {
		t.Errorf("error %v, want %v with a table and an offset", err, rewrite.ErrSeveral)
	}
}
