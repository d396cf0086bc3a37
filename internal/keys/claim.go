package keys

import (
	"context"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// A state that is no row of keyfill_sequences beside its table leaves a row there
// that says which column it fills: a claim. So another source for the same column
// is refused whichever of the two comes first.

// claimer returns what a counter claims columns for: a claim without its column.
type claimer func(ctx context.Context) (store.Claim, error)

// claimAgain is after how long a claim is tried again that could not be noted: the
// tables were not there.
const claimAgain = 10 * time.Second

// claimed says what has become of a claim.
type claimed struct {
	noted bool
	tried time.Time
}

// claimerOf returns how a source with a row of a store claims columns, nil where
// that row does: it says itself which column it fills.
func claimerOf(src policy.Source, row *store.Sequence) claimer {
	state := ""
	switch {
	case src.Store != "" && src.Store != policy.StoreNone:
		state = fmt.Sprintf("%s (store %s)", row.Name, src.Store)
	case row.Table != nil, row.Procedure != "" && row.Procedure != store.ReserveProcedure:
		state = row.ForeignState()
	default:
		return nil
	}
	return claims(store.Claim{State: state})
}

// claims returns a claimer of what is known beforehand.
func claims(c store.Claim) claimer {
	return func(context.Context) (store.Claim, error) { return c, nil }
}

// claim claims the column of a counter, and reports whether that is done for good.
func (db *Tables) claim(ctx context.Context, g *Conn, t *Table, i int, c *counter) (done bool, err error) {
	if c.claimer == nil {
		return true, nil
	}
	f, err := db.Facts(ctx, g, t)
	if err != nil || f.unseen != nil {
		return false, err // a temporary table's keys are nobody else's business
	}
	claim, err := c.claimer(ctx)
	if err != nil {
		return false, err
	}
	claim.Column, claim.Exclusive = f.Columns[i].Stored(t.Rule, &t.KeyColumns[i], false), t.KeyColumns[i].Rule.Source.Exclusive
	return db.claimColumn(ctx, g, claim)
}

// claimColumn makes a claim in the application's own database.
func (db *Tables) claimColumn(ctx context.Context, g *Conn, claim store.Claim) (done bool, err error) {
	if db.StandIn != nil || g == nil && db.OnConnection() {
		return false, nil
	}
	set := db.sources.counters
	if g != nil && g.Counters != nil {
		set = g.Counters
	}
	key := claim.Row()
	if last, ok := set.claims.Load(key); ok {
		if last := last.(claimed); last.noted || time.Since(last.tried) < claimAgain {
			return last.noted, nil
		}
	}
	noted, stays, err := db.writeClaim(ctx, g, claim)
	if err == nil && (stays || !noted) {
		set.claims.Store(key, claimed{noted, time.Now()})
	}
	return noted && stays, err
}

// writeClaim writes a claim down, and reports whether that stays whatever becomes of the
// statement's transaction.
func (db *Tables) writeClaim(ctx context.Context, g *Conn, claim store.Claim) (noted, stays bool, err error) {
	if !db.OnConnection() {
		home, err := db.sources.stores.get("")
		if err != nil {
			return false, false, err
		}
		if !claim.Exclusive {
			home.EnsureClaims(ctx)
		}
		noted, _, err = home.Claim(ctx, claim)
		return noted, true, err
	}
	db.Ensure(ctx, g)
	made := false
	write := func(st *store.Store) error {
		noted, made, err = st.Claim(ctx, claim)
		return err
	}
	d := db.MayBe[0].Dialect
	if g.Tx == session.Outside {
		row := &connRow{dialect: d}
		if err := (committing{row, g}).transact(ctx, write); err != errInside {
			return noted, true, err
		}
	}
	if err := write(store.Within(d, g.Raw)); err != nil {
		return false, false, err
	}
	// What this transaction has made, an earlier statement of it perhaps, may be
	// rolled back.
	g.claimed = g.claimed || made
	return noted, !g.claimed, nil
}
