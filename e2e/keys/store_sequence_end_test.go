package keys_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestSequenceEnd: the last keys up to max_bits are all stored: an INSERT of too
// many rows, in a transaction that commits or outside of one, takes none.
func TestSequenceEnd(t *testing.T) {
	t.Parallel()
	const last = 1<<31 - 1
	for _, block := range []int64{0, 1, 7, 100} {
		for _, inside := range []bool{false, true} {
			t.Run(fmt.Sprintf("block %d, transaction %v", block, inside), func(t *testing.T) {
				harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
					harness.CreateIDs(t, s, "t")
					harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO t VALUES (%d, 1)", last-8))
					db, _ := s.Open(t, harness.FillID("t", policy.Table{MaxBits: 31,
						InPlace: new(harness.Counted(func(s *policy.Source) { s.Block = block }))}))
					insert := func(values string) error {
						if !inside {
							_, err := db.Exec("INSERT INTO t (a) VALUES " + values)
							return err
						}
						tx, err := db.Begin()
						if err != nil {
							t.Fatal(err)
						}
						_, err = tx.Exec("INSERT INTO t (a) VALUES " + values)
						if commitErr := tx.Commit(); commitErr != nil {
							t.Fatal(commitErr)
						}
						return err
					}
					for i, c := range []struct {
						values string
						want   error
					}{
						{"(1), (1), (1), (1), (1)", nil},
						{"(1), (1), (1), (1), (1)", keysource.ErrExhausted},
						{"(1), (1), (1), (1)", keysource.ErrExhausted},
						{"(1), (1)", nil},
						{"(1), (1)", keysource.ErrExhausted},
						{"(1)", nil},
						{"(1)", keysource.ErrExhausted},
					} {
						if err := insert(c.values); !errors.Is(err, c.want) {
							t.Errorf("INSERT %d: %v, want %v", i, err, c.want)
						}
					}
					if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 9 {
						t.Errorf("%d rows, want 9 up to %d", n, last)
					}
				})
			})
		}
	}
}
