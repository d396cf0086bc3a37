package apps_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
)

const (
	// outside is the kind of processes that bring ids of a part of their own.
	outside = "outside"

	outsideFirst, outsideLast = 250, 900_000_000 // the part
	outsideEach               = 1_000_000        // ids of one process
)

// rollSkip: a generator outside of keyfill has a part of the integers, which skip_range
// leaves out. A process of either kind is killed now and then. The sequence comes to the
// part and goes on after it.
func rollSkip(t *testing.T, d *deployment, _ harness.Engine) {
	harness.Exec(t, d.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, who VARCHAR(100) NOT NULL)")
	all := d.startAll(d.rolling.crowd, outside, "")
	all = append(all, d.startAll(d.rolling.crowd, "skips", fmt.Sprintf(
		"t: {column: id, source: {kind: sequence, ensure_schema: true, block: 100, skip_range: [%d, %d]}}", outsideFirst, outsideLast))...)
	d.during(d.rolling.spell, all)
	d.end(outside, "skips")
	d.wantApart(outsideLast+1, outside)
	within := fmt.Sprintf("SELECT who FROM t WHERE id BETWEEN %d AND %d", outsideFirst, outsideLast)
	if err := eachRow(d.raw, within, func(who string) error {
		m, err := markOf(who)
		if err == nil && d.all[m.process-1].Kind != outside {
			err = fmt.Errorf("a row of the sequence, %q, has an id of the other's part", who)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if n := harness.Count(t, d.raw, fmt.Sprintf("SELECT COUNT(*) FROM t WHERE id > %d", outsideLast)); n == 0 {
		t.Error("the sequence has not come to the other's part")
	}
}

// rollKeyTable: the numbers of a table go from a table of the application's to a sequence.
// Beside the first no other source begins, also when its processes were killed. When all of
// them have ended, and the row that the error names is deleted, the sequence begins.
func rollKeyTable(t *testing.T, d *deployment, _ harness.Engine) {
	harness.Must(t, d.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, who VARCHAR(100) NOT NULL)",
		"CREATE TABLE numbers (value BIGINT NOT NULL)", "INSERT INTO numbers VALUES (1)")
	all := d.startAll(d.rolling.crowd, "listed", "t: {column: id, source: {kind: sequence, block: 20, table: {name: numbers, value: value, stored: next}}}")
	const plain = "t: {column: id, source: {kind: sequence, ensure_schema: true, start: %d}}"
	refused := func() {
		t.Helper()
		if err := d.insertOne("t: {column: id, source: {kind: sequence, ensure_schema: true, start_at: 1000000000}}"); !errors.Is(err, store.ErrStartAt) {
			t.Errorf("a sequence with start_at beside the key table: %v, want %v", err, store.ErrStartAt)
		}
		if err := d.insertOne(fmt.Sprintf(plain, 1_000_000_000)); !errors.Is(err, store.ErrTaken) {
			t.Errorf("another sequence beside the key table: %v, want %v", err, store.ErrTaken)
		}
	}
	refused()
	d.during(d.rolling.spell/2, all)
	for i, p := range all {
		if i%2 == 0 {
			p.kill()
		} else {
			p.stop()
		}
	}
	refused()
	harness.Exec(t, d.raw, "DELETE FROM keyfill_sequences WHERE name LIKE 'table numbers for %'")
	// Above all that the processes had in hand: what was killed may still be on its way.
	next := harness.Count(t, d.raw, "SELECT value FROM numbers")
	all = d.startAll(d.rolling.crowd, "sequence", fmt.Sprintf(plain, next))
	d.during(d.rolling.spell/2, all)
	d.end("listed", "sequence")
	d.wantApart(int64(next), "listed")
}

// outsideIDs returns texts that begin with ids of the process's part, as the rows of an
// INSERT have them.
func (w *writer) outsideIDs(hand, n int, texts []any) (rows []string, ids []int64) {
	first := w.First + int64(hand)*outsideEach/writerHands + 3*int64(n)
	for i := range texts {
		place := "?"
		if w.Returning {
			place = fmt.Sprintf("$%d", i+1)
		}
		rows = append(rows, fmt.Sprintf("(%d, %s)", first+int64(i), place))
		ids = append(ids, first+int64(i))
	}
	return rows, ids
}

// bring inserts texts with ids of the process's own.
func (w *writer) bring(db execer, hand, n int, texts []any) ([]int64, error) {
	rows, ids := w.outsideIDs(hand, n, texts)
	_, err := db.Exec("INSERT INTO t (id, who) VALUES "+strings.Join(rows, ", "), texts...)
	return ids, err
}
