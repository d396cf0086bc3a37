package store

import (
	"context"
	"crypto/rand"
	"math"

	"github.com/keyfill/keyfill/internal/anchor"
)

// tokenRow is the row in which [Store.Shares] leaves a token. It is no state and no claim.
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
func Shares(ctx context.Context, s *Store, other *Store) (bool, error) {
	row, err := readRow(ctx, s, tokenRow)
	if err != nil {
		return false, err
	}
	if row == nil {
		if err := makeRow(ctx, s, tokenRow, 1, "", "", tokenParameters); err != nil {
			return false, s.failed(tokenRow, err)
		}
		if row, err = readRow(ctx, s, tokenRow); err != nil || row == nil {
			return false, err
		}
	}
	before, token := row.incarnation, rand.Text()
	if err := (binder{s}).mark(ctx, &binding{state: tokenRow}, tokenRow, before, token, math.MaxInt64); err != nil {
		return false, err
	}
	written := map[string]bool{token: true} // through s, since then
	for range shareTries {
		read, err := readRow(ctx, other, tokenRow)
		if err != nil {
			return false, err
		}
		if row, err = readRow(ctx, s, tokenRow); err != nil {
			return false, err
		}
		stands := row != nil && row.incarnation != before
		if stands && read != nil && (read.incarnation == row.incarnation || written[read.incarnation]) {
			return true, nil
		}
		if !stands || written[row.incarnation] {
			return false, nil // it stood here when the other store did not have it
		}
		written[row.incarnation] = true
	}
	return false, s.failed(tokenRow, errTokens)
}

// ShowsSame reports whether the row of a state is the same one through another store, as far
// as that can be seen without a change.
func ShowsSame(ctx context.Context, s *Store, other *Store, name string) bool {
	one, err := readRow(ctx, s, name)
	if err != nil || one == nil {
		return false
	}
	two, err := readRow(ctx, other, name)
	return err == nil && two != nil && one.incarnation == two.incarnation && one.server == two.server && two.next >= one.next
}
