package keyfillpgx_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill/policy"
)

// TestBatchMakesTable: a batch in a transaction that makes a table and brings a key for it is
// stored, also where keys that are brought are followed: the table is not asked for its keys
// before it is there.
func TestBatchMakesTable(t *testing.T) {
	followed := sequence()
	followed.FollowExplicit = true
	for name, source := range map[string]policy.Source{"sequence": sequence(), "follow_explicit": followed, "joined": joined()} {
		t.Run(name, func(t *testing.T) {
			p := open(t, keyed(source), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)",
				func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec })
			exec(t, p.plain, "CREATE SCHEMA c")
			exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
			err := pgx.BeginFunc(t.Context(), p.filled, func(tx pgx.Tx) error {
				b := &pgx.Batch{}
				b.Queue("CREATE TABLE c.t (id BIGINT PRIMARY KEY, a INT)")
				b.Queue("INSERT INTO c.t (id) VALUES (3200)")
				b.Queue("INSERT INTO t (a) VALUES (2)")
				return tx.SendBatch(t.Context(), b).Close()
			})
			if err != nil {
				t.Fatal(err)
			}
			exec(t, p.filled, "INSERT INTO c.t (a) VALUES (3)")
			if got := column(t, p.plain, "SELECT id::text FROM c.t ORDER BY id"); len(got) != 2 || got[0] != "3200" || got[1] != "3201" {
				t.Errorf("keys %v, want 3200 and 3201", got)
			}
		})
	}
}
