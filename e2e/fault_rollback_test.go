package e2e_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// allKinds are the sources of every kind that makes keys.
func allKinds() []policy.Source {
	flake := faultSnowflake
	flake.Worker = new(1)
	return []policy.Source{
		{Kind: policy.KindUUIDv7}, {Kind: policy.KindUUIDv4}, {Kind: policy.KindULID}, {Kind: policy.KindCOMB},
		faultSequence, smallBlocks, flake,
	}
}

// TestFaultRollback: transactions and savepoints around INSERTs of every kind
// are rolled back, by database/sql and by text. What was kept has its keys, and
// no two rows the same.
func TestFaultRollback(t *testing.T) {
	each(t, []engine{sqliteFile, sqliteMemory, mysqlDefault, mysqlInterp, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		for i, source := range allKinds() {
			table := fmt.Sprintf("t%d", i)
			column := "VARCHAR(36)"
			if source.Stateful() {
				column = "BIGINT"
			}
			exec(t, s.raw, fmt.Sprintf("CREATE TABLE %s (id %s, a INT NOT NULL)", table, column))
			exec(t, s.raw, fmt.Sprintf("CREATE INDEX %s_id ON %[1]s (id)", table))
			if source.Kind == policy.KindSnowflake {
				source.Worker = new(workerOf(t))
			}
			db, _ := s.open(t, fillID(table, policy.Table{InPlace: &source}))
			name := source.Kind
			if source.Block > 0 {
				name += " in blocks"
			}
			t.Run(name, func(t *testing.T) {
				r := &rollback{s: s, db: db, table: table}
				for range 3 {
					r.transactions(t)
					r.texts(t)
				}
				r.check(t, source.Stateful() && s.server != nil || source.Kind != policy.KindSequence)
			})
		}
	})
}

// rollback inserts in transactions and notes which rows stay.
type rollback struct {
	s     *scratch
	db    *sql.DB
	table string
	n     int
	kept  map[int]any // keys by rows
	drawn []any
}

// insert inserts 1 row, or 3, which are noted as kept unless they will be gone.
func (r *rollback) insert(t *testing.T, x execer, kept bool) {
	t.Helper()
	ctx, rec := keyfill.Record(context.Background())
	rows := 1 + 2*(r.n%2)
	b := r.s.builder()
	b.WriteString("INSERT INTO " + r.table + " (a) VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(" + b.bind(r.n+i) + ")")
	}
	if _, err := x.ExecContext(ctx, b.String(), b.args...); err != nil {
		t.Fatal(err)
	}
	for i, k := range rec.Keys(r.table) {
		if kept {
			if r.kept == nil {
				r.kept = map[int]any{}
			}
			r.kept[r.n+i] = k.Key
		}
		r.drawn = append(r.drawn, k.Key)
	}
	r.n += rows
}

// transactions uses those of database/sql.
func (r *rollback) transactions(t *testing.T) {
	t.Helper()
	for _, commits := range []bool{false, true} {
		r.insert(t, r.db, true)
		tx, err := r.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		r.insert(t, tx, commits)
		must(t, tx, "SAVEPOINT a")
		r.insert(t, tx, false)
		must(t, tx, "ROLLBACK TO SAVEPOINT a")
		r.insert(t, tx, commits)
		must(t, tx, "SAVEPOINT b")
		r.insert(t, tx, commits)
		must(t, tx, "RELEASE SAVEPOINT b")
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
		must(t, c, "BEGIN")
		r.insert(t, c, end == "COMMIT")
		must(t, c, "SAVEPOINT a")
		r.insert(t, c, false)
		must(t, c, "ROLLBACK TO SAVEPOINT a")
		r.insert(t, c, end == "COMMIT")
		must(t, c, end)
	}
}

// check compares what is stored with what was kept. once says that keys that
// were rolled back do not come again.
func (r *rollback) check(t *testing.T, once bool) {
	t.Helper()
	rows, err := r.s.raw.Query("SELECT a, id FROM " + r.table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]bool{}
	n := 0
	for rows.Next() {
		var a int
		var id sql.NullString
		if err := rows.Scan(&a, &id); err != nil {
			t.Fatal(err)
		}
		if want, kept := r.kept[a]; !kept || fmt.Sprint(want) != id.String {
			t.Errorf("row %d has the key %q, want %v", a, id.String, want)
		}
		found[id.String] = true
		n++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if n != len(r.kept) || len(found) != n || n == 0 {
		t.Errorf("%d rows with %d keys, want %d", n, len(found), len(r.kept))
	}
	if once {
		var drawn []string
		for _, k := range r.drawn {
			drawn = append(drawn, fmt.Sprint(k))
		}
		slices.Sort(drawn)
		if all := len(drawn); len(slices.Compact(drawn)) != all {
			t.Error("a key that was rolled back has come again")
		}
	}
}
