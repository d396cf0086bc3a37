package executor

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
)

// A number that keyfill draws may belong to a row that got it in another way: the
// engine has numbered a row whose key was NULL, from the block of another process; a
// trigger has; or a program without keyfill. An INSERT fails then, unless it skips rows
// that exist already: then its row would be lost silently. So if a table is also
// numbered in another way, and such an INSERT has skipped rows, the engine is asked for
// the INSERT's numbers.
//
// MySQL and MariaDB report each skipped row by a warning, which needs no lock and shows
// rows that the transaction does not see. On other engines keyfill queries the table.
// The table does not show which rows are missing if some rows have explicit keys, or if
// the answer does not contain the number of stored rows; then it is queried before the
// INSERT.

// skipping executes an INSERT that skips rows which exist already.
type skipping struct {
	autonomous
	draw      int  // the index, in the plan's Draws, of the draw that has given the numbers
	uncounted bool // the answer does not contain the number of stored rows: see affected of outcome.Answer
}

// errNumberTaken is returned for an INSERT that has skipped rows because of their
// numbers, and cannot be sent again for these rows alone.
var errNumberTaken = anchor.New("number-taken", "a row was left out, since its number belongs to another row, and the others may be stored: insert the missing one again")

// newSkipping returns the executor of an execution that may skip rows because of their
// numbers; ok is false for other executions.
func newSkipping(x *execution.Execution) (s skipping, ok bool) {
	in := &x.Plan.Inserts[0]
	if !MayLeaveOut(x.Plan) || x.Form.Kept || x.Form.Batched {
		return s, false
	}
	f := execution.FactsOf(x.Conn, table.Of(in))
	for i, d := range x.Plan.Draws {
		if x.Holes.Counts[i] > 0 && table.Of(in).KeyColumns[d.Key].Source == nil && f != nil && f.Columns[d.Key].OthersNumber {
			return skipping{autonomous: autonomous{x}, draw: i}, true
		}
	}
	return s, false
}

// MayLeaveOut reports whether the INSERT of a plan skips rows of VALUES that exist
// already, so that it may skip rows because of their numbers.
func MayLeaveOut(p *plans.Plan) bool {
	in := &p.Inserts[0]
	return len(p.Inserts) == 1 && p.Alone() && in.Upsert.Conflict == plans.ConflictSkip && !in.Conditional && in.Query == nil && !in.Explained && in.Rows > 0
}

func (s skipping) Exec(ctx context.Context, via execution.Sender) (driver.Result, error) {
	s.uncounted = s.x.Plan.Inserts[0].Returning && !s.x.Plan.Dialect.ErrorsAbort
	if err := s.avoidTaken(ctx); err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		res, err := via.SendExec(ctx, s.x)
		if err != nil {
			return res, err
		}
		stored, err := res.RowsAffected()
		if err != nil {
			return res, nil
		}
		switch goesOn, err := s.settle(ctx, stored, again); {
		case err != nil:
			return nil, err
		case !goesOn:
			return res, nil
		}
	}
}

func (s skipping) Query(ctx context.Context, via execution.Sender) (driver.Rows, error) {
	if !s.x.Plan.Inserts[0].Returning {
		return s.autonomous.Query(ctx, via) // without RETURNING, a Query does not show how many rows were stored
	}
	if err := s.avoidTaken(ctx); err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		rows, err := via.SendQuery(ctx, s.x)
		if err != nil {
			return rows, err
		}
		stored := int64(0)
		read, err := readWhole(s.x.Conn, rows, func(sets []resultSet, err error) error {
			for _, set := range sets {
				stored += int64(len(set.rows))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if goesOn, err := s.settle(ctx, stored, again); err != nil {
			return nil, err
		} else if !goesOn {
			return raiseAfterRows(ctx, &s.x.Follows, read, nil)
		}
	}
}

// settle checks the numbers of an INSERT that has stored this many rows, if their count
// is known. goesOn reports whether the INSERT must be sent once more, with other
// numbers.
func (s skipping) settle(ctx context.Context, stored int64, again bool) (goesOn bool, err error) {
	x := s.x
	in, d := &x.Plan.Inserts[0], x.Plan.Draws[s.draw]
	if !s.uncounted && stored >= int64(in.Rows) || s.asksBefore() {
		return false, nil
	}
	taken, err := s.isTaken(ctx, stored)
	if outcome.NoteAsked(ctx, x, err); x.Fate.Gone != nil {
		return false, x.Fate.Gone
	}
	if err != nil || !taken {
		return false, nil
	}
	t := table.Of(in)
	if again || in.Rows > 1 || execution.FactsOf(s.x.Conn, t).Columns[d.Key].Triggered {
		x.Conn.DrawingFor(t, d.Key).DropBlock(ctx)
		return false, t.KeyError(d.Key, errNumberTaken)
	}
	return true, s.drawAgain(ctx)
}

// drawAgain draws other numbers for the INSERT, above those that are in use. If the
// source has no more, the INSERT keeps its numbers, which are recorded.
func (s skipping) drawAgain(ctx context.Context) error {
	x, d := s.x, s.x.Plan.Draws[s.draw]
	x.Conn.DrawingFor(table.Of(&x.Plan.Inserts[0]), d.Key).DropBlock(ctx)
	drawn, err := draw(ctx, x)
	if err != nil {
		return err
	}
	x.Drawn.Keys = drawn
	Place(x)
	return nil
}

// asksBefore reports whether the numbers are looked up before the INSERT is sent.
func (s skipping) asksBefore() bool {
	return s.x.Plan.Dialect.Latest.LeftOut == "" && (s.uncounted || s.x.Holes.Counts[s.draw] < s.x.Plan.Inserts[0].Rows)
}

// avoidTaken draws other numbers for an INSERT if some of its numbers are in the table.
func (s skipping) avoidTaken(ctx context.Context) error {
	if !s.asksBefore() {
		return nil
	}
	switch found, err := s.countTaken(ctx, ""); {
	case err != nil:
		return outcome.UndoneAfter(ctx, s.x.Conn, err)
	case found > 0:
		return s.drawAgain(ctx)
	}
	return nil
}

// isTaken reports whether an INSERT that has stored this many rows has skipped a row
// because of its number.
func (s skipping) isTaken(ctx context.Context, stored int64) (bool, error) {
	latest := &s.x.Plan.Dialect.Latest
	if latest.LeftOut != "" {
		taken, told, err := s.warnedOfTaken(ctx)
		if err != nil || taken || s.uncounted || told >= int64(s.x.Plan.Inserts[0].Rows)-stored {
			return taken, err
		}
	}
	found, err := s.countTaken(ctx, latest.Wait)
	return found > stored, err
}

// warnedOfTaken reports whether a warning of the INSERT says that one of its numbers
// was in the table, and returns the number of warnings.
func (s skipping) warnedOfTaken(ctx context.Context) (taken bool, told int64, err error) {
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	x := s.x
	d := x.Plan.Dialect
	column := execution.FactsOf(x.Conn, table.Of(&x.Plan.Inserts[0])).Columns[x.Plan.Draws[s.draw].Key]
	err = dbconn.Query(ctx, x.Conn.Own(), d.Latest.LeftOut, nil, func(row []any) error {
		told++
		number, _ := session.IntegerOf(row[1])
		text := session.TextOf(row[2])
		about := outcome.Duplicate{X: x, Err: errors.New(text)}
		taken = taken || d.Errors.Class("", int(number), "") == dialect.ErrorDuplicate &&
			slices.ContainsFunc(column.Unique, about.IsAbout) && s.names(text)
		return nil
	})
	return taken, told, err
}

// names reports whether one of the numbers occurs in text, with or without leading
// zeros.
func (s skipping) names(text string) bool {
	for _, digits := range strings.FieldsFunc(text, func(c rune) bool { return c < '0' || c > '9' }) {
		digits = strings.TrimLeft(digits, "0")
		if slices.ContainsFunc(s.x.Drawn.Keys[s.draw], func(n driver.Value) bool { return fmt.Sprint(n) == digits }) {
			return true
		}
	}
	return false
}

// countTaken returns how many of the numbers are in the table. With wait, the engine
// locks the conflicting row, which the transaction may not see otherwise.
func (s skipping) countTaken(ctx context.Context, wait string) (found int64, err error) {
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	x := s.x
	d, in := x.Plan.Dialect, &x.Plan.Inserts[0]
	numbers := x.Drawn.Keys[s.draw]
	column := d.QuoteIdent(table.Of(in).KeyColumns[x.Plan.Draws[s.draw].Key].Name)
	var query strings.Builder
	fmt.Fprintf(&query, "SELECT %s FROM %s WHERE %s IN (", column, in.Name.TableText, column)
	for i, n := range numbers {
		if i > 0 {
			query.WriteString(", ")
		}
		fmt.Fprint(&query, n)
	}
	query.WriteString(")")
	if len(numbers) == 1 {
		query.WriteString(wait)
	}
	ask := func() bool {
		err = dbconn.Query(ctx, x.Conn.Own(), query.String(), nil, func([]any) error {
			found++
			return nil
		})
		return err == nil
	}
	if d.ErrorsAbort && x.Conn.Tx != session.Outside {
		if !outcome.AskAside(ctx, x.Conn, &d.Transactions, ask) {
			return 0, nil
		}
		return found, nil
	}
	ask()
	return found, err
}
