package keyfillpgx_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillpgx"
	"github.com/keyfill/keyfill/policy"
)

// pooledWay is a way to store a row.
type pooledWay struct {
	name   string
	tables []string // whose keys this way takes
	run    func(ctx context.Context, db handle, table string, a int) error
}

var pooledWays = []pooledWay{
	{"Exec", []string{"u", "n", "j"}, func(ctx context.Context, db handle, table string, a int) error {
		_, err := db.Exec(ctx, "INSERT INTO "+table+" (a) VALUES ($1)", a)
		return err
	}},
	{"QueryRow", []string{"u", "n", "j"}, func(ctx context.Context, db handle, table string, a int) error {
		var id any
		return db.QueryRow(ctx, "INSERT INTO "+table+" (a) VALUES ($1) RETURNING id", a).Scan(&id)
	}},
	{"batch", []string{"u", "n"}, func(ctx context.Context, db handle, table string, a int) error {
		b := &pgx.Batch{}
		b.Queue("SELECT 1")
		b.Queue("INSERT INTO "+table+" (a) VALUES ($1)", a)
		return db.SendBatch(ctx, b).Close()
	}},
	{"CopyFrom", []string{"u", "n"}, func(ctx context.Context, db handle, table string, a int) error {
		_, err := db.CopyFrom(ctx, pgx.Identifier{table}, []string{"a"}, pgx.CopyFromRows([][]any{{a}}))
		return err
	}},
	{"transaction", []string{"u", "n", "j"}, func(ctx context.Context, db handle, table string, a int) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO "+table+" (a) VALUES ($1)", a)
			return err
		})
	}},
}

// TestPgBouncer: behind pgbouncer in transaction mode, each row is stored where its
// statement says, with the key that Record returns, by the modes of pgx that keep no
// statement on the server. The connections that reserve numbers go through the pooler
// too, which has two more than the clients: see docs/pool.md.
func TestPgBouncer(t *testing.T) {
	const clients, rounds = 6, 4
	for _, mode := range []string{"cache_describe", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			p := open(t, keyed(sequence()), "CREATE TABLE u (id UUID PRIMARY KEY, a INT UNIQUE); CREATE TABLE n (id BIGINT PRIMARY KEY, a INT UNIQUE); CREATE TABLE j (id BIGINT PRIMARY KEY, a INT UNIQUE)")
			pooler := testdb.Start(t, testdb.PgBouncer(server, "transaction", clients+2))
			config, err := pgxpool.ParseConfig(pooler.DSN(databaseOf(t, p)) + "&default_query_exec_mode=" + mode)
			if err != nil {
				t.Fatal(err)
			}
			config.MaxConns = clients
			below, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			numbers, gapless := sequence(), joined()
			db, err := keyfillpgx.WrapPool(below, keyfill.Options{Policy: &policy.Config{Version: 1, StoreWait: time.Minute, Tables: map[string]policy.Table{
				"u": {Column: "id"}, "n": {Column: "id", InPlace: &numbers}, "j": {Column: "id", InPlace: &gapless},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			told := storePooled(t, db, clients, rounds)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			got := column(t, p.plain, "SELECT 'u ' || a || ' ' || id FROM u UNION ALL SELECT 'n ' || a || ' ' || id FROM n UNION ALL SELECT 'j ' || a || ' ' || id FROM j")
			slices.Sort(got)
			slices.Sort(told)
			if !slices.Equal(got, told) {
				t.Errorf("stored are\n%s\nand recorded\n%s", strings.Join(got, "\n"), strings.Join(told, "\n"))
			}
			last := column(t, p.plain, "SELECT (count(*) = max(id))::text FROM j")
			if len(told) != clients*rounds*13 || last[0] != "true" {
				t.Errorf("%d rows are told, want %d; the numbers without gaps have none: %s", len(told), clients*rounds*13, last[0])
			}
		})
	}
}

// storePooled has clients store rows in every way at once, and returns what Record has
// reported.
func storePooled(t *testing.T, db *keyfillpgx.Pool, clients, rounds int) (told []string) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			a := client * 1000
			for range rounds {
				for _, way := range pooledWays {
					for _, table := range way.tables {
						a++
						ctx, rec := keyfill.Record(t.Context())
						if err := way.run(ctx, db, table, a); err != nil {
							t.Errorf("%s into %s: %v", way.name, table, err)
							continue
						}
						mu.Lock()
						for _, key := range rec.Keys(table) {
							if key.Outcome != keyfill.Stored {
								t.Errorf("%s into %s: %v", way.name, table, key.Outcome)
							}
							told = append(told, fmt.Sprint(table, " ", a, " ", key.Key))
						}
						mu.Unlock()
					}
				}
			}
		})
	}
	wg.Wait()
	return told
}

// databaseOf returns the name of a database.
func databaseOf(t *testing.T, p *place) string {
	t.Helper()
	config, err := pgx.ParseConfig(p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	return config.Database
}
