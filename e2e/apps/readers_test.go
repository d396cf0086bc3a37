package apps_test

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// keyReader reads rows as the reader of an outbox does: those above the last key that it has
// seen.
type keyReader struct {
	t    *testing.T
	raw  *sql.DB
	last int64
	seen int
}

// read reads what is there above the last key.
func (r *keyReader) read() {
	r.t.Helper()
	for _, id := range harness.IntegersOf(r.t, r.raw, fmt.Sprintf("SELECT id FROM t WHERE id > %d ORDER BY id", r.last)) {
		r.last = id
		r.seen++
	}
}

// TestReadersByKey: a reader of id > last passes over rows of a sequence that two processes
// fill, and over none where docs/sources.md says so. The source of its row for such a table
// keeps that while transactions of both are open at once.
func TestReadersByKey(t *testing.T) {
	t.Parallel()
	const rows = 60
	source := ""
	for _, row := range chosenRows(t, "docs/sources.md", 11) {
		if strings.Contains(row.wanted, "id > last") {
			source = row.source
		}
	}
	if source == "" {
		t.Fatal("docs/sources.md has no row for a table that is read by id > last")
	}
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		for name, c := range map[string]struct {
			source string
			loses  bool
		}{
			"blocks": {"sequence", true},
			"ones":   {"{kind: sequence, block: 1}", false},
			"page":   {source, false},
		} {
			harness.Must(t, s.Raw, "DROP TABLE IF EXISTS keyfill_sequences", "DROP TABLE IF EXISTS t", "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
			cfg := parsed(t, "  t: {column: id, source: "+c.source+"}\nensure_schema: true\n")
			first, _ := s.Open(t, cfg)
			second, _ := s.Open(t, cfg)
			r := &keyReader{t: t, raw: s.Raw}
			for range rows / 2 {
				for _, db := range []*sql.DB{first, second} {
					harness.Exec(t, db, harness.InsertT)
					r.read()
				}
			}
			if lost := rows - r.seen; lost > 0 != c.loses {
				t.Errorf("%s: a reader by the key missed %d of %d rows", name, lost, rows)
			}
			if name == "page" {
				atOnce(t, r, rows, first, second)
			}
			for _, db := range []*sql.DB{first, second} {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// atOnce inserts rows in transactions of all processes at once, while the reader reads.
func atOnce(t *testing.T, r *keyReader, rows int, processes ...*sql.DB) {
	t.Helper()
	before := r.seen
	var all sync.WaitGroup
	failed := make(chan error, rows)
	for i := range rows {
		db := processes[i%len(processes)]
		all.Go(func() {
			failed <- harness.InTx(db, func(tx *sql.Tx) error { _, err := tx.Exec(harness.InsertT); return err })
		})
	}
	for range rows {
		if err := <-failed; err != nil {
			t.Error(err)
		}
		r.read()
	}
	all.Wait()
	r.read()
	if n := r.seen - before; n != rows {
		t.Errorf("with transactions at once a reader by the key saw %d of %d rows", n, rows)
	}
}
