// Package backfill gives keys to the rows of a table that have none, in batches of one
// transaction each, for keyfill backfill.
package backfill

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Options select the rows that get keys, and limit how fast.
type Options struct {
	Table, Column string // the names of the table and the column as the policy writes them
	Batch, Rate   int    // Batch is the most rows that one transaction changes, Rate the most that change in a second; Rate 0 means no limit
}

// Table is a table whose rows get keys.
type Table struct {
	options *Options
	db      *sql.DB // opened with the plain driver, without keyfill
	dialect *dialect.Dialect
	mount   *keyfill.Mount // the mount (keyfill's handle on the database), which makes the keys
	name    string         // the table's name in the policy

	found      *catalog.Table
	Column     *catalog.Column // the column that gets the keys
	table, key string          // the names of the table and the column, as SQL writes them

	// locator is the column that identifies rows: the unique column by, in whose order the
	// rows are found, or a built-in column such as ctid. It is empty on MySQL and MariaDB
	// if there is none: an UPDATE with LIMIT 1 then changes any row that has no key.
	locator string
	by      *catalog.Column
	numbers bool // whether the values of locator, which identifies rows, are integers; otherwise they are texts

	progress *terminal.Progress
}

// ctid is the locator of PostgreSQL if no column identifies the rows. Two partitions may
// have rows with the same ctid, so a row is identified by its partition (tableoid) too.
const ctid = "ctid"

// isPhysical reports whether rows are identified by where they are stored.
func (b *Table) isPhysical() bool { return b.by == nil && b.locator == ctid }

// errNotTaken is returned when the table does not store the keys. The batch is rolled back.
var errNotTaken = errors.New("the table does not store the keys: let no trigger, rule or row security of it skip the UPDATE or change the key")

// Missing returns how many rows have no key.
func (b *Table) Missing(ctx context.Context) (n int, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+b.table+" WHERE "+b.key+" IS NULL").Scan(&n)
	return n, err
}

// Run gives keys to the rows that have none; total is their number at the start. It returns
// how many rows have got keys, and how many rows have no key now.
func (b *Table) Run(ctx context.Context, mount *keyfill.Mount, total int, bar *terminal.Progress) (filled, left int, err error) {
	b.mount, b.progress = mount, bar
	filled, err = b.fill(ctx)
	b.progress.End()
	if err != nil {
		return 0, 0, fmt.Errorf("%d rows have got keys, run the command again for the others: %w", filled, err)
	}
	left, err = b.Missing(ctx)
	switch {
	case err != nil:
		return 0, 0, err
	case filled == 0 && left >= total: // no row got a key, neither from this run nor from another program
		return 0, 0, errNotTaken
	}
	return filled, left, nil
}

// passes is how often fill goes through the table. The second pass finds rows that were
// inserted, during the first pass, at a place that it had already left.
const passes = 2

// fill gives keys to all rows that have none, and returns the number of these rows.
func (b *Table) fill(ctx context.Context) (filled int, err error) {
	for range passes {
		var last any
		before := filled
		for {
			began := time.Now()
			found, changed, at, err := b.tryBatch(ctx, last)
			if filled += changed; err != nil {
				return filled, err
			}
			last = at
			b.progress.Show(filled)
			if found < b.options.Batch {
				break
			}
			if changed == 0 && b.locator == ctid { // the next batch would find the same rows again, without end
				return filled, errNotTaken
			}
			if err := b.options.pace(ctx, changed, began); err != nil {
				return filled, err
			}
		}
		if filled == before {
			break
		}
	}
	return filled, nil
}

// batchTries is how often one batch is tried if the engine rolls it back because of other
// transactions.
const batchTries = 10

// tryBatch changes one batch, and tries again if the engine has rolled it back. Each try
// uses new keys: a COMMIT that returned an error may have succeeded all the same, and the
// next try would then store its keys a second time in other rows.
func (b *Table) tryBatch(ctx context.Context, last any) (found, changed int, at any, _ error) {
	for try := 1; ; try++ {
		keys, err := b.mount.Keys(ctx, b.name, b.options.Batch)
		if err != nil {
			return 0, 0, last, err
		}
		found, changed, at, err := b.change(ctx, last, keys)
		class := sqlcode.ClassOf(b.dialect, err)
		if err == nil || try == batchTries || class != dialect.ErrorTransaction && class != dialect.ErrorPassing {
			return found, changed, at, err
		}
		time.Sleep(time.Duration(try) * 10 * time.Millisecond)
	}
}

// change gives keys to the rows after last, in one transaction. It changes a row only if it
// has no key yet.
func (b *Table) change(ctx context.Context, last any, keys []driver.Value) (found, changed int, at any, err error) {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, 0, last, err
	}
	defer tx.Rollback() // Rollback does nothing after Commit
	rows := make([]any, len(keys))
	if b.locator != "" {
		if rows, err = b.rows(ctx, tx, last, len(keys)); err != nil || len(rows) == 0 {
			return 0, 0, last, err
		}
		at = rows[len(rows)-1]
	}
	update, err := tx.PrepareContext(ctx, b.update())
	if err != nil {
		return 0, 0, last, err
	}
	defer update.Close()
	for i, row := range rows {
		args := []any{keys[i]}
		if text, ok := row.(string); ok && b.isPhysical() {
			part, place, _ := strings.Cut(text, " ")
			args = append(args, part, place)
		} else if b.locator != "" {
			args = append(args, row)
		}
		result, err := update.ExecContext(ctx, args...)
		if err != nil {
			return 0, 0, last, err
		}
		n, err := result.RowsAffected()
		switch {
		case err != nil:
			return 0, 0, last, err
		case n > 1:
			return 0, 0, last, errors.New("one key has changed several rows: create a unique index on the column that distinguishes rows")
		}
		changed += int(n)
		if n == 0 && b.locator == "" {
			rows = rows[:i] // no row without a key is left, so forget the remaining keys
			break
		}
	}
	if err := b.verify(ctx, tx, keys, changed); err != nil {
		return 0, 0, last, err
	}
	if err := tx.Commit(); err != nil {
		return 0, 0, last, err
	}
	return len(rows), changed, at, nil
}

// verifyChunk is how many keys one query counts: Oracle accepts 1,000 values in a list.
const verifyChunk = 500

// verify returns an error unless the table has as many of the keys as rows were changed: a
// trigger may have set a key back to NULL, or changed it to another key, and the engine
// counts the row as changed all the same.
func (b *Table) verify(ctx context.Context, tx *sql.Tx, keys []driver.Value, changed int) error {
	stored := 0
	for begin := 0; begin < len(keys) && changed > 0; begin += verifyChunk {
		chunk := keys[begin:min(begin+verifyChunk, len(keys))]
		args, places := make([]any, len(chunk)), make([]string, len(chunk))
		for i, key := range chunk {
			args[i], places[i] = key, b.dialect.Placeholder(i+1)
		}
		var n int
		query := fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s IN (%s)", b.table, b.key, strings.Join(places, ", "))
		if err := tx.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
			return err
		}
		stored += n
	}
	if stored < changed {
		return errNotTaken
	}
	return nil
}

// update returns the statement that gives a row its key.
func (b *Table) update() string {
	text := fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s IS NULL", b.table, b.key, b.dialect.Placeholder(1), b.key)
	switch {
	case b.locator == "":
		return text + " LIMIT 1"
	case b.isPhysical():
		return text + " AND tableoid = CAST(CAST(" + b.dialect.Placeholder(2) + " AS text) AS oid) AND ctid = CAST(CAST(" + b.dialect.Placeholder(3) + " AS text) AS tid)"
	}
	return text + " AND " + b.locator + " = " + b.dialect.Placeholder(2)
}

// rows returns the values of the locator, which identifies rows, of the next n rows without
// a key, after last.
func (b *Table) rows(ctx context.Context, tx *sql.Tx, last any, n int) (all []any, err error) {
	var query strings.Builder
	what := b.locator
	if b.isPhysical() {
		what = "CAST(tableoid AS text) || ' ' || CAST(ctid AS text)"
	}
	fmt.Fprintf(&query, "SELECT %s FROM %s WHERE %s IS NULL", what, b.table, b.key)
	var args []any
	if last != nil && what == b.locator {
		fmt.Fprintf(&query, " AND %s > %s", b.locator, b.dialect.Placeholder(1))
		args = append(args, last)
	}
	if b.by != nil {
		query.WriteString(" AND " + b.locator + " IS NOT NULL") // a row that was inserted meanwhile may have NULL here
	}
	if what == b.locator {
		query.WriteString(" ORDER BY " + b.locator)
	}
	query.WriteString(" " + b.dialect.FirstRows(n))
	if what != b.locator {
		query.WriteString(" FOR UPDATE SKIP LOCKED") // an UPDATE by another transaction gives the row another ctid
	}
	found, err := tx.QueryContext(ctx, query.String(), args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var number int64
		var text string
		if b.numbers {
			err = found.Scan(&number)
			all = append(all, number)
		} else {
			err = found.Scan(&text)
			all = append(all, text)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, found.Err()
}

// pace waits until the rate allows the next batch.
func (o *Options) pace(ctx context.Context, rows int, began time.Time) error {
	if o.Rate == 0 {
		return ctx.Err()
	}
	wait := time.Duration(rows)*time.Second/time.Duration(o.Rate) - time.Since(began)
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
