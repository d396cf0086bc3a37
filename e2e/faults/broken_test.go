package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

func init() {
	// The driver's remarks on connections that this test ends.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		panic(err)
	}
}

// TestBrokenConnection ends the server's side of an idle connection. What comes
// next is as through the raw driver: some find out in time and database/sql
// tries again on another connection, others give an error. The row is stored
// once or not at all, and with the key that is recorded.
func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}) {
		for _, path := range []string{"exec", "query", "prepared"} {
			t.Run(e.Name+"/"+path, func(t *testing.T) {
				t.Parallel()
				s := e.Scratch(t)
				harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name TEXT)")
				db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
				db.SetMaxOpenConns(1)
				insert := s.Placeholders("INSERT INTO people (name) VALUES (?)")
				stmt, err := db.Prepare(insert)
				if err != nil {
					t.Fatal(err)
				}
				defer stmt.Close()
				run := func(ctx context.Context) error {
					switch path {
					case "query":
						return harness.DrainContext(ctx, db, insert+" RETURNING id", "a")
					case "prepared":
						_, err := stmt.ExecContext(ctx, "a")
						return err
					}
					_, err := db.ExecContext(ctx, insert, "a")
					return err
				}
				if err := run(context.Background()); err != nil {
					t.Fatal(err)
				}
				session, kill, alive := "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%d)", "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = %d"
				if !s.IsPostgres() {
					session, kill, alive = "SELECT CONNECTION_ID()", "KILL %d", "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %d"
				}
				id := harness.Count(t, db, session)
				harness.Exec(t, s.Raw, fmt.Sprintf(kill, id))
				for harness.Count(t, s.Raw, fmt.Sprintf(alive, id)) > 0 {
					time.Sleep(time.Millisecond)
				}

				harness.Exec(t, s.Raw, "DELETE FROM people")
				ctx, rec := keyfill.Record(context.Background())
				err = run(ctx)
				rows := 0
				if err == nil {
					rows = 1
					key, ok := keyfill.Last[uuid.UUID](rec, "people")
					if stored := harness.Text(t, s.Raw, "SELECT id FROM people"); !ok || stored != key.String() {
						t.Errorf("key %s is stored, %v is recorded", stored, rec.All())
					}
				}
				t.Logf("error %v, recorded %v", err, rec.All())
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != rows {
					t.Errorf("%d rows are stored, want %d; error %v", n, rows, err)
				}
				if err := run(context.Background()); err != nil {
					t.Errorf("the next one: %v", err)
				}
			})
		}
	}
}
