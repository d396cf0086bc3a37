package outcome

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// raiseAbove raises a counter above the explicit keys of an INSERT. On the statement's
// own connection the raise is not cancelled with the caller's context, since that could
// end the transaction; on other connections it is. failed is the error of the raise;
// undone is set if it has ended the transaction.
func raiseAbove(ctx context.Context, b *execution.Brought, c *execution.Conn) (failed, undone error) {
	behind, cancel := execution.Aside(ctx)
	defer cancel()
	key := b.Explicit.Sure
	if b.Explicit.Open {
		greatest, found, err := GreatestStored(behind, b, c)
		if err != nil {
			return err, err
		}
		if !found {
			greatest = b.Explicit.Guess
		}
		key = max(key, greatest)
	}
	if b.Numbers.IsOnConnection() || b.Numbers.IsJoined() {
		var err error
		raise := func() bool { err = b.Raise(behind, c, key); return err == nil }
		if d := c.DB.AnyEngine().Dialect; !b.Told && d.ErrorsAbort && c.Tx != session.Outside {
			AskAside(behind, c, &d.Transactions, raise)
		} else {
			raise()
		}
		return err, UndoneAfter(ctx, c, err)
	}
	limited, cancel := context.WithTimeout(ctx, execution.AsidePatience)
	defer cancel()
	return b.Raise(limited, c, key), nil
}

// GreatestStored returns the greatest stored key that the source could also make, as
// the statement's connection sees it: only the engine knows which number it has stored
// for a key. found is false if no index finds that key, or if the table cannot be read.
// An error means that the transaction was rolled back.
func GreatestStored(ctx context.Context, b *execution.Brought, c *execution.Conn) (key int64, found bool, err error) {
	f, err := c.DB.Facts(ctx, &c.Session, b.Table)
	if err != nil {
		return 0, false, nil
	}
	k := &b.Table.KeyColumns[b.Key]
	column := f.Columns[b.Key].StoreColumn(b.Table.Rule, k, false)
	if texts := k.Texts(); texts != nil {
		column = texts.In([]store.Column{column}, numberformat.Parts{})[0]
	}
	if column.Unranked || f.Rows != nil && !f.Rows.Shown {
		return 0, false, nil
	}
	d := c.DB.AnyEngine().Dialect
	ask := func() bool {
		limit := k.Limit()
		end, failed := b.KeysEnd(ctx, c)
		if err = failed; err != nil {
			return false
		}
		if end > 0 {
			limit = min(limit, end) // keys from end on belong to another sequence
		}
		key, err = keycolumn.Of(store.Within(d, c.Own()), column).MaxKeyUpTo(ctx, limit, k.Skipped())
		return err == nil
	}
	if d.ErrorsAbort && c.Tx != session.Outside {
		return key, AskAside(ctx, c, &d.Transactions, ask), nil
	}
	if !ask() && c.DB.IsUndone(err) && c.Tx != session.Outside {
		return 0, false, err
	}
	return key, err == nil, nil
}

// followSavepoint is the name of the savepoint that keyfill sets before a statement whose
// error must not abort the transaction: see AskAside. No application uses the name.
const followSavepoint = "keyfill_follow"

// AskAside calls ask after a savepoint, on an engine where an error would abort the
// transaction, and returns its result.
func AskAside(ctx context.Context, c *execution.Conn, t *dialect.Transactions, ask func() bool) (found bool) {
	control := func(text string) error {
		_, err := dbconn.Exec(ctx, c.Own(), strings.Replace(text, "%", followSavepoint, 1), nil)
		return err
	}
	set := control(t.Set) == nil
	found = ask()
	if set {
		if !found {
			_ = control(t.Undo)
		}
		_ = control(t.Release)
	}
	return found
}

// RaiseAfter raises the counters above the explicit keys of a successful INSERT. If
// that fails, the INSERT still counts as successful, since the next draw, or a
// duplicate key, raises the counter. An error is returned only if the failure has ended
// the INSERT's transaction, and so removed the row.
func RaiseAfter(ctx context.Context, f *execution.Following) error {
	for i := range f.After {
		b := &f.After[i]
		if !b.Explicit.Open && b.Raised >= b.Explicit.Sure {
			continue // the counter was raised already, for the keys of later rows
		}
		err, undone := raiseAbove(ctx, b, f.Conn)
		switch {
		case undone != nil:
			return undone
		case err == nil:
			continue
		}
		f.Conn.DB.Log.Write(ctx, report.MessageNotRaised, b.Table.Table, b.Table.KeyColumns[b.Key].Name)
	}
	return nil
}

// raiseKept raises the counters above the rows that an INSERT has stored before the row
// at which it failed: OR FAIL keeps these rows.
func raiseKept(ctx context.Context, f *execution.Following, p *plans.Plan) {
	if in := &p.Inserts[0]; in.Upsert.Conflict != plans.ConflictSkip || in.Rows == 1 || !p.Dialect.LastRowID {
		return
	}
	kept := execution.Following{Conn: f.Conn}
	for _, b := range f.After {
		b.Explicit = plans.Explicit{Open: true}
		kept.After = append(kept.After, b)
	}
	_ = RaiseAfter(ctx, &kept) // the error of the INSERT already shows that the transaction has ended
}

// ErrEnded is returned when the transaction of an INSERT had ended before the INSERT
// was sent.
var ErrEnded = anchor.Last("transaction-ended", "keyfill: the transaction had ended before this INSERT, by an error or an unseen commit: roll it back, and begin again")

// UndoneAfter returns an error if the transaction has ended, given the error of a query
// or a change that followed a successful statement: then the statement's rows are gone,
// and the next statement would be committed at once. It returns nil if the transaction
// is still open, or can only be rolled back, since its COMMIT will report that.
func UndoneAfter(ctx context.Context, c *execution.Conn, err error) error {
	switch {
	case err == nil, c.Tx == session.Outside, c.DB.AnyEngine().Dialect.ErrorsAbort:
		return nil
	case c.DB.IsUndone(err):
		return err
	case !c.DB.StatesOnConnection() || c.Tx != session.Inside:
		return nil
	}
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	if errors.Is(c.ProvenStore().Prove(ctx), store.ErrEnded) {
		c.MarkEnded()
		return anchor.End(fmt.Errorf("%w: %v", ErrEnded, err)) // formatted with %v, since it may be driver.ErrBadConn
	}
	return nil
}
