package harness

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// Allocator is a program of one of the articles about keys, translated into Go: it reserves
// n keys and returns the first of them. It uses the connection alone.
type Allocator func(ctx context.Context, c *sql.Conn, n int64) (first int64, err error)

// Together runs the programs of an article and keyfill's sequences on one table at the same
// time, two instances of each, and checks that no integer is given twice or left out. It
// returns the number of integers that were given.
func Together(t *testing.T, s *Scratch, programs map[string]Allocator, sequences map[string]sequence.Sequence) int64 {
	t.Helper()
	const rounds = 20
	var (
		got Runs
		wg  sync.WaitGroup
		ctx = context.Background()
	)
	work := func(name string, reserve func(n int64) (int64, error)) {
		for range rounds {
			n := 1 + rand.Int64N(20)
			first, err := reserve(n)
			for ErrorsAre(err, store.ErrContention) || IsSerialization(err) {
				first, err = reserve(n) // try again, as a source does
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			got.Mu.Lock()
			got.All = append(got.All, Run{first, n})
			got.Mu.Unlock()
		}
	}
	for name, program := range programs {
		for range 2 {
			c, err := s.Raw.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			wg.Go(func() {
				work(name, func(n int64) (int64, error) { return program(ctx, c, n) })
			})
		}
	}
	for name, q := range sequences {
		for range 2 {
			reserve := inOrder(reserver.New(StoreOf(t, s), q))
			wg.Go(func() { work(name, reserve) })
		}
	}
	wg.Wait()
	count, total := got.Check(t)
	if want := 2 * rounds * (len(programs) + len(sequences)); count != want && !t.Failed() {
		t.Errorf("%d runs, want %d", count, want)
	}
	last := got.All[len(got.All)-1]
	if end := last.First + last.N - 1; end != total && !t.Failed() {
		t.Errorf("%d integers up to %d", total, end)
	}
	return total
}

// inOrder returns a function that reserves as one process does: each call requires greater
// integers than the calls before.
func inOrder(r *reserver.Reserver) func(n int64) (int64, error) {
	seen := int64(0)
	return func(n int64) (int64, error) {
		one, err := r.Reserve(context.Background(), n, seen)
		switch {
		case err != nil:
			return 0, err
		case one.First < seen:
			return 0, fmt.Errorf("%d after %d", one.First, seen)
		}
		seen = one.First + n
		return one.First, nil
	}
}

// IsSerialization reports whether an error says that a transaction is to be run
// again.
func IsSerialization(err error) bool {
	text := fmt.Sprint(err)
	return strings.Contains(text, "40001") || strings.Contains(text, "Deadlock") ||
		strings.Contains(text, "could not serialize")
}

// ArticleTransaction runs f between two statements on a connection.
func ArticleTransaction(ctx context.Context, c *sql.Conn, begin string, f func() error) error {
	if _, err := c.ExecContext(ctx, begin); err != nil {
		return err
	}
	end := "COMMIT"
	err := f()
	if err != nil {
		end = "ROLLBACK"
	}
	if _, endErr := c.ExecContext(ctx, end); err == nil {
		err = endErr
	}
	return err
}
