package faults_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// allKinds are the sources of every kind that makes keys.
func allKinds(e harness.Engine) []faultKind {
	all := faultKinds(e)
	for _, kind := range []string{policy.KindUUIDv7, policy.KindUUIDv4, policy.KindULID, policy.KindCOMB} {
		all = append(all, faultKind{name: kind, source: policy.Source{Kind: kind}, form: form{Listed: true, Column: "VARCHAR(36)"}, workers: true})
	}
	return append(all, faultKind{name: "sequence in blocks", source: smallBlocks})
}

// TestFaultRollback: transactions and savepoints around INSERTs of every kind
// are rolled back, by database/sql and by text. What was kept has its keys, and
// no two rows the same.
//
//deviation:integer-keys | The key of a row inserted in a transaction is reserved outside of it: a rollback leaves a gap. | all but SQLite | `BEGIN; INSERT …; ROLLBACK` | –
func TestFaultRollback(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for i, k := range allKinds(s.Engine) {
			table := fmt.Sprintf("t%d", i)
			for _, query := range slices.Concat(k.before, k.form.table(table)) {
				harness.Exec(t, s.Raw, query)
			}
			if k.state == "keyfill_workers" && k.numbered() {
				k.source.Worker = workerFor(t, k)
			}
			db, _ := s.Open(t, k.config(s.Engine, table))
			t.Run(k.name, func(t *testing.T) {
				r := &rollback{s: s, db: db, table: table, form: k.form, kept: map[int]string{}}
				for range 3 {
					r.transactions(t)
					r.texts(t)
				}
				r.check(t, k.drawnOnce(s.Engine))
			})
		}
	})
}

// rollback inserts in transactions and notes which rows stay.
type rollback struct {
	s     *harness.Scratch
	db    *sql.DB
	table string
	form  form
	n     int
	kept  map[int]string // keys by statements
	drawn []string
}

// insert inserts 1 row, or 3, which are noted as kept unless they will be gone.
func (r *rollback) insert(t *testing.T, x harness.Execer, kept bool) {
	t.Helper()
	ctx, rec := keyfill.Record(context.Background())
	rows := 1 + 2*(r.n%2)
	r.n++
	query := strings.Replace(r.form.insertRows(r.s.Engine, rows), "INTO t ", "INTO "+r.table+" ", 1)
	if _, err := x.ExecContext(ctx, query, r.form.rowArgs(int64(r.n), rows)...); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i, k := range rec.Keys(r.table) {
		keys = append(keys, r.form.text(k.Key, r.form.parentOf(int64(r.n), i)))
	}
	if kept {
		r.kept[r.n] = strings.Join(keys, " ")
	}
	r.drawn = append(r.drawn, keys...)
}

// transactions uses transactions of database/sql.
func (r *rollback) transactions(t *testing.T) {
	t.Helper()
	for _, commits := range []bool{false, true} {
		r.insert(t, r.db, true)
		tx, err := r.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		r.insert(t, tx, commits)
		harness.Must(t, tx, "SAVEPOINT a")
		r.insert(t, tx, false)
		harness.Must(t, tx, "ROLLBACK TO SAVEPOINT a")
		r.insert(t, tx, commits)
		harness.Must(t, tx, "SAVEPOINT b")
		r.insert(t, tx, commits)
		harness.Must(t, tx, "RELEASE SAVEPOINT b")
		r.insert(t, tx, commits)
		end := tx.Rollback
		if commits {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
}

// texts begins and ends transactions by statements.
func (r *rollback) texts(t *testing.T) {
	t.Helper()
	c, err := r.db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		r.insert(t, c, true)
		harness.Must(t, c, "BEGIN")
		r.insert(t, c, end == "COMMIT")
		harness.Must(t, c, "SAVEPOINT a")
		r.insert(t, c, false)
		harness.Must(t, c, "ROLLBACK TO SAVEPOINT a")
		r.insert(t, c, end == "COMMIT")
		harness.Must(t, c, end)
	}
}

// check compares what is stored with what was kept. once says that keys that
// were rolled back do not come again.
func (r *rollback) check(t *testing.T, once bool) {
	t.Helper()
	w := &swarm{t: t, e: r.s.Engine, raw: r.s.Raw, table: r.table, job: job{Form: r.form}}
	say := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format, args...)
	}
	w.distinct(say)
	stored := w.listed(say)
	for n, want := range r.kept {
		if got := stored[int64(n)].text; got != want || want == "" {
			t.Errorf("statement %d has the keys %q, want %q", n, got, want)
		}
	}
	if len(stored) != len(r.kept) || len(stored) == 0 {
		t.Errorf("%d statements, want %d", len(stored), len(r.kept))
	}
	if r.form.Gapless {
		w.gapless(say)
	}
	if once {
		slices.Sort(r.drawn)
		if all := len(r.drawn); len(slices.Compact(r.drawn)) != all {
			t.Error("a key that was rolled back has come again")
		}
	}
}
