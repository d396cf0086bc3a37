package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

const (
	loadGoroutines = 32
	loadInserts    = 20
)

// TestConcurrentExec inserts from 32 goroutines by all paths: every key is
// stored once, and with the row that it is recorded for.
func TestConcurrentExec(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.LoadEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, who VARCHAR(40) NOT NULL)")
		rand := new(harness.Entropy)
		cfg := harness.FillID("people", policy.Table{Source: "uuidv4"})
		db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Rand: rand})
		if !s.Memory {
			db.SetMaxOpenConns(16)
		}
		query := s.Placeholders("INSERT INTO people (who) VALUES (?)")
		stmt, err := db.Prepare(query)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()

		keys := make(map[string]string) // by goroutine
		var mu sync.Mutex
		n := harness.Drawn(rand, func() {
			var wg sync.WaitGroup
			for g := range loadGoroutines {
				wg.Go(func() {
					for i := range loadInserts {
						who := fmt.Sprintf("%d-%d", g, i)
						ctx, rec := keyfill.Record(context.Background())
						if err := insertBy(ctx, i, db, stmt, query, who); err != nil {
							t.Error(err)
							return
						}
						id, ok := keyfill.Last[uuid.UUID](rec, "people")
						if !ok || len(rec.All()) != 1 {
							t.Errorf("%s: %d keys are recorded", who, len(rec.All()))
						}
						mu.Lock()
						keys[who] = id.String()
						mu.Unlock()
					}
				})
			}
			wg.Wait()
		})
		const total = loadGoroutines * loadInserts
		if stats := m.Stats().Tables["people"]; n != total || stats.Keys != total || stats.Filled != total {
			t.Errorf("%d keys are drawn, %d counted in %d statements; want %d", n, stats.Keys, stats.Filled, total)
		}
		rows, err := s.Raw.Query("SELECT who, id FROM people")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		stored := 0
		for ; rows.Next(); stored++ {
			var who, id string
			if err := rows.Scan(&who, &id); err != nil {
				t.Fatal(err)
			}
			if keys[who] != id {
				t.Errorf("%s has key %s, recorded is %s", who, id, keys[who])
			}
		}
		if stored != total || rows.Err() != nil {
			t.Errorf("%d rows are stored, want %d; error %v", stored, total, rows.Err())
		}
	})
}

// insertBy inserts by one of several paths.
func insertBy(ctx context.Context, path int, db *sql.DB, stmt *sql.Stmt, query, who string) error {
	switch path % 4 {
	case 0:
		_, err := stmt.ExecContext(ctx, who)
		return err
	case 1:
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, query, who); err != nil {
			return err
		}
		return tx.Commit()
	case 2:
		rows, err := db.QueryContext(ctx, query+" RETURNING id", who)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
		}
		return rows.Err()
	}
	_, err := db.ExecContext(ctx, query, who)
	return err
}
