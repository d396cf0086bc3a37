package faults_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
)

// pgpoolModes are the modes of drivers behind pgpool.
var pgpoolModes = []harness.Engine{harness.PgxDefault, harness.PgxMode("exec"), harness.PgxSimple, harness.PQDefault, harness.PQBinary}

// TestPgPool: each source stores each key once through a proxy that sends reads to a standby,
// while the standby receives no changes from the primary.
func TestPgPool(t *testing.T) {
	t.Parallel()
	w := newReplicaWorld(t, replicaModes[1], replicaKinds)
	pool := testdb.Start(t, testdb.PgPool(w.primary, w.standby))
	admin, standby := w.raw(t, w.primary), harness.Open(t, "pgx", w.standby.DSN(""))
	mode := testturn.One(t, pgpoolModes)
	w.engine, w.database = mode, "behind"
	harness.Exec(t, admin, "CREATE DATABASE behind TEMPLATE template0")
	w.dsn = harness.WithParams(pool.DSN(w.database), mode.Params)
	raw := w.raw(t, w.primary)
	harness.Exec(t, raw, "CREATE TABLE seen (n INT)")
	w.standby.CatchUp(t)
	readsAtStandby(t, w)
	harness.Exec(t, standby, "SELECT pg_wal_replay_pause()")
	w.create(t, w.raw(t, w.primary)) // the standby has neither the tables nor their rows
	harness.Exec(t, raw, "INSERT INTO seen VALUES (1)")
	const rows = 9
	for _, k := range w.kinds {
		for n := range rows {
			id := any(n + 1)
			switch k.column {
			case "CHAR(36)":
				id = fmt.Sprintf("0000000%d-0000-7000-8000-000000000000", n)
			case "VARCHAR(40)":
				id = fmt.Sprintf("INV-%d-%06d", time.Now().UTC().Year(), n+1)
			}
			harness.Exec(t, raw, w.engine.Placeholders("INSERT INTO "+k.name+" (n, parent, id) VALUES (?, ?, ?)"), -n, n%3, id)
		}
	}
	db := harness.Open(t, mode.Driver, w.dsn)
	if n := harness.Count(t, db, "SELECT COUNT(*) FROM seen"); n != 0 {
		t.Fatal("reads go to the primary")
	}
	var wg sync.WaitGroup
	writers := append(w.process(t, &wg), w.process(t, &wg)...)
	stop := sync.OnceFunc(func() {
		for _, r := range writers {
			close(r.stop)
		}
		wg.Wait()
	})
	defer stop()
	awaitReplica(t, func() (waiting error) {
		for _, r := range writers {
			n, told := r.state()
			if n < rows {
				waiting = fmt.Errorf("%s has stored %d rows: %w", r.kind.name, n, told)
			}
			if told != nil {
				r.kind.remedy(t, raw, told)
			}
		}
		return waiting
	})
	stop()
	for _, r := range writers {
		for class := range r.errors {
			if class != replicaTold && class != replicaConflict {
				t.Errorf("%s: %s", r.kind.name, class)
			}
		}
		if n := harness.Count(t, raw, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 AS one FROM %s GROUP BY %s HAVING COUNT(*) > 1) k", r.kind.name, r.kind.keyColumns())); n != 0 {
			t.Errorf("%s: %d keys are stored twice", r.kind.name, n)
		}
	}
}

// readsAtStandby reads at a standby through keyfill in a transaction. An INSERT fails at once,
// by an error that says that the server takes no changes.
func readsAtStandby(t *testing.T, w *replicaWorld) {
	t.Helper()
	dsn := harness.WithParams(w.standby.DSN(w.database), w.engine.Params)
	db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, w.engine.Driver, dsn), keyfill.Options{Policy: w.policy(), Logger: slog.New(slog.DiscardHandler)})
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT COUNT(*) FROM seen").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec("INSERT INTO sequence (n, parent) VALUES (1, 1)"); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("%v, want an error that says that the store is read-only", err)
	}
}
