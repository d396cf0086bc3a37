package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// run holds the data of one call of Audit.Run.
type run struct {
	*Audit
	ctx    context.Context
	tx     *sql.Tx
	shown  func(rows int64)
	report func(Finding) error
	below  int64  // the first number that does not come from the sequence; 0 if all numbers do
	states string // the table of states (stored counters); empty if there is no such table
	sum    Summary
}

// compare reads the rows and the state (a stored counter), and reports all findings.
func (r *run) compare() error {
	for _, c := range append(r.columns, r.cancelledColumns()...) {
		if !c.moving {
			continue
		}
		err := r.found(Finding{Rule: ruleState, Severity: severityInfo, Message: c.table + " has no transactions: rows that are stored during the audit may seem to be above the state"})
		if err != nil {
			return err
		}
	}
	if err := r.countNone(); err != nil {
		return err
	}
	if r.texts != nil {
		return r.compareTexts()
	}
	if r.parents == nil {
		if err := r.readState(); err != nil {
			return err
		}
	}
	if err := r.readRows(); err != nil {
		return err
	}
	switch {
	case r.parents == nil:
		return nil
	case r.states == "":
		return r.notCompared()
	}
	return r.compareParents()
}

// found counts a finding and reports it.
func (r *run) found(f Finding) error {
	f.Column = r.name
	if f.Severity == severityError {
		r.sum.Errors++
	}
	return r.report(f)
}

// countNone counts the rows that have no number, and reports them.
func (r *run) countNone() error {
	for _, c := range r.columns {
		var rows int64
		if err := r.tx.QueryRowContext(r.ctx, "SELECT COUNT(*) FROM "+c.table+" WHERE "+r.none(c)).Scan(&rows); err != nil {
			return err
		}
		if rows > 0 {
			if err := r.found(Finding{Rule: ruleNone, Severity: severityError, Rows: rows, Message: terminal.Count(int(rows), "row") + " of " + c.table + " without a number"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// none returns the condition for rows without a number.
func (r *run) none(c column) string {
	if r.texts == nil {
		return c.number + " IS NULL"
	}
	return c.number + " IS NULL OR " + fmt.Sprintf(engines[r.dialect.Family].length, asText(r.dialect, c.number)) + " = 0"
}

// query returns the query of all numbers in their order. A row of its answer has the values
// of the columns within which rows are numbered, the number, and 1 if the number is
// cancelled.
func (r *run) query() string {
	exact := engines[r.dialect.Family].exact
	var all, order []string
	for i := range r.parents {
		order = append(order, fmt.Sprintf(exact, "p"+strconv.Itoa(i)))
	}
	for i, c := range append(r.columns, r.cancelledColumns()...) {
		var b strings.Builder
		b.WriteString("SELECT ")
		for k, p := range c.parents {
			fmt.Fprintf(&b, "%s AS p%d, ", p, k)
		}
		fmt.Fprintf(&b, "%s AS n, %d AS void FROM %s WHERE %s IS NOT NULL", c.number, i/len(r.columns), c.table, c.number)
		if r.below > 0 {
			fmt.Fprintf(&b, " AND %s < %d", c.number, r.below)
		}
		all = append(all, b.String())
	}
	text := all[0]
	if len(all) > 1 || len(r.parents) > 0 {
		text = "SELECT * FROM (" + strings.Join(all, " UNION ALL ") + ") numbers"
	}
	return text + " ORDER BY " + strings.Join(append(order, "n"), ", ")
}

// shownRows is the number of rows after which the progress is shown again.
const shownRows = 10_000

// readRows reads the numbers of all parents, one parent after the other.
func (r *run) readRows() error {
	rows, err := r.tx.QueryContext(r.ctx, r.query())
	if err != nil {
		return err
	}
	defer rows.Close()
	var stored any
	var void int
	values := make([]any, len(r.parents))
	into := make([]any, 0, len(values)+2)
	for i := range values {
		into = append(into, &values[i])
	}
	into = append(into, &stored, &void)
	var w *walk
	var last []any
	for n := int64(1); rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		number, err := r.integer(stored)
		if err != nil {
			return err
		}
		if w == nil || !sameValues(values, last) {
			if err := r.end(w); err != nil {
				return err
			}
			last = plainValues(values)
			w = r.walk(last)
		}
		if err := w.add(number, void == 1); err != nil {
			return err
		}
		if void == 0 {
			r.note(number)
		}
		if n%shownRows == 0 {
			r.shown(n)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if w == nil && r.parents == nil {
		w = r.walk(nil)
	}
	return r.end(w)
}

// integer returns a number from the database as an int64. It returns an error for a number
// that does not fit, as columns of NUMERIC or BIGINT UNSIGNED may hold.
func (r *run) integer(stored any) (n int64, err error) {
	var number sql.NullInt64
	if err := number.Scan(stored); err != nil {
		if b, ok := stored.([]byte); ok {
			stored = string(b)
		}
		return 0, fmt.Errorf("%s: a row has %v, which is no integer of 63 bits: mend that row", r.name, stored)
	}
	return number.Int64, nil
}

// limit excludes the numbers from from on, because something other than the sequence gives
// them.
func (r *run) limit(from int64) {
	if r.below == 0 || from < r.below {
		r.below = from
	}
}

// note adds a row's number to the summary.
func (r *run) note(number int64) {
	if r.sum.Rows++; r.sum.Rows == 1 || number < r.sum.First {
		r.sum.First = number
	}
	if r.sum.Rows == 1 || number > r.sum.Last {
		r.sum.Last = number
	}
}

// walk begins the comparison for the rows within the given values.
func (r *run) walk(values []any) *walk {
	return &walk{begin: r.begin(), next: r.sum.Next, strict: r.Strict, parent: r.named(values), found: r.found}
}

// begin returns the first number of each numbering.
func (r *run) begin() int64 { return max(r.key.Source.Start, r.key.Source.StartAt, 1) }

// end ends the comparison of w; a nil w is ignored.
func (r *run) end(w *walk) error {
	if w == nil {
		return nil
	}
	err := w.end()
	r.sum.Known += w.known
	r.sum.Missing += w.missing
	return err
}

// named returns the columns within which rows are numbered, with their values.
func (r *run) named(values []any) map[string]any {
	if r.parents == nil {
		return nil
	}
	named := map[string]any{}
	for i, name := range r.parents {
		named[name] = values[i]
	}
	return named
}

// plainValues returns the values as numbers and texts. Drivers overwrite what they return
// with the next row.
func plainValues(values []any) []any {
	plain := make([]any, len(values))
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		plain[i] = v
	}
	return plain
}

// sameValues reports whether values equal last, the values of the row before.
func sameValues(values, last []any) bool {
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			if text, ok := last[i].(string); !ok || text != string(b) {
				return false
			}
		} else if v != last[i] {
			return false
		}
	}
	return true
}

// findStates returns keyfill's table of states (stored counters) as it is written in SQL;
// empty if there is no such table, or if the state is not in this database. The query runs
// outside of the transaction, since on PostgreSQL the error about a missing table would
// abort the transaction.
func (a *Audit) findStates(ctx context.Context, db *sql.DB) (string, error) {
	if a.isElsewhere() {
		return "", nil
	}
	var next int64
	const states = "keyfill_sequences"
	err := db.QueryRowContext(ctx, "SELECT next_value FROM "+states+" WHERE name = "+a.dialect.Placeholder(1), a.state).Scan(&next)
	switch {
	case err == nil, errors.Is(err, sql.ErrNoRows):
		return states, nil
	case sqlcode.ClassOf(a.dialect, err) == dialect.ErrorNoRight:
		return "", fmt.Errorf("%w: run GRANT SELECT ON %s to this user", err, states)
	case sqlcode.ClassOf(a.dialect, err) == dialect.ErrorNoDatabase:
		return "", fmt.Errorf("%w: name the database with %s in the DSN", err, states)
	case sqlcode.ClassOf(a.dialect, err) != dialect.ErrorNoObject:
		return "", err
	}
	s := store.New(a.dialect, db)
	if schema := s.Alone(ctx); schema != "" {
		return a.dialect.QuoteIdent(schema) + "." + states, nil
	}
	return "", s.HiddenTables(ctx, err)
}
