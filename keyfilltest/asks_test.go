package keyfilltest_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// sources are all kinds of sources that make keys on the client, with the fields that
// ask the most of a database.
var sources = map[string]string{
	"prefixed": "{kind: uuidv7, prefix: cus}",
	"uuidv5":   "{kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [parent_id]}",
	"uuidv7":   "uuidv7", "uuidv4": "uuidv4", "ulid": "ulid", "comb": "comb", "sequence": "sequence",
	"joined":     "{kind: sequence, transaction: joined}",
	"follow":     "{kind: sequence, follow_explicit: true}",
	"scope":      "{kind: sequence, scope: [parent_id]}",
	"gapless":    "{kind: sequence, scope: [parent_id], transaction: joined}",
	"maxplusone": "{kind: maxplusone}", "native": "{kind: native, sequence: s}",
	"pseudorandom": "{kind: pseudorandom}", "scatter": "{kind: scatter}", "recycled": "{kind: recycled}",
	"coprime": "{kind: coprime, length: 5}", "composite": "{kind: composite, worker: 7}",
	"snowflake": "{kind: snowflake, worker: 3}", "leased": "{kind: snowflake, worker_lease: 30s}",
}

// asking are statements before, in or after which an engine would be asked: for settings,
// the case and the place of a table, its columns, the number of rows, or for their
// outcome.
var asking = []string{
	`INSERT INTO orders (parent_id, a) VALUES (1, 'x')`,
	`INSERT INTO orders (parent_id, a) VALUES (1, 'x\y')`,
	`INSERT INTO orders (parent_id, a) VALUES (1, "x")`,
	`INSERT INTO orders (parent_id, a) SELECT 1, b FROM c`,
	`INSERT INTO orders (parent_id, a) SELECT 1, f(b) FROM c`,
	`INSERT INTO orders (id, parent_id, a) VALUES (77, 1, 'x')`,
	`INSERT INTO orders (id, parent_id, a) VALUES (1 + 77, 1, 'x')`,
	`INSERT IGNORE INTO orders (parent_id, a) VALUES (1, 'x'), (1, 'y')`,
	`INSERT INTO orders (parent_id, a) VALUES (1, 'x') ON CONFLICT DO NOTHING`,
	`INSERT INTO orders (parent_id, a) VALUES (1, 'x') ON DUPLICATE KEY UPDATE a = 1`,
	`INSERT INTO orders (parent_id, a) VALUES (1, 'x') ON CONFLICT (a) DO UPDATE SET a = 1`,
	`INSERT INTO Orders (parent_id, a) VALUES (1, 'x')`,
	`INSERT INTO "orders" (parent_id, a) VALUES (1, 'x')`,
	`INSERT INTO shop.orders (parent_id, a) VALUES (1, 'x')`,
	`INSERT INTO orders VALUES (1, 'x')`,
	`CREATE TEMPORARY TABLE orders (id int)`,
	`INSERT INTO orders (parent_id, a) VALUES (1, 'x')`,
	`USE other`,
	`INSERT INTO orders (parent_id, a) VALUES (1, 'x')`,
}

// TestAsksNothing: with the stand-ins of this package each statement is sent as one
// text, or refused, whatever its source, and nothing else is sent.
func TestAsksNothing(t *testing.T) {
	listened := map[string]bool{}
	for _, dialect := range []string{"mysql", "mariadb", "postgres", "sqlite", "sqlserver", "oracle"} {
		suits := 0
		for name, source := range sources {
			cfg, err := policy.Parse([]byte("version: 1\ndialect: " + dialect + "\ntables: {orders: {column: id, source: " + source + "}}"))
			if err == nil {
				_, err = keyfill.WrapConnector(new(listener), keyfill.Options{Policy: cfg})
			}
			if err != nil {
				continue // the engine has no such keys
			}
			suits++
			listened[name] = true
			for _, inside := range []bool{false, true} {
				heard := new(listener)
				db, err := keyfill.OpenDB(heard, keyfill.Options{
					Policy: cfg, Reservers: func(string) keysource.Reserver { return new(keyfilltest.Counter) },
				})
				if err != nil {
					t.Fatalf("%s on %s: %v", name, dialect, err)
				}
				listenTo(t, db, heard, name+" on "+dialect, inside)
				db.Close()
			}
		}
		if suits < 8 {
			t.Errorf("%s: only %d sources suit: the policies are not as they should be", dialect, suits)
		}
	}
	for name := range sources {
		if !listened[name] {
			t.Errorf("%s suits no engine: its policy is not as it should be", name)
		}
	}
}

// listenTo executes the statements, inside a transaction or not, and complains of what
// else is sent.
func listenTo(t *testing.T, db *sql.DB, heard *listener, about string, inside bool) {
	t.Helper()
	ctx := context.Background()
	var on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	} = db
	if inside {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatalf("%s: %v", about, err)
		}
		defer tx.Rollback()
		on = tx
	}
	filled := 0
	for _, query := range asking {
		heard.texts = nil
		_, err := on.ExecContext(ctx, query)
		refused := new(keyfill.Error)
		switch verb, _, _ := strings.Cut(query, " "); {
		case errors.As(err, &refused) && len(heard.texts) == 0:
		case err != nil:
			t.Errorf("%s: %s: %v", about, query, err)
		case len(heard.texts) != 1 || !strings.Contains(heard.texts[0], verb):
			t.Errorf("%s: %s: is sent as %q", about, query, heard.texts)
		case heard.texts[0] != query:
			filled++
		}
	}
	if filled < 5 {
		t.Errorf("%s: %d statements are filled", about, filled)
	}
}

// listener is a driver, its connector and its connection, which takes everything and
// notes what it was sent.
type listener struct{ texts []string }

func (l *listener) Connect(context.Context) (driver.Conn, error) { return l, nil }
func (l *listener) Driver() driver.Driver                        { return l }
func (l *listener) Open(string) (driver.Conn, error)             { return l, nil }
func (l *listener) Close() error                                 { return nil }
func (l *listener) Begin() (driver.Tx, error)                    { return nothing{}, nil }
func (l *listener) CountedRows() int64                           { return 1 }

func (l *listener) Prepare(query string) (driver.Stmt, error) {
	return nil, errors.New("it is prepared: " + query)
}

func (l *listener) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	l.texts = append(l.texts, query)
	return driver.RowsAffected(1), nil
}

func (l *listener) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	l.texts = append(l.texts, query)
	return nil, errors.New("there is no database")
}

// nothing is a transaction in which nothing happens.
type nothing struct{}

func (nothing) Commit() error   { return nil }
func (nothing) Rollback() error { return nil }
