package numbering

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// JoinedRow draws numbers that belong to the transactions of their INSERTs, from one row.
// It remembers no reserved number before the transaction has committed, since a rollback
// would return the number to the row.
//
// The row is made, and compared with the table, outside of these transactions, which might
// not see what others have made: on a connection of keyfill's own, or on the statement's
// connection on SQLite.
type JoinedRow struct {
	dialect *dialect.Dialect
	row     sequence.Sequence
	Rows    *reserver.Reserver  // uses home; on SQLite not bound to a connection yet
	home    *store.Store        // on a connection of keyfill's own; nil on SQLite
	draws   draws               // measures the draws from the row
	proven  relation.ProvenRows // what committed transactions have drawn, under the name ""
	Ranked  bool                // the row can be compared with a greatest key
	Ensures bool                // the policy lets keyfill create its tables

	// opened is set when the row has committed and was compared with its table: to the
	// value of gone at that time plus one. It is 0 if the row has to be opened.
	opened atomic.Uint64
	gone   *atomic.Uint64 // counts how often keyfill's tables were found missing

	OnBack keysource.Remedy // the remedy if the row stands below what committed transactions have drawn

	// wait is how long a query about the row may take on a connection of keyfill's own,
	// which may wait for the transaction itself. It is the policy's store_wait.
	wait time.Duration
}

// NewJoinedRow returns the JoinedRow for a row. home is nil if the row is read on the
// statement's connection.
func NewJoinedRow(db *relation.Tables, row sequence.Sequence, home *store.Store) *JoinedRow {
	d := db.AnyEngine().Dialect
	at := home
	if home == nil {
		at = store.On(d, nil)
	}
	return &JoinedRow{dialect: d, row: row, Rows: reserver.New(at, unensured(row)), home: home, wait: db.StoreWait, gone: &db.Gone}
}

// unensured returns the row with EnsureSchema off: no tables are created in a
// transaction.
func unensured(row sequence.Sequence) sequence.Sequence {
	row.EnsureSchema = false
	return row
}

// within returns a Reserver for the row inside the open transaction of the connection.
func (r *JoinedRow) within(ctx context.Context, g *relation.Session) (*reserver.Reserver, error) {
	st, away, err := g.States(ctx, r.row.Table == nil && r.row.Procedure == "")
	switch {
	case err != nil:
		return nil, err
	case away && (r.row.Procedure != "" || r.row.Table != nil && !strings.Contains(r.row.Table.Name, ".")):
		return nil, relation.ErrKeyTable
	}
	if r.row.Table == nil && r.row.Procedure == "" {
		err = relation.MayReserve(ctx, g)
	}
	return r.Rows.At(st).AllOrNone(), err
}

// Reserve implements [Numbers]: it returns the first of n consecutive integers, which
// belong to the transaction.
func (r *JoinedRow) Reserve(ctx context.Context, g *relation.Session, n int64) (int64, error) {
	if err := r.Open(ctx, g); err != nil {
		return 0, err
	}
	rows, err := r.within(ctx, g)
	if err != nil {
		return 0, err
	}
	g.NoteJoinedDraw()
	known := r.proven.Of("")
	rows = rows.Above(known.Next)
	began := time.Now()
	got, err := rows.ReserveRow(ctx, n, 0)
	if err == nil && got.First < 1 {
		err = keysource.ErrStoreState
	}
	if err == nil && got.First < known.Next {
		got, err = r.back(ctx, g, rows, n, known, got)
	}
	r.draws.note(began, n, got.First, err)
	if err != nil {
		return got.First, r.failed(ctx, g, err)
	}
	g.Drawn.Note(g, &r.proven, "", relation.ProvenRow{Next: got.First + n, Incarnation: got.Server})
	return got.First, nil
}

// failed returns the error of a draw that has failed with err. It forgets what was known
// of rights, tables and the row if err shows that one of these has changed.
func (r *JoinedRow) failed(ctx context.Context, g *relation.Session, err error) error {
	relation.DoubtRights(g, err)
	err = relation.NoteGone(g, err, r.Ensures)
	if errors.Is(err, store.ErrNoRow) {
		r.opened.Store(0) // the row was removed from the store
		if r.isThere(ctx) {
			err = errSnapshot
		}
	}
	return err
}

// back decides what to do with n numbers that were drawn although they are below what
// committed transactions have drawn, as a [counting.Sequence] decides about a block of
// integers. It compares after the draw: the draw's lock keeps other transactions from
// changing the row, and under REPEATABLE READ a condition in the UPDATE would compare
// an old row.
//
// If the row was made anew, its numbers are compared only with the table. The row of a
// key table of the application, which has no incarnation (no text that identifies it),
// counts as made anew if the table holds no key: both were cleared.
func (r *JoinedRow) back(ctx context.Context, g *relation.Session, rows *reserver.Reserver, n int64, known relation.ProvenRow, got keysource.Reservation) (keysource.Reservation, error) {
	inUse := int64(1)
	if r.Ranked {
		greatest, err := rows.MaxKey(ctx)
		if err != nil {
			return got, err
		}
		inUse = greatest + min(1, math.MaxInt64-greatest)
	}
	if r.row.Table != nil && r.Ranked && inUse == 1 {
		r.proven.Forget()
		return got, nil
	}
	if got.Server == known.Incarnation {
		inUse = max(inUse, known.Next)
	}
	switch {
	case got.First >= inUse, relation.IsOfCluster(ctx, g):
		return got, nil
	case r.OnBack != keysource.RemedyAdvance:
		return got, rows.Back(got.First, inUse)
	}
	if err := rows.Advance(ctx, inUse); err != nil {
		return got, err
	}
	again, err := rows.Reserve(ctx, n, 0)
	if err == nil && again.First < inUse {
		err = rows.Back(again.First, inUse)
	}
	return again, err
}

// errSnapshot is returned if the transaction does not see the row, because it began to
// read before the row was made.
var errSnapshot = &snapshotError{fmt.Errorf("%w: the row of its numbering is younger than the transaction, which does not see it (REPEATABLE READ): begin it again", keysource.ErrStoreState)}

// snapshotError has PostgreSQL's code for a transaction that has to be begun again,
// since programs that begin again look for that code. MySQL and MariaDB do not need it:
// their UPDATE finds rows that are newer than the snapshot.
type snapshotError struct{ error }

// Unwrap returns the error without the code.
func (e *snapshotError) Unwrap() error { return e.error }

// SQLState returns the SQLSTATE, as the errors of pgx and lib/pq do.
func (e *snapshotError) SQLState() string { return "40001" }

// isThere reports whether a connection outside of the transaction finds the row in the
// store.
func (r *JoinedRow) isThere(ctx context.Context) bool {
	if r.home == nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	row := r.row
	row.Create, row.OnBehind = false, keysource.RemedyWarn
	_, err := reserver.Open(limited, r.home, row)
	return err == nil
}

// Open makes sure that the row in the store can be used: it makes the row if necessary,
// and compares it with the table. It does nothing if the row is open already.
func (r *JoinedRow) Open(ctx context.Context, g *relation.Session) error {
	gone := r.gone.Load()
	if r.opened.Load() == gone+1 {
		return nil
	}
	at := r.home
	if at == nil {
		at = store.Within(r.dialect, g.Own())
	}
	var row reserver.Row
	open := func(ctx context.Context) (err error) {
		row, err = r.openAt(ctx, at)
		return err
	}
	var err error
	if r.home != nil {
		err = relation.Apart(ctx, g, r.row.Columns, open)
	} else {
		err = open(ctx)
	}
	if err != nil {
		return err
	}
	// If a rollback may undo a change of the row, or what its bounds rely on, the row does
	// not count as open, and is opened again before the next draw.
	if r.home != nil || !row.Created && !r.row.Shared && r.row.OnBehind != keysource.RemedyAdvance && !r.row.Bounds.EndWithTransaction() {
		r.opened.Store(gone + 1)
	}
	return nil
}

// notSeen returns the error for a row that could not be read within store_wait.
func (r *JoinedRow) notSeen(err error) error {
	return anchor.Errorf("held-connection", "the transaction has locked the table, or no connection is left (waited %s, store_wait): insert before that, or apart: %v", r.wait, err)
}

// openAt opens the row on the store at, and reads the greatest key.
func (r *JoinedRow) openAt(ctx context.Context, at *store.Store) (reserver.Row, error) {
	row := r.row.Above(r.proven.Of("").Next)
	if r.home == nil {
		return reserver.Open(ctx, at, row)
	}
	limited, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	opened, err := reserver.Open(limited, at, row)
	if err == nil {
		err = r.Rows.Open(limited) // checks the row outside of the transaction, in which it might not be found
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = r.notSeen(err)
	}
	return opened, err
}

// Advance raises the row so that later keys are to or greater, in the open transaction if
// there is one. With to = 1 it only locks the row, as a draw does.
func (r *JoinedRow) Advance(ctx context.Context, g *relation.Session, to int64) error {
	g.EnsureStates(ctx)
	if err := r.Open(ctx, g); err != nil {
		return err
	}
	return r.advance(ctx, g, to)
}

// AdvanceLocked does what Advance does, for a row that Advance has locked in the same
// transaction before the INSERT whose keys it is raised above. On SQLite the row is not
// compared with the table, which has these keys already.
func (r *JoinedRow) AdvanceLocked(ctx context.Context, g *relation.Session, to int64) error {
	if r.home != nil {
		return r.Advance(ctx, g, to)
	}
	return r.advance(ctx, g, to)
}

// advance raises an open row as Advance does.
func (r *JoinedRow) advance(ctx context.Context, g *relation.Session, to int64) error {
	rows, err := r.within(ctx, g)
	if err != nil {
		return err
	}
	g.NoteJoinedDraw()
	if to > 1 {
		return rows.Raise(ctx, to)
	}
	return rows.Advance(ctx, to)
}

// IsOnConnection implements [Follower].
func (r *JoinedRow) IsOnConnection() bool { return r.home == nil }

// IsJoined implements [Follower].
func (r *JoinedRow) IsJoined() bool { return true }

// Suspect implements [Numbers]: the next draw compares the row with the table. No
// number is reserved in advance, but a rollback returns a number that is in use to the
// row, which would give it again and again.
func (r *JoinedRow) Suspect() { r.opened.Store(0) }

// Forget discards what is known about how far the row has counted.
func (r *JoinedRow) Forget() {
	r.proven.Forget()
	r.opened.Store(0)
}

// Close implements [Numbers].
func (r *JoinedRow) Close(context.Context) error { return nil }
