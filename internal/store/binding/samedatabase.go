package binding

import (
	"context"
	"crypto/rand"
	"math"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// tokenRow is the name of the row into which [Shares] writes a token (a random text).
// The row is neither a stored counter nor a claim.
const (
	tokenRow        = "keyfill same database"
	tokenParameters = "token"
)

// shareTries is how often [Shares] compares the tokens while other processes write theirs.
// Each process writes one token.
const shareTries = 100

// errTokens is returned if other processes have changed the row with the token between each
// pair of reads.
var errTokens = anchor.New("contention", "another process changed the state's row each time before keyfill read it: send the INSERT again")

// Shares reports whether two stores are the same database, reached in different ways:
// it writes a random token through s and reads it through other. Names of servers and
// databases prove nothing, since a copy of a database has the same names. Tokens that
// other processes write meanwhile prove it too, once they have replaced the token that
// was there at the beginning.
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
	written := map[string]bool{token: true} // the tokens that were read or written through s since the call began
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
			return false, nil // s had the token when other did not have it
		}
		written[row.Incarnation] = true
	}
	return false, s.Failed(tokenRow, errTokens)
}

// ShowsSame reports whether the row of a stored counter is the same row when it is read
// through another store, as far as that can be found out without changing the row.
func ShowsSame(ctx context.Context, s *store.Store, other *store.Store, name string) bool {
	one, err := staterow.Read(ctx, s, name)
	if err != nil || one == nil {
		return false
	}
	two, err := staterow.Read(ctx, other, name)
	return err == nil && two != nil && one.Incarnation == two.Incarnation && one.Server == two.Server && two.Next >= one.Next
}
