package binding

import (
	"context"
	"crypto/rand"
	"math"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// tokenRow is the row in which [Shares] leaves a token. It is no state and no claim.
const (
	tokenRow        = "keyfill same database"
	tokenParameters = "token"
)

// shareTries is how often the tokens are compared while others write theirs: each process
// writes one.
const shareTries = 100

// errTokens is returned where others have changed the row each time.
var errTokens = anchor.New("contention", "the row was changed each time before it was read: insert again")

// Shares reports whether another store is the same database, reached in another way: a token
// that is written through one is read through the other. Names of servers and databases
// prove nothing, since a copy has the same ones. Others may write tokens meanwhile, which
// prove as much: whatever has replaced what stood there at the beginning is new.
func Shares(ctx context.Context, s *store.Store, other *store.Store) (bool, error) {
	row, err := staterow.Read(ctx, s, tokenRow)
	if err != nil {
		return false, err
	}
	if row == nil {
		if err := staterow.Make(ctx, s, tokenRow, 1, "", "", tokenParameters); err != nil {
			return false, s.Failed(tokenRow, err)
		}
		if row, err = staterow.Read(ctx, s, tokenRow); err != nil || row == nil {
			return false, err
		}
	}
	before, token := row.Incarnation, rand.Text()
	if err := (Binder{s}).mark(ctx, &Binding{State: tokenRow}, tokenRow, before, token, math.MaxInt64); err != nil {
		return false, err
	}
	written := map[string]bool{token: true} // through s, since then
	for range shareTries {
		read, err := staterow.Read(ctx, other, tokenRow)
		if err != nil {
			return false, err
		}
		if row, err = staterow.Read(ctx, s, tokenRow); err != nil {
			return false, err
		}
		stands := row != nil && row.Incarnation != before
		if stands && read != nil && (read.Incarnation == row.Incarnation || written[read.Incarnation]) {
			return true, nil
		}
		if !stands || written[row.Incarnation] {
			return false, nil // it stood here when the other store did not have it
		}
		written[row.Incarnation] = true
	}
	return false, s.Failed(tokenRow, errTokens)
}

// ShowsSame reports whether the row of a state is the same one through another store, as far
// as that can be seen without a change.
func ShowsSame(ctx context.Context, s *store.Store, other *store.Store, name string) bool {
	one, err := staterow.Read(ctx, s, name)
	if err != nil || one == nil {
		return false
	}
	two, err := staterow.Read(ctx, other, name)
	return err == nil && two != nil && one.Incarnation == two.Incarnation && one.Server == two.Server && two.Next >= one.Next
}
