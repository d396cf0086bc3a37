package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// The article "Sequential Key Allocation": nextKeyFor: in three forms. The
// tables hold the last key in use.
//
// Deliberate differences:
//   - UPDATE before SELECT, and in the first form one UPDATE, not two;
//   - the row counts, which the text asks for, are looked at;
//   - the last form returns what follows the key it has read (lastUsedId is never set in
//     the article), and reads again in each of its ten attempts;
//   - no engine here moves a timestamp or has FOR BROWSE: an UPDATE sets it, and compares
//     it with what was read.

// nextKeyByUpdate is the first form, for a row of KEYS.
func nextKeyByUpdate(s *harness.Scratch, keys *sequence.KeyTable) harness.Allocator {
	update := placed(s, "UPDATE "+keys.Name+" SET "+keys.Value+" = "+keys.Value+" + %s WHERE "+keys.Key+" = 'orders'", 1)
	read := "SELECT " + keys.Value + " FROM " + keys.Name + " WHERE " + keys.Key + " = 'orders'"
	return func(ctx context.Context, c *sql.Conn, n int64) (first int64, err error) {
		err = harness.ArticleTransaction(ctx, c, "BEGIN", func() error {
			if err := affects(ctx, c, update, n); err != nil {
				return err
			}
			return c.QueryRowContext(ctx, read).Scan(&first)
		})
		return first - n + 1, err
	}
}

// nextKeyByProcedure is the second form.
func nextKeyByProcedure(s *harness.Scratch) harness.Allocator {
	query := "CALL next_key('orders', ?)"
	if s.IsPostgres() {
		query = "SELECT next_key('orders', $1)"
	}
	return func(ctx context.Context, c *sql.Conn, n int64) (first int64, err error) {
		if s.IsPostgres() {
			err = c.QueryRowContext(ctx, query, n).Scan(&first)
			return first, err
		}
		// The procedure has an UPDATE and a SELECT, which need a transaction.
		err = harness.ArticleTransaction(ctx, c, "BEGIN", func() error { return c.QueryRowContext(ctx, query, n).Scan(&first) })
		return first, err
	}
}

// nextKeyInBrowseMode is the third form, for a table of one row with a column
// that every UPDATE changes; moved is what it is set to.
func nextKeyInBrowseMode(s *harness.Scratch, moved string) harness.Allocator {
	stamp := map[string]string{"mariadb": "CAST(ver AS CHAR)", "postgres": "CAST(ver AS text)", "sqlite": "CAST(ver AS text)"}[s.Dialect.Name]
	read := "SELECT v, " + stamp + " FROM orders_seq"
	update := placed(s, "UPDATE orders_seq SET v = v + %s, ver = "+moved+" WHERE "+stamp+" = %s", 1, 2)
	return func(ctx context.Context, c *sql.Conn, n int64) (int64, error) {
		for range 100 { // the article's 10 are for fewer clients
			var (
				lastUsedID int64
				timestamp  string
			)
			if err := c.QueryRowContext(ctx, read).Scan(&lastUsedID, &timestamp); err != nil {
				return 0, err
			}
			res, err := c.ExecContext(ctx, update, n, timestamp)
			if err != nil {
				return 0, err
			}
			if changed, err := res.RowsAffected(); err != nil || changed > 1 {
				return 0, fmt.Errorf("%d rows, %v", changed, err)
			} else if changed == 1 {
				return lastUsedID + 1, nil
			}
		}
		return 0, errors.New("unable to get the next key")
	}
}

// TestArticleNextKey: the first two forms and keyfill take keys from one row of
// KEYS at the same time.
func TestArticleNextKey(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		st := harness.KeyedState(s.Dialect, "INTEGER", true)
		q := st.Through(t, s, "pessimistic")
		optimistic := *q
		optimistic.Lock = sequence.LockOptimistic
		programs := map[string]harness.Allocator{"update": nextKeyByUpdate(s, q.Table)}
		sequences := map[string]sequence.Sequence{"pessimistic": *q, "optimistic": optimistic}
		if s.Server != nil {
			harness.Exec(t, s.Raw, st.Own[s.Dialect.Name])
			programs["procedure"] = nextKeyByProcedure(s)
			called := *q
			called.Procedure = "next_key"
			sequences["by procedure"] = called
		}
		total := harness.Together(t, s, programs, sequences)
		if last := harness.CountInt(t, s.Raw, st.Value); last != total {
			t.Errorf("the last key is %d after %d", last, total)
		}
	})
}

// TestArticleBrowseMode: the third form, which compares nothing but the
// timestamp, and keyfill in all ways that move it, use one row at the same time.
func TestArticleBrowseMode(t *testing.T) {
	t.Parallel()
	type version struct{ name, column, first, moved string }
	integer := version{"integer", "SMALLINT", "32700", "CASE WHEN ver >= 32767 THEN 0 ELSE ver + 1 END"}
	versions := map[string][]version{
		"sqlite": {{"integer", "INTEGER", "0", "ver + 1"}},
		"mariadb": {integer,
			{"datetime", "DATETIME", "NOW()", "GREATEST(NOW(), ver + INTERVAL 1 SECOND)"},
			{"timestamp(6)", "TIMESTAMP(6)", "NOW(6)", "GREATEST(NOW(6), ver + INTERVAL 1 MICROSECOND)"}},
		"postgres": {integer,
			{"timestamp", "TIMESTAMP", "clock_timestamp()", "GREATEST(clock_timestamp()::timestamp, ver + interval '1 microsecond')"},
			{"timestamptz(3)", "TIMESTAMPTZ(3)", "clock_timestamp()", "GREATEST(clock_timestamp(), ver + interval '1 millisecond')"}},
	}
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		for _, v := range versions[s.Dialect.Name] {
			t.Run(v.name, func(t *testing.T) {
				s := harness.Emptied(t, s)
				harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
				harness.Exec(t, s.Raw, "CREATE TABLE orders_seq (v BIGINT NOT NULL, ver "+v.column+" NOT NULL)")
				harness.Exec(t, s.Raw, "INSERT INTO orders_seq VALUES (0, "+v.first+")")
				q := harness.Orders
				q.Table = &sequence.KeyTable{Name: "orders_seq", Value: "v", Version: "ver", Last: true}
				optimistic := q
				optimistic.Lock = sequence.LockOptimistic
				total := harness.Together(t, s, map[string]harness.Allocator{"browse": nextKeyInBrowseMode(s, v.moved)},
					map[string]sequence.Sequence{"pessimistic": q, "optimistic": optimistic})
				if last := harness.CountInt(t, s.Raw, "SELECT v FROM orders_seq"); last != total {
					t.Errorf("the last key is %d after %d", last, total)
				}
			})
		}
	})
}
