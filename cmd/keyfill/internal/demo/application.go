package demo

import (
	"context"
	"database/sql"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"

	_ "embed"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// for demoPolicy

//go:embed demo.yaml
var demoPolicy string

const schema = `CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE events    (id TEXT PRIMARY KEY, kind TEXT, note TEXT);
CREATE TABLE devices   (id BLOB PRIMARY KEY, label TEXT);
`

// statement is one INSERT of the application that the demo plays.
type statement struct {
	title string
	table string
	query string
	args  []any
	rows  int  // how many rows the INSERT stores if it succeeds
	gives bool // whether the INSERT returns rows, so that it is sent by Query
}

// statements are the INSERTs of the demo's application, in the order in which it sends
// them.
var statements = []statement{
	{
		title: "One row",
		table: "customers",
		query: "INSERT INTO customers (name, city) VALUES (?, ?)",
		args:  []any{"Ada Lovelace", "London"},
		rows:  1,
	},
	{
		title: "Several rows: a key for each, in ascending order",
		table: "events",
		query: "INSERT INTO events (kind, note) VALUES (?, ?), (?, ?), (?, ?)",
		args:  []any{"login", "from London", "order", "two books", "logout", nil},
		rows:  3,
	},
	{
		title: "RETURNING: the application learns the key; here it is 16 bytes",
		table: "devices",
		query: "INSERT INTO devices (label) VALUES (?) RETURNING id, label",
		args:  []any{"thermometer"},
		rows:  1,
		gives: true,
	},
	{
		title: "No placeholders: the key is written into the text",
		table: "events",
		query: "INSERT INTO events (kind) VALUES ('backup')",
		rows:  1,
	},
	{
		title: "A row that brings its own key, which is kept",
		table: "customers",
		query: "INSERT INTO customers (id, name, city) VALUES (?, ?, ?)",
		args:  []any{"5b1c7e0a-9a3d-4c57-8d0e-2f6a4b8c9d10", "Alan Turing", "Manchester"},
		rows:  1,
	},
	{
		title: "A value that no column is named for: it is refused, and nothing is sent",
		table: "customers",
		query: "INSERT INTO customers (name, city) SELECT kind, note, 'nowhere' FROM events",
	},
}

// application is a program with a database that it reaches through keyfill.
type application struct {
	db    *sql.DB
	wire  *recorder // records what keyfill sends to the driver
	plain *sql.DB   // the same database file, opened without keyfill
}

// openApplication creates the tables in a new file.
func openApplication(ctx context.Context, path string) (app *application, err error) {
	connector, err := sqlite.NewConnector(database.FileDSN(path))
	if err != nil {
		return nil, err
	}
	cfg, err := policy.Parse([]byte(demoPolicy))
	if err != nil {
		return nil, err
	}
	wire := &recorder{Connector: connector}
	db, err := database.OpenFilled(wire, cfg)
	if err != nil {
		return nil, err
	}
	app = &application{db: db, wire: wire, plain: sql.OpenDB(connector)}
	if _, err := app.plain.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(err, app.close())
	}
	return app, nil
}

func (a *application) close() error {
	return errors.Join(a.db.Close(), a.plain.Close())
}

// performed is the outcome of a statement.
type performed struct {
	statement
	sent     []message // the statements that reached the driver
	returned *table    // the rows that the application got back; nil without RETURNING
	stored   *table    // the rows that the statement added to the table
	refusal  error     // the error that the application got instead
}

// perform executes a statement as an application does, and returns what was sent, returned
// and stored. Its error comes from reading the table; an error of the statement is in the
// field refusal.
func (a *application) perform(ctx context.Context, s statement) (performed, error) {
	done := performed{statement: s}
	var last int64
	err := a.plain.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) FROM "+s.table).Scan(&last)
	if err != nil {
		return done, err
	}
	a.wire.messages = nil
	if s.gives {
		done.returned, done.refusal = readTable(ctx, a.db, s.query, s.args...)
	} else {
		_, done.refusal = a.db.ExecContext(ctx, s.query, s.args...)
	}
	var ours *keyfill.Error
	if done.refusal != nil && !errors.As(done.refusal, &ours) {
		return done, done.refusal
	}
	done.sent = a.wire.messages
	done.stored, err = readTable(ctx, a.plain,
		"SELECT * FROM "+s.table+" WHERE rowid > ? ORDER BY rowid", last)
	return done, err
}

// table is the result of a query.
type table struct {
	columns []string
	rows    [][]any
}

func readTable(ctx context.Context, db *sql.DB, query string, args ...any) (t *table, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	t = &table{}
	if t.columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	for rows.Next() {
		row := make([]any, len(t.columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		t.rows = append(t.rows, row)
	}
	return t, rows.Err()
}

// literal returns a value as it would stand in SQL.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + v + "'" // the texts of the demo contain no quotes
	case []byte:
		return fmt.Sprintf("x'%x'", v)
	}
	return fmt.Sprint(v)
}
