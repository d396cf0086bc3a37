package joined_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// The article on keys by steps that are coprime with their number: a table of one row and
// one column with the last key, which is read and written in a SERIALIZABLE transaction.
// nextKey = (lastKey + k) % n; the last of the n keys leaves what the table began with,
// and a reader of the table cannot give it.
const (
	residueN = 62 * 62 * 62
	residueK = 67 * 71 * 73 % residueN
)

// residues is how keyfill reads that table: it begins with 0.
type residues struct{}

func (residues) Residue(next int64) int64 { return (next - 1) % residueN * residueK % residueN }

func (residues) NextOf(residue int64) (int64, error) {
	if residue < 0 || residue >= residueN {
		return 0, errors.New("no last key")
	}
	return residue*residueInverse%residueN + 1, nil
}

// residueInverse is the inverse of residueK modulo residueN.
var residueInverse = func() int64 {
	for i := int64(1); ; i++ {
		if i*residueK%residueN == 1 {
			return i
		}
	}
}()

// stepSerializable is the article's program. The number of the first of its keys
// is returned, for the test.
func stepSerializable(s *harness.Scratch) harness.Allocator {
	begin := map[string][]string{
		"sqlite":   {"BEGIN IMMEDIATE"}, // transactions of SQLite are serializable
		"postgres": {"BEGIN ISOLATION LEVEL SERIALIZABLE"},
		"mariadb":  {"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "BEGIN"},
	}[s.Dialect.Name]
	update := placed(s, "UPDATE last_key SET v = %s", 1)
	return func(ctx context.Context, c *sql.Conn, n int64) (int64, error) {
		for {
			var last int64
			for _, statement := range begin[:len(begin)-1] {
				if _, err := c.ExecContext(ctx, statement); err != nil {
					return 0, err
				}
			}
			err := harness.ArticleTransaction(ctx, c, begin[len(begin)-1], func() error {
				if err := c.QueryRowContext(ctx, "SELECT v FROM last_key").Scan(&last); err != nil {
					return err
				}
				key := last
				for range n {
					key = (key + residueK) % residueN
				}
				return affects(ctx, c, update, key)
			})
			if harness.IsSerialization(err) {
				continue
			}
			if err != nil {
				return 0, err
			}
			return residues{}.NextOf(last)
		}
	}
}

// TestArticleResidue: the article's program and keyfill make keys from one row
// at the same time.
func TestArticleResidue(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id VARCHAR(3) NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, "CREATE TABLE last_key (v INTEGER NOT NULL)")
		q := harness.Orders
		q.Table = &sequence.KeyTable{Name: "last_key", Value: "v", Last: true}
		q.Codec, q.Bounds.Max = residues{}, residueN-1
		_, err := reserver.New(harness.StoreOf(t, s), q).Reserve(context.Background(), 1, 0)
		var e *store.Error
		if !errorsAs(err, &e) || e.Err != store.ErrNoRow {
			t.Fatalf("%v, want %v", err, store.ErrNoRow)
		}
		harness.Exec(t, s.Raw, e.SQL)
		optimistic := q
		optimistic.Lock = sequence.LockOptimistic
		total := harness.Together(t, s, map[string]harness.Allocator{"serializable": stepSerializable(s)},
			map[string]sequence.Sequence{"locked": q, "optimistic": optimistic})
		if last := harness.CountInt(t, s.Raw, "SELECT v FROM last_key"); last != total*residueK%residueN {
			t.Errorf("the last key is %d after %d keys", last, total)
		}
		endOfResidues(t, s, q)
	})
}

// endOfResidues: the last number that the table can distinguish from the first is the
// last that is given, whatever Max says.
func endOfResidues(t *testing.T, s *harness.Scratch, q sequence.Sequence) {
	t.Helper()
	ctx := context.Background()
	within := func(r *reserver.Reserver, f func(*reserver.Reserver)) {
		harness.OnConn(t, s, func(_ context.Context, _ *sql.Conn, c driver.Conn) {
			harness.SqlOn(t, c, beginOf(s))
			f(r.At(store.Within(s.Dialect, c)).AllOrNone())
			harness.SqlOn(t, c, "ROLLBACK")
		})
	}
	for _, lock := range []string{"", sequence.LockOptimistic} {
		q.Lock = lock
		harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE last_key SET v = %d", residues{}.Residue(1)))
		r := reserver.New(harness.StoreOf(t, s), q)
		if err := r.Advance(ctx, residueN-9); err != nil {
			t.Fatal(err)
		}
		within(r, func(r *reserver.Reserver) {
			if got, err := r.Reserve(ctx, 5, 0); err != nil || got.First != residueN-9 {
				t.Errorf("in a transaction: %+v, %v; want %d", got, err, residueN-9)
			}
			if err := r.Advance(ctx, residueN-3); err != nil {
				t.Errorf("Advance in a transaction: %v", err)
			}
			if got, err := r.Reserve(ctx, 1, 0); err != nil || got.First != residueN-3 {
				t.Errorf("in a transaction: %+v, %v; want %d", got, err, residueN-3)
			}
		})
		if got, err := r.Reserve(ctx, 100, 0); err != nil || got.First != residueN-9 {
			t.Errorf("%+v, %v; want %d", got, err, residueN-9)
		}
		if got, err := r.Reserve(ctx, 1, 0); !harness.ErrorsAre(err, harness.ErrExhausted) {
			t.Errorf("%+v, %v; want %v", got, err, harness.ErrExhausted)
		}
		q.Bounds.Max = residueN
		if got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 1, 0); !harness.ErrorsAre(err, harness.ErrExhausted) {
			t.Errorf("with too great a Max: %+v, %v; want %v", got, err, harness.ErrExhausted)
		}
		q.Bounds.Max = residueN - 1
	}
	harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE last_key SET v = %d", residueN))
	if got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 1, 0); !harness.ErrorsAre(err, store.ErrKeyValue) {
		t.Errorf("of a last key that there is not: %+v, %v; want %v", got, err, store.ErrKeyValue)
	}
}

func errorsAs(err error, target **store.Error) bool { return errors.As(err, target) }
