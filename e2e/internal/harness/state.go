package harness

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// ErrExhausted is returned by a source that has no keys left.
var ErrExhausted = keysource.ErrExhausted

// ErrorsAre is the function errors.Is.
func ErrorsAre(err, target error) bool { return errors.Is(err, target) }

// Orders is the sequence of most tests, whose row starts at 1.
var Orders = sequence.Sequence{
	Name:    "orders.id",
	Columns: []store.Column{{Table: "orders", Name: "id"}},
	Create:  true,
}

// StoreOf returns a store with a pool of its own, as each process has one.
func StoreOf(t testing.TB, s *Scratch) *store.Store {
	t.Helper()
	db := store.Pool(s.Dialect, s.Connector)
	t.Cleanup(func() { db.Close() })
	return store.New(s.Dialect, db)
}

// OpenOrders creates the tables and returns a store in which the sequence Orders is open.
func OpenOrders(t *testing.T, s *Scratch) *store.Store {
	t.Helper()
	Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(20))")
	st := StoreOf(t, s)
	if err := schema.Of(st).Ensure(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := reserver.Open(context.Background(), st, Orders); err != nil {
		t.Fatal(err)
	}
	return st
}

// Run is a range of N integers that were reserved.
type Run struct{ First, N int64 }

// Runs collects the ranges that were reserved.
type Runs struct {
	Mu      sync.Mutex
	All     []Run
	Servers map[string]bool
}

// Add notes a range that was reserved.
func (r *Runs) Add(got keysource.Reservation, n int64) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.All = append(r.All, Run{got.First, n})
	if r.Servers == nil {
		r.Servers = map[string]bool{}
	}
	r.Servers[got.Server] = true
}

// Check fails the test where two runs overlap, and returns the number of runs and
// the number of integers in them.
func (r *Runs) Check(t *testing.T) (count int, total int64) {
	t.Helper()
	slices.SortFunc(r.All, func(a, b Run) int { return cmp.Compare(a.First, b.First) })
	next := int64(1)
	for _, one := range r.All {
		if one.First < next {
			t.Fatalf("a run begins at %d, the one before ends at %d", one.First, next-1)
		}
		next = one.First + one.N
		total += one.N
	}
	return len(r.All), total
}

// Count returns how many reservations there were.
func (r *Runs) Count() int {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return len(r.All)
}

// OnConn runs f on a connection of the driver.
func OnConn(t *testing.T, s *Scratch, f func(ctx context.Context, c *sql.Conn, raw driver.Conn)) {
	t.Helper()
	ctx := context.Background()
	c, err := s.Raw.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Raw(func(raw any) error {
		f(ctx, c, raw.(driver.Conn))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// SqlOn executes a statement on a driver's connection.
func SqlOn(t *testing.T, c driver.Conn, query string) {
	t.Helper()
	stmt, err := c.Prepare(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer stmt.Close()
	if _, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), nil); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
