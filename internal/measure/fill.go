package measure

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
)

// StatementRows is the greatest number of rows in a statement.
const StatementRows = 500

// statements is the greatest number of statements in a transaction.
const statements = 10

// Part is the greatest number of rows in a transaction.
const Part = StatementRows * statements

// note is the text of 100 characters that each row has beside its key.
var note = strings.Repeat("0123456789", 10)

// Fill stores rows in the table of a [Layout], on one connection.
type Fill struct {
	DB      *sql.DB // a database opened with the layout's policy, and with one connection
	Dialect *dialect.Dialect
	Table   string
	Rows    int // how many rows to store, at least 4

	// Committed, if it is not nil, is called after each transaction with the number of
	// its rows.
	Committed func(rows int)
}

// Filled says how long it took to fill a table.
type Filled struct {
	Took  time.Duration
	First time.Duration // the time for the first quarter of the rows
	Last  time.Duration // the time for the last quarter of the rows
}

// Run inserts the rows in four quarters, and measures each.
func (f Fill) Run(ctx context.Context) (r Filled, err error) {
	text := Bind(f.Dialect, f.insert(StatementRows))
	for quarter := range 4 {
		rows := f.Rows*(quarter+1)/4 - f.Rows*quarter/4
		begin := time.Now()
		for left := rows; left > 0; left -= Part {
			if err := f.transaction(ctx, text, min(left, Part)); err != nil {
				return r, err
			}
		}
		took := time.Since(begin)
		r.Took += took
		switch quarter {
		case 0:
			r.First = took
		case 3:
			r.Last = took
		}
	}
	return r, nil
}

// transaction stores the given number of rows. text is an INSERT of StatementRows rows.
func (f Fill) transaction(ctx context.Context, text string, rows int) error {
	tx, err := f.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for left := rows; left > 0; left -= StatementRows {
		if left < StatementRows {
			text = Bind(f.Dialect, f.insert(left))
		}
		if _, err := tx.ExecContext(ctx, text, notes[:min(left, StatementRows)]...); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if f.Committed != nil {
		f.Committed(rows)
	}
	return nil
}

func (f Fill) insert(rows int) string {
	return "INSERT INTO " + f.Table + " (note) VALUES " + strings.TrimSuffix(strings.Repeat("(?), ", rows), ", ")
}

// notes are the arguments of a statement with StatementRows rows.
var notes = func() []any {
	args := make([]any, StatementRows)
	for i := range args {
		args[i] = note
	}
	return args
}()
