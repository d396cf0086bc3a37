package keyfillpgx

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
)

// CopyFrom is [pgx.Conn.CopyFrom]. If a key column of the policy is not among the columns,
// CopyFrom adds it, and adds a key to each row when pgx asks for the row's values: the rows
// are not collected first. If the key column is among the columns, a row without a key gets
// one if the field fill of the policy says so. A row that cannot be filled ends the copy
// with a *keyfill.Error, and nothing is stored.
//
// Keys that are drawn in the transaction of their INSERT are refused, since the connection
// accepts no statement that reserves them while it copies.
func (c *Conn) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	l := newLoad(table, columns)
	concern, passes, counts := c.keyfill.Passes(l.text())
	if passes {
		n, err := c.native.conn.CopyFrom(ctx, table, columns, rows)
		if counts {
			c.keyfill.CountPassed(ctx, err)
		}
		return n, err
	}
	c.native.load = l
	stmt, err := c.keyfill.PrepareText(ctx, l.text(), concern)
	c.native.load = nil
	if err != nil {
		return 0, err
	}
	l.width = len(columns)
	s := &loadSource{CopyFromSource: rows, ctx: ctx, load: l, stmt: stmt, bound: bound(make([]any, len(columns)))}
	c.native.copying = true
	l.stored, l.failed = c.native.conn.CopyFrom(ctx, table, l.columns, s)
	c.native.copying = false
	stored, failed := l.stored, l.failed
	if failed != nil && s.refused != nil {
		stored, failed = 0, s.refused // the server has returned s.refused in its own words, so return the original error
	}
	_, ended := session.ExecStmt(ctx, stmt, nil)
	if failed == nil {
		failed = ended
	}
	return stored, cmp.Or(failed, stmt.Close()) // pgx's error unchanged, since callers assert its type
}

// load presents a COPY to keyfill as a prepared statement: each execution gives a row, and
// an execution without arguments ends the COPY.
type load struct {
	head    string // the text of the COPY before the columns
	columns []string
	width   int   // the number of the application's columns; the columns after them hold keys
	row     []any // the last row with its keys; it is reused, since pgx encodes a row before it asks for the next one
	stored  int64
	failed  error
}

var _ driver.StmtExecContext = (*load)(nil)

func newLoad(table pgx.Identifier, columns []string) *load {
	return &load{head: "COPY " + table.Sanitize() + " (", columns: columns}
}

// text returns a text that describes the COPY to keyfill. pgx sends a different text to the
// server.
func (l *load) text() string {
	quoted := make([]string, len(l.columns))
	for i, name := range l.columns {
		quoted[i] = pgx.Identifier{name}.Sanitize()
	}
	return l.head + strings.Join(quoted, ", ") + ") FROM STDIN"
}

// open reads the columns, with the key columns that keyfill has added, from the text that
// keyfill has made of [load.text].
func (l *load) open(text string) error {
	rest, ok := strings.CutPrefix(text, l.head)
	if !ok {
		return errVersions
	}
	var columns []string
	for {
		name, behind, ok := unquoted(strings.TrimLeft(rest, ", "))
		if !ok {
			break
		}
		columns, rest = append(columns, name), behind
	}
	if strings.TrimSpace(rest) != ") FROM STDIN" {
		return errVersions
	}
	l.columns = columns
	return nil
}

// unquoted returns the name in double quotes that a text begins with, and the text after
// it.
func unquoted(text string) (name, behind string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '"':
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '"':
			b.WriteByte('"')
			i++
		default:
			return b.String(), text[i+1:], true
		}
	}
	return "", text, false
}

func (l *load) Close() error  { return nil }
func (l *load) NumInput() int { return -1 }

// ExecContext sets the row that pgx gets next. Without arguments, it returns the result of
// the COPY.
func (l *load) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	if len(args) > 0 {
		l.row = l.row[:0]
		for i := range args {
			v := args[i].Value
			if text, is := v.(string); is && i >= l.width && len(text) == len(uuid.Nil.String()) {
				v = uuidText(text)
			}
			l.row = append(l.row, v)
		}
		return driver.RowsAffected(1), nil
	}
	if l.failed != nil {
		return nil, l.failed
	}
	return driver.RowsAffected(l.stored), nil
}

// Exec is ExecContext for callers without a context.
func (l *load) Exec(args []driver.Value) (driver.Result, error) {
	return l.ExecContext(context.Background(), session.NamedValues(args))
}

// errNoRows is returned if a COPY is executed as a query, since a COPY returns no rows.
var errNoRows = anchor.Last("keyfillpgx", "keyfillpgx: a COPY gives no rows: call CopyFrom")

// Query fails: a COPY gives no rows.
func (l *load) Query([]driver.Value) (driver.Rows, error) { return nil, errNoRows }

// uuidText is a key that may be a UUID as text. pgx needs 16 bytes for a column of the type
// uuid. If the value were a string, pgx would look for the conversion again for each row.
type uuidText string

var (
	_ pgtype.UUIDValuer = uuidText("")
	_ pgtype.TextValuer = uuidText("")
)

// UUIDValue returns the 16 bytes of the UUID.
func (u uuidText) UUIDValue() (pgtype.UUID, error) {
	id, err := uuid.Parse(string(u))
	return pgtype.UUID{Bytes: id, Valid: err == nil}, err
}

// TextValue returns the text.
func (u uuidText) TextValue() (pgtype.Text, error) {
	return pgtype.Text{String: string(u), Valid: true}, nil
}

// loadSource adds keys to the application's rows. pgx reads the rows in a goroutine of its
// own while the connection waits, so that no other statement uses keyfill's connection.
type loadSource struct {
	pgx.CopyFromSource
	ctx     context.Context
	load    *load
	stmt    driver.Stmt         // keyfill's prepared statement, which calls load
	bound   []driver.NamedValue // the arguments of the row that is being filled
	refused error
}

// Values returns the application's next row with its keys.
func (s *loadSource) Values() ([]any, error) {
	row, err := s.CopyFromSource.Values()
	if err != nil {
		return nil, err
	}
	if len(row) != len(s.bound) {
		return nil, fmt.Errorf("expected %d values, got %d values", len(s.bound), len(row))
	}
	for i := range row {
		s.bound[i].Value = row[i]
	}
	if _, err := session.ExecStmt(s.ctx, s.stmt, s.bound); err != nil {
		s.refused = err
		return nil, err
	}
	return s.load.row, nil
}
