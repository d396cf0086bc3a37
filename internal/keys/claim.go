package keys

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// A claim is a row of keyfill_sequences that says which state (the stored counter of a
// source) fills a column. A state that is not itself such a row in the table's own
// database writes a claim there. So another source for the same column is refused,
// whichever of the two comes first.

// claimed records whether a claim (a row that says which source fills a column) is
// written, and when a process last tried to write it.
type claimed struct {
	noted bool
	tried time.Time
}

// claim claims the column for a counter, by a row that says which source fills it, and
// reports whether that row will stay.
func (dr Drawing) claim(ctx context.Context, c *counter.Counter) (done bool, err error) {
	if c.Claimer == nil {
		return true, nil
	}
	f, err := dr.Tables.Facts(ctx, dr.On, dr.Table)
	if err != nil || f.Unseen != nil {
		return false, err // nothing is claimed: the keys of a temporary table concern no other session
	}
	claim, err := c.Claimer(ctx, dr.On)
	if err != nil {
		return false, err
	}
	claim.Column, claim.Exclusive = f.Columns[dr.Index].StoreColumn(dr.Table.Rule, dr.Key, false), dr.Key.Rule.Source.Exclusive
	claim.OfValue = len(dr.Key.Rule.Values) > 0
	if done, err = dr.claimColumn(ctx, claim); done {
		c.Use.Claim(ctx, claim.Column)
	}
	return done, err
}

// claimColumn writes a claim (a row that says which source fills a column) into the
// application's own database, and reports whether it will stay.
func (dr Drawing) claimColumn(ctx context.Context, claim binding.Claim) (done bool, err error) {
	if dr.On == nil && dr.Tables.StatesOnConnection() {
		return false, nil
	}
	set := dr.sources.counters
	switch {
	case dr.On == nil:
	case dr.On.InMemory:
		set = dr.own.InMemory()
	case relation.IsOwn(dr.Tables, dr.Table):
		if dr.own.Claims == nil {
			dr.own.Claims = counter.NewCounters()
		}
		set = dr.own.Claims
	}
	key, now := claim.Row(), nowOf(dr.Tables.Env)
	known, again := set.Claims.Load(key)
	if again {
		if last := known.(claimed); last.noted || now.Sub(last.tried) < counter.ClaimAgain {
			return last.noted, nil
		}
	}
	noted, stays, err := dr.writeClaim(ctx, claim)
	if again && claim.Exclusive && claim.State != "" && errors.Is(err, store.ErrBegun) {
		// Another sequence has begun to fill the column while this source was filling it,
		// and could not know of this source. A process that starts does not stop a running
		// one. The exception is a source that takes the greatest key plus one, which may be
		// a key of the other sequence.
		noted, stays, err = false, false, nil
	}
	if err == nil && (stays || !noted) {
		set.Claims.Store(key, claimed{noted, now})
	}
	return noted && stays, err
}

// nowOf returns the current time of the sources' clock.
func nowOf(env keysource.Env) time.Time {
	if env.Now != nil {
		return env.Now()
	}
	return time.Now()
}

// writeClaim writes a claim (a row that says which source fills a column), and reports
// whether it is written, and whether it stays if the statement's transaction is rolled
// back.
func (dr Drawing) writeClaim(ctx context.Context, claim binding.Claim) (noted, stays bool, err error) {
	if !dr.Tables.StatesOnConnection() {
		return noteClaim(ctx, dr.Tables.Stores, dr.Key.Rule.Source, claim, dr.Tables.StoreWait/2, relation.LentConn(dr.On))
	}
	dr.On.EnsureStates(ctx)
	made := false
	write := func(st *store.Store) error {
		noted, made, err = claim.Note(ctx, st)
		return err
	}
	d := dr.Tables.Candidates[0].Dialect
	if dr.On.Tx == session.Outside {
		row := &numbering.ConnRow{Dialect: d}
		if err := (numbering.Committing{Row: row, On: dr.On}).Transact(ctx, write); err != numbering.ErrInside {
			return noted, true, err
		}
	}
	if err := write(store.Within(d, dr.On.Own())); err != nil {
		return false, false, err
	}
	// A row that this transaction has made, perhaps in an earlier statement, may be rolled
	// back.
	dr.own.Claimed = dr.own.Claimed || made
	return noted, !dr.own.Claimed, nil
}

// noteClaim writes the claim (a row that says which source fills a column) of a source
// on a connection of keyfill's own, and reports whether it is written and stays. It
// waits at most wait for the source's store. If the application's database accepts no
// more connections, it looks for an existing claim on the connection lent, and writes
// none.
func noteClaim(ctx context.Context, s *statestore.Stores, src policy.Source, claim binding.Claim, wait time.Duration, lent driver.Conn) (noted, stays bool, err error) {
	home, err := s.Get("")
	if err != nil {
		return false, false, err
	}
	if table.NeedsClaim(src) {
		schema.Of(home).EnsureClaims(ctx)
	}
	// If the source's store is the column's own database, the row of the state (stored
	// counter) names the column itself, and a claim would keep that row out. If the rights
	// or the tables to find that out are missing, the column is claimed: then no state
	// could be made there either.
	limited, cancel := context.WithTimeout(ctx, wait)
	own, err := s.IsOwn(limited, src.Store)
	cancel()
	switch {
	case err == nil && own:
		return true, true, nil
	case ctx.Err() != nil:
		return false, false, ctx.Err()
	case table.IsFull(err):
		// If only the source's store accepts no more connections, the source has to wait for
		// it anyway. If the column's own database accepts none, that is an error: a source
		// whose store answers would give keys without a claim.
		if err = home.ProbeAll(ctx); !table.IsFull(err) {
			return false, false, nil
		}
	case err != nil && !errors.Is(err, store.ErrTables) && !errors.Is(err, store.ErrRights):
		return false, false, nil // the source waits for a store that does not answer; the claim is tried again
	default:
		noted, _, err = claim.Note(ctx, home)
	}
	if lent != nil && table.IsFull(err) && claim.IsNoted(ctx, store.On(home.Dialect, lent)) {
		return true, true, nil
	}
	return noted, true, err
}
