package keys_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// driverConn is a connection as drivers give them.
type driverConn = driver.Conn

// TestStoreKeyTableErrors: what is wrong with a key table is said, with what to
// do about it.
func TestStoreKeyTableErrors(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, "INSERT INTO orders VALUES (41)")
		harness.Exec(t, s.Raw, "CREATE TABLE app_keys (name VARCHAR(40), v BIGINT, ver BIGINT, txt VARCHAR(40), num DOUBLE PRECISION)")
		for _, row := range []string{"('twice', 1, 0, 'a', 1)", "('twice', 1, 0, 'a', 1)", "('null', NULL, 0, 'a', 1)",
			"('low', 0, 0, 'a', 1)", "('unversioned', 1, NULL, 'a', 1)", "('text', 1, 1, '1', 1)"} {
			harness.Exec(t, s.Raw, "INSERT INTO app_keys VALUES "+row)
		}
		st := harness.StoreOf(t, s)
		keyed := func(row, value, version string) *sequence.KeyTable {
			return &sequence.KeyTable{Name: "app_keys", Key: "name", Row: row, Value: value, Version: version}
		}
		wrongType := store.ErrKeyType
		if s.Server == nil {
			wrongType = store.ErrKeyValue // a type says nothing
		}
		for _, c := range []struct {
			name  string
			table *sequence.KeyTable
			want  error
			say   string
		}{
			{"no table", &sequence.KeyTable{Name: "nosuch", Value: "v"}, store.ErrKeyTable, "nosuch"},
			{"no column", keyed("twice", "nosuch", ""), store.ErrKeyTable, ""},
			{"no version", keyed("twice", "v", "nosuch"), store.ErrKeyTable, ""},
			{"no row", keyed("orders", "v", "ver"), store.ErrNoRow, "INSERT INTO app_keys (name, v, ver)"},
			{"two rows", keyed("twice", "v", ""), store.ErrKeyRows, "make name the primary key"},
			{"rows without a key", &sequence.KeyTable{Name: "app_keys", Value: "v"}, store.ErrKeyRows, "name the column"},
			{"NULL", keyed("null", "v", ""), store.ErrKeyValue, "not an integer"},
			{"below 1", keyed("low", "v", ""), store.ErrKeyValue, "below 1"},
			{"version NULL", keyed("unversioned", "v", "ver"), store.ErrKeyValue, "version is NULL"},
			{"text", keyed("text", "txt", ""), wrongType, ""},
			{"double", keyed("text", "num", ""), wrongType, ""},
			{"version text", keyed("text", "v", "txt"), wrongType, ""},
		} {
			for _, lock := range []string{"", sequence.LockOptimistic} {
				q := harness.Orders
				q.Table, q.Lock = c.table, lock
				_, err := reserver.New(st, q).Reserve(ctx, 1, 0)
				if !errors.Is(err, c.want) || !errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), c.say) {
					t.Errorf("%s: %v, want %v and %q", c.name, err, c.want, c.say)
				}
				if strings.Contains(fmt.Sprint(err), "keyfill_sequences") {
					t.Errorf("%s: %v: that is another table", c.name, err)
				}
			}
		}
	})
}

// TestStoreKeyTableEngine: between an UPDATE and a SELECT of a table without
// transactions others come; comparing and replacing is right there too, but
// cannot be undone.
func TestStoreKeyTableEngine(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		st := singleState("BIGINT", true)
		st.Create[0] += " ENGINE = MyISAM"
		q := st.Through(t, s, "pessimistic")
		if got, err := reserver.New(harness.StoreOf(t, s), *q).Reserve(context.Background(), 5, 0); !errors.Is(err, store.ErrKeyEngine) {
			t.Errorf("%+v, %v; want %v", got, err, store.ErrKeyEngine)
		}
		q.Lock = sequence.LockOptimistic
		reserveTogether(t, s, st, *q)
		harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
			if got, err := sequence.Reserve(ctx, store.Within(s.Dialect, c), *q, 5, 0); !errors.Is(err, store.ErrKeyEngine) {
				t.Errorf("in a transaction: %+v, %v; want %v", got, err, store.ErrKeyEngine)
			}
		})
	})
}

// TestStoreKeyTableMissingRow: the INSERT in the error makes the row that is
// missing, so that the next key follows the greatest one.
func TestStoreKeyTableMissingRow(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		for _, last := range []bool{false, true} {
			for _, st := range statesFor(s.Dialect, last)[:2] {
				for _, way := range st.Ways(s) {
					t.Run(fmt.Sprintf("%s/%s/last=%v", st.Name, way, last), func(t *testing.T) {
						s := harness.Emptied(t, s)
						q := st.Through(t, s, way)
						harness.Exec(t, s.Raw, "INSERT INTO orders (id) VALUES (41)")
						harness.Exec(t, s.Raw, "DELETE FROM "+q.Table.Name)
						r := reserver.New(harness.StoreOf(t, s), *q)
						_, err := r.Reserve(context.Background(), 1, 0)
						var e *store.Error
						if !errors.As(err, &e) || e.Err != store.ErrNoRow || !strings.Contains(err.Error(), e.SQL) {
							t.Fatalf("%v, want %v", err, store.ErrNoRow)
						}
						harness.Exec(t, s.Raw, e.SQL)
						if got, err := r.Reserve(context.Background(), 3, 0); err != nil || got.First != 42 {
							t.Errorf("%+v, %v; want 42", got, err)
						}
					})
				}
			}
		}
	})
}

// rivalConn is a connection on which another session is faster: before each UPDATE, rival
// runs.
type rivalConn struct {
	driver.Conn
	rival func()
}

func (c rivalConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.HasPrefix(query, "UPDATE") {
		c.rival()
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c rivalConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// TestStoreContention: if another session is faster ten times in a row, the error says
// so; up to nine times it does not show.
func TestStoreContention(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, st := range statesFor(s.Dialect, false) {
			for _, way := range st.Ways(s) {
				if !strings.HasPrefix(way, "optimistic") {
					continue
				}
				t.Run(st.Name+"/"+way, func(t *testing.T) {
					s := harness.Emptied(t, s)
					q := st.Through(t, s, way)
					if _, err := reserver.Open(context.Background(), harness.StoreOf(t, s), *q); err != nil {
						t.Fatal(err)
					}
					other := reserver.New(harness.StoreOf(t, s), *q)
					harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
						left := 9
						faster := rivalConn{c, func() {
							if left > 0 {
								left--
								if _, err := other.Reserve(ctx, 1, 0); err != nil {
									t.Error(err)
								}
							}
						}}
						r := reserver.New(harness.StoreOf(t, s), *q).At(store.On(s.Dialect, faster))
						if got, err := r.Reserve(ctx, 5, 0); err != nil || got.First != 10 {
							t.Errorf("%+v, %v; want 10", got, err)
						}
						left = 10
						got, err := r.Reserve(ctx, 5, 0)
						if !errors.Is(err, store.ErrContention) || !strings.Contains(err.Error(), "larger blocks, or write lock: pessimistic") {
							t.Errorf("%+v, %v; want %v", got, err, store.ErrContention)
						}
					})
				})
			}
		}
	})
}
