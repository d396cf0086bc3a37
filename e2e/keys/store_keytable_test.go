package keys_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/testturn"
)

// singleState is a table of one row, and needs no quotes.
func singleState(integer string, last bool) harness.StateOf {
	return harness.StateOf{
		Name: "single",
		Create: []string{
			fmt.Sprintf("CREATE TABLE orders_seq (v %s NOT NULL, ver %s DEFAULT 0 NOT NULL)", integer, integer),
			fmt.Sprintf("INSERT INTO orders_seq VALUES (%d, 0)", 1-harness.OffsetOf(last)),
		},
		Table: &sequence.KeyTable{Name: "orders_seq", Value: "v", Last: last},
		Own: map[string]string{
			"postgres": fmt.Sprintf(`CREATE FUNCTION next_key(wanted text, n bigint) RETURNS bigint LANGUAGE sql AS
				$$ UPDATE orders_seq SET v = v + n RETURNING v - n + %d $$`, harness.OffsetOf(last)),
			"mariadb": fmt.Sprintf(`CREATE PROCEDURE next_key(wanted VARCHAR(40), n BIGINT) BEGIN
				UPDATE orders_seq SET v = v + n; SELECT v - n + %d FROM orders_seq; END`, harness.OffsetOf(last)),
		},
		Value: "SELECT v FROM orders_seq",
	}
}

// ownState is keyfill_sequences.
var ownState = harness.StateOf{Name: "own", Value: "SELECT next_value FROM keyfill_sequences"}

// statesFor are all states for a dialect, with next or last values in them.
func statesFor(d *dialect.Dialect, last bool) []harness.StateOf {
	states := []harness.StateOf{harness.KeyedState(d, "INTEGER", last), singleState("BIGINT", last)}
	if !last {
		states = append(states, ownState)
	}
	return states
}

// TestStoreKeyTables: 8 goroutines on 4 pools reserve through every combination
// of a table and a way. Nothing is given twice, and nothing is left out.
func TestStoreKeyTables(t *testing.T) {
	t.Parallel()
	harness.Each(t, storeLoad, func(t *testing.T, s *harness.Scratch) {
		for _, last := range []bool{false, true} {
			for _, st := range statesFor(s.Dialect, last) {
				if (s.Is(harness.MySQLInterp) || s.Is(harness.PgxSimple)) && (st.Name != "keyed" || last) {
					continue // what a mode of the driver changes shows in the others
				}
				for i, way := range st.Ways(s) {
					if !testturn.Of(t, i+len(st.Name), 2) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/last=%v", st.Name, way, last), func(t *testing.T) {
						s := harness.Emptied(t, s)
						q := st.Through(t, s, way)
						reserveTogether(t, s, st, *q)
					})
				}
			}
		}
	})
}

// reserveTogether reserves from several pools, and asks that the integers follow
// on one another from 1 to what is stored.
func reserveTogether(t *testing.T, s *harness.Scratch, st harness.StateOf, q sequence.Sequence) {
	t.Helper()
	const pools, each, rounds = 4, 2, 12
	var (
		got harness.Runs
		wg  sync.WaitGroup
	)
	for range pools {
		r := reserver.New(harness.StoreOf(t, s), q)
		for range each {
			wg.Go(func() {
				seen := int64(0)
				for range rounds {
					n := 1 + rand.Int64N(50)
					for {
						r, err := r.Reserve(context.Background(), n, seen)
						if q.Lock != "" && harness.ErrorsAre(err, store.ErrContention) {
							continue // 8 at once are many
						}
						if err != nil {
							t.Error(err)
							return
						}
						if r.First < seen {
							t.Errorf("%+v after %d", r, seen)
						}
						seen = r.First + n
						got.Add(r, n)
						break
					}
				}
			})
		}
	}
	wg.Wait()
	count, total := got.Check(t)
	if count != pools*each*rounds || len(got.Servers) != 1 {
		t.Errorf("%d runs, want %d; servers %v, want one", count, pools*each*rounds, got.Servers)
	}
	want := total + 1
	if q.Table != nil && q.Table.Last {
		want--
	}
	if stored := harness.CountInt(t, s.Raw, st.Value); stored != want {
		t.Errorf("%d is stored, want %d", stored, want)
	}
	if q.Table != nil && q.Table.Version != "" {
		if n := harness.CountInt(t, s.Raw, strings.Replace(st.Value, q.Table.Value, "ver", 1)); n != int64(count) {
			t.Errorf("the version is %d after %d changes", n, count)
		}
	}
	if st.Name == "keyed" {
		other := strings.Replace(st.Value, "'orders'", "'parts'", 1)
		if n := harness.CountInt(t, s.Raw, other); n != 77 {
			t.Errorf("the row of another sequence holds %d, want 77", n)
		}
	}
}

// TestStoreKeyTableOnConnection: in a transaction of the application what is
// reserved is the transaction's, whatever the lock; outside it is its own.
func TestStoreKeyTableOnConnection(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		for _, last := range []bool{false, true} {
			for _, st := range statesFor(s.Dialect, last) {
				for _, way := range st.Ways(s) {
					t.Run(fmt.Sprintf("%s/%s/last=%v", st.Name, way, last), func(t *testing.T) {
						s := harness.Emptied(t, s)
						q := st.Through(t, s, way)
						if q.EnsureSchema {
							if _, err := reserver.Open(context.Background(), harness.StoreOf(t, s), *q); err != nil {
								t.Fatal(err)
							}
						}
						takeInTransactions(t, s, *q)
					})
				}
			}
		}
	})
}

func takeInTransactions(t *testing.T, s *harness.Scratch, q sequence.Sequence) {
	t.Helper()
	harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driverConn) {
		r := reserver.New(harness.StoreOf(t, s), q)
		on, within := r.At(store.On(s.Dialect, c)), r.At(store.Within(s.Dialect, c)).AllOrNone()
		take := func(r *reserver.Reserver, want int64) {
			t.Helper()
			got, err := r.Reserve(ctx, 10, want)
			if err != nil || got.First != want {
				t.Errorf("%+v, %v; want the first to be %d", got, err, want)
			}
		}
		take(on, 1)
		for _, end := range []string{"ROLLBACK", "COMMIT"} {
			harness.SqlOn(t, c, "BEGIN")
			take(within, 11)
			take(within, 21)
			harness.SqlOn(t, c, "SAVEPOINT a")
			take(within, 31)
			harness.SqlOn(t, c, "ROLLBACK TO SAVEPOINT a")
			take(within, 31)
			harness.SqlOn(t, c, end)
		}
		take(on, 41)
		if err := on.Advance(ctx, 61); err != nil {
			t.Error(err)
		}
		if err := on.Advance(ctx, 55); err != nil {
			t.Error(err)
		}
		take(on, 61)
		harness.SqlOn(t, c, "BEGIN")
		if err := within.Advance(ctx, 101); err != nil {
			t.Error(err)
		}
		take(within, 101)
		harness.SqlOn(t, c, "ROLLBACK")
		take(on, 71)
	})
}

// TestStoreKeyTableLimit: what does not fit the column any more is refused, and
// not stored; the integers up to it are given.
func TestStoreKeyTableLimit(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers[1:], func(t *testing.T, s *harness.Scratch) {
		for _, last := range []bool{false, true} {
			for _, way := range slices.Delete(slices.Clone(harness.WaysToReserve), 4, 5) {
				for integer, limit := range map[string]int64{"SMALLINT": 1<<15 - 1, "INTEGER": 1<<31 - 1, "DECIMAL(5,0)": 99999} {
					t.Run(fmt.Sprintf("%s/last=%v/%s", way, last, integer), func(t *testing.T) {
						s := harness.Emptied(t, s)
						if !s.IsPostgres() {
							// What does not fit is then cut without an error.
							s.Connector = harness.ConnectorOf(t, s.Driver, s.Server.DSN(harness.DatabaseOf(t, s))+"?sql_mode=''")
						}
						q := singleState(integer, last).Through(t, s, way)
						atLimit(t, s, *q, limit)
					})
				}
			}
		}
	})
}

func atLimit(t *testing.T, s *harness.Scratch, q sequence.Sequence, limit int64) {
	t.Helper()
	ctx := context.Background()
	greatest := limit - 1 + int64(harness.OffsetOf(q.Table.Last))
	harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE orders_seq SET v = %d", limit-10))
	first := greatest - 9
	r := reserver.New(harness.StoreOf(t, s), q)
	if got, err := r.Reserve(ctx, 4, 0); err != nil || got.First != first {
		t.Errorf("%+v, %v; want %d", got, err, first)
	}
	if _, err := r.AllOrNone().Reserve(ctx, 7, 0); !harness.ErrorsAre(err, harness.ErrExhausted) {
		t.Errorf("7 of 6: %v", err)
	}
	if got, err := r.Reserve(ctx, 7, 0); err != nil || got.First != first+4 {
		t.Errorf("%+v, %v; want %d", got, err, first+4)
	}
	if got, err := r.Reserve(ctx, 1, 0); !harness.ErrorsAre(err, harness.ErrExhausted) {
		t.Errorf("%+v, %v; want %v", got, err, harness.ErrExhausted)
	}
	if err := r.Advance(ctx, greatest+2); !harness.ErrorsAre(err, harness.ErrExhausted) {
		t.Errorf("Advance: %v", err)
	}
	if stored := harness.CountInt(t, s.Raw, "SELECT v FROM orders_seq"); stored != limit {
		t.Errorf("%d is stored, want %d", stored, limit)
	}
}
