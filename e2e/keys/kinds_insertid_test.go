package keys_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestInsertID: the number of SET INSERT_ID goes to the next row of its session that the
// engine would number, as with the plain driver, and to no other table. Several rows are
// refused.
//
//deviation:integer-keys | After `SET INSERT_ID` the next row of the session into a filled AUTO_INCREMENT column has that key, as with the plain driver: keyfill asks for the number and clears it. An INSERT of several rows is refused. | MySQL, MariaDB | `SET INSERT_ID = 500` | name the key column
//deviation:integer-keys | MySQL cannot clear the number of `SET INSERT_ID`, so keyfill refuses each INSERT until the engine has used that number. | MySQL | `SET INSERT_ID = 500; INSERT INTO t (a) VALUES (1)` | name the key column
//deviation:integer-keys | If `SET INSERT_ID` and the INSERT are one text, the number goes to the next row that the engine numbers. | MySQL, MariaDB | `SET INSERT_ID = 500; INSERT INTO t (a) VALUES (1)` in one text | name the key column
func TestInsertID(t *testing.T) {
	t.Parallel()
	for _, transaction := range []string{policy.TransactionAutonomous, policy.TransactionJoined} {
		t.Run(transaction, func(t *testing.T) {
			harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
				for _, create := range []string{"t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT)", "v (id BIGINT NOT NULL PRIMARY KEY, a INT)", "u (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT)"} {
					harness.Exec(t, s.Raw, "CREATE TABLE "+create)
				}
				table := func() policy.Table {
					source := harness.Mapped(policy.KindSequence, func(s *policy.Source) {
						s.Exclusive, s.Transaction, s.FollowExplicit = true, transaction, true
					})
					return policy.Table{Column: "id", InPlace: &source}
				}
				db, _ := s.Open(t, &policy.Config{Dialect: s.Dialect.Name, Tables: map[string]policy.Table{"t": table(), "v": table()}})
				c := harness.ConnOf(t, db)
				insert := func(table string, want int64) {
					t.Helper()
					ctx, rec := keyfill.Record(t.Context())
					res, err := c.ExecContext(ctx, "INSERT INTO "+table+" (a) VALUES (?)", 1)
					if err != nil {
						t.Fatal(err)
					}
					if texts := recordedTexts(t, rec); table == "t" && fmt.Sprint(texts) != fmt.Sprintf("[%d]", want) {
						t.Errorf("recorded %v, want %d", texts, want)
					}
					var key, last int64
					if err := c.QueryRowContext(t.Context(), "SELECT MAX(id), LAST_INSERT_ID() FROM "+table).Scan(&key, &last); err != nil || key != want {
						t.Errorf("%s has the key %d, %v, want %d", table, key, err, want)
					}
					if got, err := res.LastInsertId(); err != nil || got != want || table != "v" && last != want {
						t.Errorf("%s: LastInsertId is %d, %v, LAST_INSERT_ID() is %d, want %d", table, got, err, last, want)
					}
				}
				pending := func(text string, args ...any) {
					t.Helper()
					if _, err := c.ExecContext(t.Context(), text, args...); err != nil {
						t.Fatal(err)
					}
				}
				insert("t", 1)
				pending("SET INSERT_ID = 500")
				insert("t", 500)
				insert("u", 1)
				insert("t", 501)

				pending("SET @@session.insert_id = ?", 600)
				insert("v", 1) // which the engine would not number
				insert("t", 600)
				insert("u", 2)

				pending("SET @a = 1, insert_id = 700")
				_, err := c.ExecContext(t.Context(), "INSERT INTO t (a) VALUES (1), (2)")
				if err == nil || !strings.Contains(err.Error(), "INSERT_ID") {
					t.Errorf("two rows: %v", err)
				}
				stmt, err := c.PrepareContext(t.Context(), "INSERT INTO t (a) VALUES (?)")
				if err != nil {
					t.Fatal(err)
				}
				defer stmt.Close()
				for want := range int64(3) {
					if _, err := stmt.ExecContext(context.Background(), 1); err != nil {
						t.Fatal(err)
					}
					if got := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t"); got != 700+want {
						t.Errorf("the key is %d, want %d", got, 700+want)
					}
				}
				pending("SET INSERT_ID = 800")
				insert("u", 800)
				insert("t", 703)
			})
		})
	}
}
