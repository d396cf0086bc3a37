package keyfilltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/anchor"
)

// Filler returns the statements that keyfill sends for statements of an application, so
// that a test can expect them of a mock. [NewFiller] makes one. It is safe for
// concurrent use.
type Filler struct {
	t  testing.TB
	db *sql.DB

	mu   sync.Mutex // held from the execution of a statement until last has been read
	last *sent
}

// NewFiller returns a Filler that draws the same keys as a database of [New] with the same
// options. If the options have entropy, the Filler and that database read from the same
// entropy, so that their keys differ.
func NewFiller(t testing.TB, o keyfill.Options) *Filler {
	t.Helper()
	f := &Filler{t: t, last: new(sent)}
	db, err := keyfill.OpenDB(f.last, fixed(o))
	if err != nil {
		t.Fatalf("keyfilltest: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f.db = db
	return f
}

// Fill returns a statement as the mock gets it when the application executes it with
// these arguments, and the arguments that the mock gets, for WithArgs: a named argument
// is a sql.NamedArg. The keys are the next ones of their tables: a test that fills its
// statements in the order in which the application sends them expects the right keys. A
// statement that is not filled is returned as it is. Fill fails the test if the
// statement is refused.
func (f *Filler) Fill(query string, args ...any) (sent string, bound []driver.Value) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.db.Exec(query, args...); err != nil {
		f.t.Fatalf("keyfilltest: %v", err)
	}
	return f.last.query, f.last.bound()
}

// Prepared is [Filler.Fill] for a statement that the application prepares and then
// executes with these arguments: the text is for ExpectPrepare of the mock, and the
// arguments are for the execution. A statement without arguments has a placeholder for
// its key then, where Fill returns a literal. The text is the same for each execution.
func (f *Filler) Prepared(query string, args ...any) (sent string, bound []driver.Value) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	stmt, err := f.db.Prepare(query)
	if err == nil {
		defer stmt.Close() //nolint:errcheck // there is no engine
		_, err = stmt.Exec(args...)
	}
	if err != nil {
		f.t.Fatalf("keyfilltest: %v", err)
	}
	return f.last.query, f.last.bound()
}

// bound returns the arguments that were sent last, for WithArgs.
func (s *sent) bound() (bound []driver.Value) {
	for _, a := range s.args {
		if a.Name != "" {
			bound = append(bound, sql.Named(a.Name, a.Value))
		} else {
			bound = append(bound, a.Value)
		}
	}
	return bound
}

// sent is a connector, its driver and its connection in one. It keeps the last
// statement, and answers that one row was changed.
type sent struct {
	query string
	args  []driver.NamedValue
}

var errOnlyExec = anchor.Last("keyfilltest", "keyfilltest: a Filler executes statements, and does nothing else: give it one INSERT")

func (s *sent) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *sent) Driver() driver.Driver                        { return s }
func (s *sent) Open(string) (driver.Conn, error)             { return s, nil }
func (s *sent) Prepare(query string) (driver.Stmt, error)    { return prepared{s, query}, nil }
func (s *sent) Begin() (driver.Tx, error)                    { return nil, errOnlyExec }
func (s *sent) Close() error                                 { return nil }

// CheckNamedValue accepts named arguments, as go-sqlmock does.
func (s *sent) CheckNamedValue(v *driver.NamedValue) (err error) {
	v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value)
	return err
}

func (s *sent) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s.query, s.args = query, args
	return driver.RowsAffected(1), nil
}

// prepared is a prepared statement of the connection.
type prepared struct {
	conn  *sent
	query string
}

func (prepared) Close() error                               { return nil }
func (prepared) NumInput() int                              { return -1 }
func (prepared) Exec([]driver.Value) (driver.Result, error) { return nil, errOnlyExec }
func (prepared) Query([]driver.Value) (driver.Rows, error)  { return nil, errOnlyExec }

func (p prepared) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return p.conn.ExecContext(ctx, p.query, args)
}

// CountedRows returns the number that the connection of [New] returns, so that both fill an
// INSERT … SELECT with the same keys.
func (s *sent) CountedRows() int64 { return mockConn{}.CountedRows() }
