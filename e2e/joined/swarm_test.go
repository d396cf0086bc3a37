package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

const (
	joinedConnections = 16
	joinedInserts     = 1_200
	joinedSoak        = 20_000 // with make soak
)

// errEnough ends a transaction of a swarm that is to be rolled back.
var errEnough = errors.New("rolled back")

// TestJoinedSwarm: INSERTs by 16 connections, a third of which are rolled back, by the transaction, to a savepoint, or because they fail: the numbers that
// are stored are 1 to N.
func TestJoinedSwarm(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault, harness.SQLiteFile}) {
		t.Run(e.Name, func(t *testing.T) {
			s := e.Scratch(t)
			db, _ := joinedTable(t, s)
			harness.Exec(t, db, "INSERT INTO t (a, c) VALUES (0, -1000000)")
			db.SetMaxOpenConns(joinedConnections)
			inserts := joinedInserts
			if harness.Soaking() {
				inserts = joinedSoak
			}
			if e.Is(harness.PQDefault) { // the server has had its share through pgx
				inserts /= 3
			}
			began := time.Now()
			var left, stored, undone atomic.Int64
			left.Store(int64(inserts))
			stored.Store(1)
			var wg sync.WaitGroup
			for w := range joinedConnections {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(1, uint64(w)))
					for left.Load() > 0 {
						kept, lost, err := joinedStep(s, db, r, &left)
						stored.Add(kept)
						undone.Add(lost)
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			t.Logf("%d stored, %d undone in %s", stored.Load(), undone.Load(), time.Since(began))
			if u := undone.Load(); u < int64(inserts)/4 {
				t.Errorf("only %d were undone", u)
			}
			ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
			if !slices.Equal(ids, harness.UpTo(stored.Load())) {
				t.Errorf("%d rows of %d, from %d to %d: not without a hole", len(ids), stored.Load(), ids[0], ids[len(ids)-1])
			}
			wantNext(t, s, len(ids)+1)
		})
	}
}

// joinedStep makes a few INSERTs in one of the ways that there are, and returns how
// many are stored and how many are not.
func joinedStep(s *harness.Scratch, db *sql.DB, r *rand.Rand, left *atomic.Int64) (stored, undone int64, err error) {
	ctx := context.Background()
	c := left.Add(-1)
	one := s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?)")
	switch r.IntN(6) {
	case 0, 1:
		_, err = db.ExecContext(ctx, one, 1, c)
		return 1, 0, err
	case 2: // fails
		if _, err := db.ExecContext(ctx, one, 1, -1000000); err == nil {
			return 0, 0, errors.New("a duplicate was stored")
		}
		return 0, 1, nil
	}
	rows := 1 + int64(r.IntN(3))
	how := r.IntN(3)
	err = harness.InTx(db, func(tx *sql.Tx) error {
		for i := range rows {
			if i > 0 {
				c = left.Add(-1)
			}
			if _, err := tx.ExecContext(ctx, one, 1, c); err != nil {
				return err
			}
		}
		if how == 1 {
			return aside(s, ctx, tx, one, c)
		}
		if how == 2 {
			return errEnough
		}
		return nil
	})
	switch {
	case err == errEnough:
		return 0, rows, nil
	case err != nil:
		return 0, 0, fmt.Errorf("in a transaction: %w", err)
	case how == 1:
		return rows, 2, nil
	}
	return rows, 0, nil
}

// aside makes two INSERTs that are rolled back to a savepoint, one of which fails.
func aside(s *harness.Scratch, ctx context.Context, tx *sql.Tx, query string, c int64) error {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT mine"); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, query, 2, nil); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, query, 2, c); err == nil {
		return errors.New("a duplicate was stored")
	}
	_, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT mine")
	return err
}
