package outcome

//row:ways | gives rows, with RETURNING | `fill/outcome/rows.go`

import (
	"context"
	"database/sql/driver"
	"io"
	"slices"

	"github.com/google/uuid"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// observedRows are the rows that a recorded INSERT returns: the keys in them are
// recorded as the caller reads the rows. An error after them may mean that a key is in
// use. observedRows is used only if a caller has asked for a record, or if keys may be
// in use; all other rows are the driver's own.
type observedRows struct {
	ForwardedRows
	x      *execution.Execution
	keys   []execution.RecordedKey // the keys as they were sent, in row order
	places map[any]int             // the index of each key in keys
	column int                     // the index of the key's column in the result; -1 if there is none
	seen   []any                   // the keys in the rows that were read so far
	rows   int
	ended  bool

	suspect func(error) // gives up the reserved keys if the error is a duplicate key
}

// Observe records the keys with unknown outcome, and returns rows that are watched.
func Observe(ctx context.Context, x *execution.Execution, rows driver.Rows) driver.Rows {
	o := &observedRows{ForwardedRows: ForwardedRows{rows}, x: x, column: -1, suspect: func(err error) { Suspect(ctx, x, err) }}
	if !x.Form.Batched {
		x.Conn.Unread = append(x.Conn.Unread, x)
	}
	if x.Recording.Recorder == nil {
		return withColumns(o)
	}
	o.keys = RecordedKeys(x)
	if !x.Plan.ByFunction() {
		x.Recording.Write(o.keys)
	}
	t := table.Of(&x.Plan.Inserts[0])
	if x.Plan.Alone() && len(t.KeyColumns) == 1 && x.Plan.ReturnsKey(t.KeyColumns[0].Name) {
		d := x.Plan.Dialect
		o.column = slices.IndexFunc(rows.Columns(), func(name string) bool {
			return d.Fold(name, true) == t.KeyColumns[0].Name
		})
	}
	o.places = make(map[any]int, len(o.keys))
	for i, k := range slices.Backward(o.keys) {
		o.places[k.Key] = i // of rows with the same key, the first can be stored
	}
	return withColumns(o)
}

func (o *observedRows) Next(dest []driver.Value) error {
	err := o.Rows.Next(dest)
	if o.advanced(err) && o.column >= 0 && o.column < len(dest) {
		o.key(dest[o.column])
	}
	return err
}

// advanced records the error of a step to the next row, and reports whether there is a
// row whose key must be recorded.
func (o *observedRows) advanced(err error) bool {
	switch {
	case o.ended:
	case err == nil:
		o.rows++
		return true
	case err == io.EOF:
		o.finish()
	default:
		o.fail(err)
	}
	return false
}

// Close closes the rows. The rows that QueryRow, or a caller that stops early, has read
// are stored, unless the driver finds an error when it reads the rest: a deferred
// constraint of PostgreSQL or SQLite, or a later row of MariaDB.
func (o *observedRows) Close() error {
	err := o.Rows.Close()
	switch {
	case o.ended:
	case err != nil:
		o.fail(err)
	case o.x.Plan.Alone() && o.undoesRows():
		o.ended = true
		o.setAll(execution.OutcomeUnknown)
		o.count(report.CauseConflict)
		o.write()
	case o.x.Plan.Inserts[0].Rows >= 0 && o.rows >= o.x.Plan.Inserts[0].Rows, !o.x.Plan.Alone():
		o.finish()
	default:
		o.ended = true
		o.count(report.CauseUnended)
		o.write()
	}
	return err
}

// fail records an error after some of the rows: MariaDB and SQL Server return each row
// before they have stored the next.
func (o *observedRows) fail(err error) {
	o.ended = true
	switch {
	case ending{o.x, err}.isUndone():
		o.x.Recording.Recorder.Lose(o.x)
	default:
		o.x.Handed.Store(true) // no repetition may get the keys, since the error may be about one of them
		if !o.x.Form.Batched { // in a batch, the connection is not free for a query
			o.suspect(err)
		}
	}
	o.countAs(func(in *plans.Insert) Verdict { return Account{o.x}.failure(in, err) })
	if o.x.Plan.Alone() {
		o.setAll(ending{o.x, err}.outcome())
	} else if o.keys != nil {
		ending{o.x, err}.noteTogether(o.keys)
	}
	o.write()
}

// key records the key of the row that was read last. Its outcome is final only when the
// rows have ended.
func (o *observedRows) key(v driver.Value) {
	switch key := o.came(v).(type) {
	case uuid.UUID, string, int64:
		o.seen = append(o.seen, key)
		if i, ok := o.places[key]; ok {
			o.keys[i].Outcome = execution.OutcomeStored
		} else if o.x.Plan.ByFunction() {
			t := table.Of(&o.x.Plan.Inserts[0])
			o.keys = append(o.keys, execution.RecordedKey{Table: t.Table, Column: t.KeyColumns[0].Name, Row: o.rows - 1, Key: key, Outcome: execution.OutcomeStored})
		}
	default:
		// This column is not the key after all, so the number of rows decides.
		o.column = -1
	}
}

// came returns a key that the engine has returned, in the type that a Recorder (see
// keyfill.Record) shows.
func (o *observedRows) came(v driver.Value) any {
	k := &table.Of(&o.x.Plan.Inserts[0]).KeyColumns[0]
	if b, ok := v.([]byte); ok && len(b) == 16 && k.Layout == dialect.SequentialAtEnd {
		// go-mssqldb returns a uniqueidentifier in the order of bytes in which it is
		// stored, unless the DSN says "guid conversion". So the bytes are the key itself
		// only if a key with these bytes was sent.
		text := uuid.UUID(dialect.MixedEndian([16]byte(b)))
		if _, sent := o.places[uuid.UUID(b)]; !sent {
			return text
		}
	}
	return k.Reported(v)
}

// finish sets the outcomes at the end of the rows.
func (o *observedRows) finish() {
	o.ended = true
	in := &o.x.Plan.Inserts[0]
	switch {
	case !o.x.Plan.Alone():
		// The rows may belong to any INSERT of the text, and rows of another may still
		// follow, so they do not show which keys were stored.
		if o.keys != nil && o.x.Plan.Statements == 1 {
			ending{x: o.x}.noteTogether(o.keys)
		}
	case o.undoesRows():
		o.setAll(execution.OutcomeUnknown)
	case o.column < 0:
		o.setAll(o.counted(in))
	case len(o.seen) == in.Rows:
		// A row was returned for each row that was sent, in the same order. A trigger or an
		// upsert may have changed the key.
		for i := range o.keys {
			o.keys[i].Key, o.keys[i].Outcome = o.seen[o.keys[i].Row], execution.OutcomeStored
		}
	default:
		left := execution.OutcomeNotStored
		if in.Upsert.Conflict == plans.ConflictError || in.Upsert.Conflict == plans.ConflictConditional {
			// A trigger has taken the row, perhaps to another table, or the column in the
			// result belongs to the source of a MERGE.
			left = execution.OutcomeUnknown
		}
		for i := range o.keys {
			if o.keys[i].Outcome != execution.OutcomeStored {
				o.keys[i].Outcome = left
			}
		}
	}
	o.countEnded()
	o.write()
}

// undoesRows reports whether a later row of the statement may have replaced an earlier
// one that was returned, or changed its key; or whether a returned row may have been stored
// before, with the key that its values make.
func (o *observedRows) undoesRows() bool {
	in := &o.x.Plan.Inserts[0]
	if in.Upsert.Conflict == plans.ConflictUpdate && slices.ContainsFunc(in.Target.Keys, func(k plans.Key) bool { return k.FromRow }) {
		return true
	}
	return (in.Upsert.Replaces || in.Upsert.UpdatesKey || o.x.OwnConflicts()) && in.Rows != 1
}

// setAll sets the same outcome for every key.
func (o *observedRows) setAll(outcome execution.Outcome) {
	for i := range o.keys {
		o.keys[i].Outcome = outcome
	}
}

// counted returns the outcome that follows from the number of rows, if they do not
// contain the key's column.
func (o *observedRows) counted(in *plans.Insert) execution.Outcome {
	switch {
	case in.Query != nil:
	case in.Upsert.Conflict == plans.ConflictUpdate:
	case in.Returning && o.rows == 0 && in.Upsert.Conflict == plans.ConflictSkip:
		return execution.OutcomeNotStored
	case in.Returning && o.rows == in.Rows && !o.isTriggered():
		return execution.OutcomeStored
	case !in.Returning && in.Upsert.Conflict == plans.ConflictError && o.keepsRows():
		return execution.OutcomeStored
	}
	return execution.OutcomeUnknown
}

// isTriggered reports whether the table is known to have a trigger that may have
// changed the keys of rows.
func (o *observedRows) isTriggered() bool {
	f := o.x.Conn.GateOf(table.Of(&o.x.Plan.Inserts[0])).Rows.Load()
	return f != nil && f.Triggered
}

// keepsRows reports whether the table is known to store every row of a successful
// INSERT, because no trigger skips rows.
func (o *observedRows) keepsRows() bool {
	x := o.x
	f := execution.FactsOf(x.Conn, table.Of(&x.Plan.Inserts[0]))
	return f != nil && f.Rows != nil && f.Rows.Stays
}

// write writes the keys to the recorders (see keyfill.Record).
func (o *observedRows) write() { o.x.Recording.Write(o.keys) }

// countEnded counts the outcome of each INSERT at the end of the rows.
func (o *observedRows) countEnded() {
	x := o.x
	o.countAs(func(in *plans.Insert) Verdict {
		v := Verdict{Cause: report.CauseCount}
		switch {
		case !x.Plan.Alone():
			return Account{x}.Verdict(in, nil)
		case o.undoesRows():
			v.Cause = report.CauseConflict
		case in.Upsert.Conflict == plans.ConflictUpdate:
			// A returned key may belong to a row that existed before, so the outcome stays
			// unknown.
		case len(o.keys) > 0 && !x.Plan.Counts():
			return settledKeys(in, o.keys)
		case in.Query != nil:
			if in.Returning && in.Upsert.Conflict == plans.ConflictError && x.Plan.Counts() && int64(o.rows) == x.Drawn.Rows[0] {
				v.Outcome = execution.OutcomeStored
			}
		default:
			v.Outcome = o.counted(in)
		}
		if in.Upsert.Conflict != plans.ConflictError {
			v.Cause = report.CauseConflict
		}
		return v
	})
}

// settledKeys returns the verdict (the outcome to count) on an INSERT from the recorded
// outcomes of its keys.
func settledKeys(in *plans.Insert, keys []execution.RecordedKey) Verdict {
	rows := make([]execution.Outcome, len(keys))
	for i := range keys {
		rows[i] = keys[i].Outcome
	}
	return settled(in, rows)
}

// count counts the INSERTs with an unknown outcome, for the given cause.
func (o *observedRows) count(cause report.Cause) {
	o.countAs(func(*plans.Insert) Verdict { return Verdict{Cause: cause} })
}

// countAs counts each INSERT with the verdict that on returns, unless they were counted
// before.
func (o *observedRows) countAs(on func(*plans.Insert) Verdict) {
	CountUnread(o.x, on)
}

// CountUnread counts the INSERTs of an execution when its rows have ended, unless they
// were counted before.
func CountUnread(x *execution.Execution, on func(*plans.Insert) Verdict) {
	unread := &x.Conn.Unread
	if i := slices.Index(*unread, x); i >= 0 {
		*unread = slices.Delete(*unread, i, i+1)
		Account{x}.countLate(on)
	}
}

func (o *observedRows) NextResultSet() error {
	o.ended = true
	o.count(report.CauseText)
	return o.ForwardedRows.NextResultSet()
}
