package approaches

import (
	"context"
	"database/sql"
	"testing"

	"github.com/keyfill/keyfill/internal/testdb"
)

// TestDeadlock: what a real engine reports is counted. Two transactions change two
// rows, each in the other's order; the engine ends one of them.
func TestDeadlock(t *testing.T) {
	servers := map[string]func() *testdb.Engine{"mariadb": testdb.MariaDB, "postgresql": testdb.PostgreSQL}
	for _, e := range Engines() {
		t.Run(e.Name, func(t *testing.T) {
			server := testdb.Start(t, servers[e.Name]())
			parent, err := e.Connector(server.DSN(server.Database(t, e.Driver)))
			if err != nil {
				t.Fatal(err)
			}
			count := new(counter)
			c, err := count.around(parent)
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(c)
			defer db.Close()
			for _, query := range []string{
				"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NOT NULL)",
				"INSERT INTO t (id, a) VALUES (1, 0), (2, 0)",
			} {
				if _, err := db.Exec(query); err != nil {
					t.Fatal(err)
				}
			}
			update := e.bind("UPDATE t SET a = a + 1 WHERE id = ?")
			var both [2]*sql.Tx
			for i := range both {
				if both[i], err = db.BeginTx(context.Background(), nil); err != nil {
					t.Fatal(err)
				}
				defer both[i].Rollback()
				if _, err := both[i].Exec(update, i+1); err != nil {
					t.Fatal(err)
				}
			}
			errs := make(chan error)
			for i, tx := range both {
				go func() {
					_, err := tx.Exec(update, 2-i)
					if err != nil {
						_ = tx.Rollback() // the other one waits for it
					}
					errs <- err
				}()
			}
			ended := 0
			for range both {
				if err := <-errs; err != nil {
					ended++
					if end, ok := endOf(err); !ok || end != Deadlock {
						t.Errorf("%v is no deadlock", err)
					}
				}
			}
			if got, want := count.tally(), (Tally{Deadlock: int64(ended)}); ended == 0 || got != want {
				t.Errorf("counted %v, want %v and not none", got, want)
			}
		})
	}
}
