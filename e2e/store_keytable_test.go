package e2e_test

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
	"github.com/keyfill/keyfill/internal/store"
)

// stateOf is where the state of the sequence of a test is, and how it is read.
type stateOf struct {
	name   string
	create []string          // statements; none for keyfill_sequences
	table  *store.KeyTable   // nil for keyfill_sequences
	own    map[string]string // the statement that creates its procedure, by dialect
	value  string            // the query for what is stored
}

// keyedState is a table with a row for each sequence, as in the article on
// sequential keys: KEYS (tableName, serial). It needs quotes.
func keyedState(d *dialect.Dialect, integer string, last bool) stateOf {
	q := d.QuoteIdent
	t := &store.KeyTable{Name: q("KEYS"), Key: q("tableName"), Row: "orders", Value: q("serial"), Last: last}
	return stateOf{
		name: "keyed",
		create: []string{
			fmt.Sprintf("CREATE TABLE %s (%s VARCHAR(40) NOT NULL PRIMARY KEY, %s %s NOT NULL, ver %s DEFAULT 0 NOT NULL)", t.Name, t.Key, t.Value, integer, integer),
			fmt.Sprintf("INSERT INTO %s VALUES ('orders', %d, 0)", t.Name, 1-offsetOf(last)),
			fmt.Sprintf("INSERT INTO %s VALUES ('parts', 77, 0)", t.Name),
		},
		table: t,
		own: map[string]string{
			"postgres": fmt.Sprintf(`CREATE FUNCTION next_key(wanted text, n integer) RETURNS integer LANGUAGE sql AS
				$$ UPDATE %s SET %s = %[2]s + n WHERE %[3]s = wanted RETURNING (%[2]s - n + %[4]d)::integer $$`, t.Name, t.Value, t.Key, offsetOf(last)),
			"mariadb": fmt.Sprintf(`CREATE PROCEDURE next_key(wanted VARCHAR(40), n INT) BEGIN
				UPDATE %s SET %s = %[2]s + n WHERE %[3]s = wanted;
				SELECT %[2]s - n + %[4]d FROM %[1]s WHERE %[3]s = wanted; END`, t.Name, t.Value, t.Key, offsetOf(last)),
		},
		value: fmt.Sprintf("SELECT %s FROM %s WHERE %s = 'orders'", t.Value, t.Name, t.Key),
	}
}

// singleState is a table of one row, and needs no quotes.
func singleState(integer string, last bool) stateOf {
	return stateOf{
		name: "single",
		create: []string{
			fmt.Sprintf("CREATE TABLE orders_seq (v %s NOT NULL, ver %s DEFAULT 0 NOT NULL)", integer, integer),
			fmt.Sprintf("INSERT INTO orders_seq VALUES (%d, 0)", 1-offsetOf(last)),
		},
		table: &store.KeyTable{Name: "orders_seq", Value: "v", Last: last},
		own: map[string]string{
			"postgres": fmt.Sprintf(`CREATE FUNCTION next_key(wanted text, n bigint) RETURNS bigint LANGUAGE sql AS
				$$ UPDATE orders_seq SET v = v + n RETURNING v - n + %d $$`, offsetOf(last)),
			"mariadb": fmt.Sprintf(`CREATE PROCEDURE next_key(wanted VARCHAR(40), n BIGINT) BEGIN
				UPDATE orders_seq SET v = v + n; SELECT v - n + %d FROM orders_seq; END`, offsetOf(last)),
		},
		value: "SELECT v FROM orders_seq",
	}
}

func offsetOf(last bool) int {
	if last {
		return 1
	}
	return 0
}

// ownState is keyfill_sequences.
var ownState = stateOf{name: "own", value: "SELECT next_value FROM keyfill_sequences"}

// waysToReserve are those of the tests of key tables.
var waysToReserve = []string{"pessimistic", "pessimistic-version", "optimistic", "optimistic-version", "procedure"}

// ways are those of waysToReserve that there are: a table of keyfill's own has no
// version, and SQLite no procedures.
func (st stateOf) ways(s *scratch) []string {
	return slices.DeleteFunc(slices.Clone(waysToReserve), func(way string) bool {
		return st.table == nil && strings.HasSuffix(way, "-version") || s.server == nil && way == "procedure"
	})
}

// through returns the sequence for a state that is changed in a way, and creates
// what is needed.
func (st stateOf) through(t *testing.T, s *scratch, way string) *store.Sequence {
	t.Helper()
	q := orders
	method, version := strings.CutSuffix(way, "-version")
	exec(t, s.raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(20))")
	for _, statement := range st.create {
		exec(t, s.raw, statement)
	}
	if st.table == nil {
		q.EnsureSchema = true
	} else {
		table := *st.table
		if version {
			table.Version = "ver"
		}
		q.Table = &table
	}
	switch {
	case method == "optimistic":
		q.Lock = store.LockOptimistic
	case method == "procedure" && st.table == nil:
		q.Procedure = store.ReserveProcedure
	case method == "procedure":
		exec(t, s.raw, st.own[s.dialect.Name])
		q.Procedure = "next_key"
	}
	return &q
}

// emptied returns the same database without what the tests of key tables have
// made in it, on new connections: a database for each would take a minute.
func emptied(t *testing.T, s *scratch) *scratch {
	t.Helper()
	again := *s
	again.raw = sql.OpenDB(s.connector)
	t.Cleanup(func() { again.raw.Close() })
	q := s.dialect.QuoteIdent
	for _, table := range []string{"orders", "orders_seq", q("KEYS"), "keyfill_sequences", "keyfill_workers", "keyfill_series"} {
		exec(t, again.raw, "DROP TABLE IF EXISTS "+table)
	}
	for _, name := range []string{"next_key", store.ReserveProcedure} {
		switch {
		case s.isPostgres():
			exec(t, again.raw, "DROP ROUTINE IF EXISTS "+name)
		case s.server != nil:
			exec(t, again.raw, "DROP PROCEDURE IF EXISTS "+name)
		}
	}
	return &again
}

// statesFor are all states for a dialect, with next or last values in them.
func statesFor(d *dialect.Dialect, last bool) []stateOf {
	states := []stateOf{keyedState(d, "INTEGER", last), singleState("BIGINT", last)}
	if !last {
		states = append(states, ownState)
	}
	return states
}

// TestStoreKeyTables: 8 goroutines on 4 pools reserve through every combination
// of a table and a way. Nothing is given twice, and nothing is left out.
func TestStoreKeyTables(t *testing.T) {
	each(t, storeLoad, func(t *testing.T, s *scratch) {
		for _, last := range []bool{false, true} {
			for _, st := range statesFor(s.dialect, last) {
				if slices.Contains([]string{mysqlInterp.name, pgxSimple.name}, s.name) && (st.name != "keyed" || last) {
					continue // what a mode of the driver changes shows in the others
				}
				for _, way := range st.ways(s) {
					t.Run(fmt.Sprintf("%s/%s/last=%v", st.name, way, last), func(t *testing.T) {
						s := emptied(t, s)
						q := st.through(t, s, way)
						reserveTogether(t, s, st, *q)
					})
				}
			}
		}
	})
}

// reserveTogether reserves from several pools, and asks that the integers follow
// on one another from 1 to what is stored.
func reserveTogether(t *testing.T, s *scratch, st stateOf, q store.Sequence) {
	t.Helper()
	const pools, each, rounds = 4, 2, 12
	var (
		got runs
		wg  sync.WaitGroup
	)
	for range pools {
		r := storeOf(t, s).Reserver(q)
		for range each {
			wg.Go(func() {
				seen := int64(0)
				for range rounds {
					n := 1 + rand.Int64N(50)
					for {
						r, err := r.Reserve(context.Background(), n, seen)
						if q.Lock != "" && errorsAre(err, store.ErrContention) {
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
						got.add(r, n)
						break
					}
				}
			})
		}
	}
	wg.Wait()
	count, total := got.check(t)
	if count != pools*each*rounds || len(got.servers) != 1 {
		t.Errorf("%d runs, want %d; servers %v, want one", count, pools*each*rounds, got.servers)
	}
	want := total + 1
	if q.Table != nil && q.Table.Last {
		want--
	}
	if stored := countInt(t, s.raw, st.value); stored != want {
		t.Errorf("%d is stored, want %d", stored, want)
	}
	if q.Table != nil && q.Table.Version != "" {
		if n := countInt(t, s.raw, strings.Replace(st.value, q.Table.Value, "ver", 1)); n != int64(count) {
			t.Errorf("the version is %d after %d changes", n, count)
		}
	}
	if st.name == "keyed" {
		other := strings.Replace(st.value, "'orders'", "'parts'", 1)
		if n := countInt(t, s.raw, other); n != 77 {
			t.Errorf("the row of another sequence holds %d, want 77", n)
		}
	}
}

// TestStoreKeyTableOnConnection: in a transaction of the application what is
// reserved is the transaction's, whatever the lock; outside it is its own.
func TestStoreKeyTableOnConnection(t *testing.T) {
	each(t, storeDrivers, func(t *testing.T, s *scratch) {
		for _, last := range []bool{false, true} {
			for _, st := range statesFor(s.dialect, last) {
				for _, way := range st.ways(s) {
					t.Run(fmt.Sprintf("%s/%s/last=%v", st.name, way, last), func(t *testing.T) {
						s := emptied(t, s)
						q := st.through(t, s, way)
						if q.EnsureSchema {
							if _, err := storeOf(t, s).Open(context.Background(), *q); err != nil {
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

func takeInTransactions(t *testing.T, s *scratch, q store.Sequence) {
	t.Helper()
	onConn(t, s, func(ctx context.Context, _ *sql.Conn, c driverConn) {
		r := storeOf(t, s).Reserver(q)
		on, within := r.At(store.On(s.dialect, c)), r.At(store.Within(s.dialect, c)).Whole()
		take := func(r *store.Reserver, want int64) {
			t.Helper()
			got, err := r.Reserve(ctx, 10, want)
			if err != nil || got.First != want {
				t.Errorf("%+v, %v; want the first to be %d", got, err, want)
			}
		}
		take(on, 1)
		for _, end := range []string{"ROLLBACK", "COMMIT"} {
			sqlOn(t, c, "BEGIN")
			take(within, 11)
			take(within, 21)
			sqlOn(t, c, "SAVEPOINT a")
			take(within, 31)
			sqlOn(t, c, "ROLLBACK TO SAVEPOINT a")
			take(within, 31)
			sqlOn(t, c, end)
		}
		take(on, 41)
		if err := on.Advance(ctx, 61); err != nil {
			t.Error(err)
		}
		if err := on.Advance(ctx, 55); err != nil {
			t.Error(err)
		}
		take(on, 61)
		sqlOn(t, c, "BEGIN")
		if err := within.Advance(ctx, 101); err != nil {
			t.Error(err)
		}
		take(within, 101)
		sqlOn(t, c, "ROLLBACK")
		take(on, 71)
	})
}

// TestStoreKeyTableLimit: what does not fit the column any more is refused, and
// not stored; the integers up to it are given.
func TestStoreKeyTableLimit(t *testing.T) {
	each(t, storeDrivers[1:], func(t *testing.T, s *scratch) {
		for _, last := range []bool{false, true} {
			for _, way := range slices.Delete(slices.Clone(waysToReserve), 4, 5) {
				for integer, limit := range map[string]int64{"SMALLINT": 1<<15 - 1, "INTEGER": 1<<31 - 1, "DECIMAL(5,0)": 99999} {
					t.Run(fmt.Sprintf("%s/last=%v/%s", way, last, integer), func(t *testing.T) {
						s := emptied(t, s)
						if !s.isPostgres() {
							// What does not fit is then cut without an error.
							s.connector = connectorOf(t, s.driver, s.server.DSN(databaseOf(t, s))+"?sql_mode=''")
						}
						q := singleState(integer, last).through(t, s, way)
						atLimit(t, s, *q, limit)
					})
				}
			}
		}
	})
}

func atLimit(t *testing.T, s *scratch, q store.Sequence, limit int64) {
	t.Helper()
	ctx := context.Background()
	greatest := limit - 1 + int64(offsetOf(q.Table.Last))
	exec(t, s.raw, fmt.Sprintf("UPDATE orders_seq SET v = %d", limit-10))
	first := greatest - 9
	r := storeOf(t, s).Reserver(q)
	if got, err := r.Reserve(ctx, 4, 0); err != nil || got.First != first {
		t.Errorf("%+v, %v; want %d", got, err, first)
	}
	if _, err := r.Whole().Reserve(ctx, 7, 0); !errorsAre(err, errExhausted) {
		t.Errorf("7 of 6: %v", err)
	}
	if got, err := r.Reserve(ctx, 7, 0); err != nil || got.First != first+4 {
		t.Errorf("%+v, %v; want %d", got, err, first+4)
	}
	if got, err := r.Reserve(ctx, 1, 0); !errorsAre(err, errExhausted) {
		t.Errorf("%+v, %v; want %v", got, err, errExhausted)
	}
	if err := r.Advance(ctx, greatest+2); !errorsAre(err, errExhausted) {
		t.Errorf("Advance: %v", err)
	}
	if stored := countInt(t, s.raw, "SELECT v FROM orders_seq"); stored != limit {
		t.Errorf("%d is stored, want %d", stored, limit)
	}
}
