package faults_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// figures are what a swarm has done.
type figures struct {
	rows, statements      int
	committed, rolledBack int // statements that journals report
	untold                int // that committed all the same
	errors                int
}

// check asserts the laws.
func (w *swarm) check() figures {
	w.t.Helper()
	f, wrong := w.judge()
	for _, one := range wrong[:min(len(wrong), 20)] {
		w.t.Error(one)
	}
	w.t.Logf("%d processes, %d killed: %d rows of %d statements, of which %d were not told of; %d rolled back, %d errors",
		w.count, w.kills, f.rows, f.statements, f.untold, f.rolledBack, f.errors)
	return f
}

// judge returns the broken laws: no key twice, each committed row has one, a statement's
// keys are as their form says, and rows that were reported as committed are there with
// the keys that were reported.
func (w *swarm) judge() (f figures, wrong []string) {
	w.t.Helper()
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	f.rows = w.distinct(say)
	if w.job.Form.Gapless {
		w.gapless(say)
	}
	stored := w.statements(say)
	f.statements = len(stored)
	var given []entry
	for _, s := range stored {
		given = append(given, s)
	}
	var unexplained []entry
	for _, e := range w.entries() {
		s, there := stored[e.stmt]
		switch e.what {
		case committed:
			f.committed++
			if !there || s.first != e.first || s.rows != e.rows || s.text != e.text {
				say("statement %#x has committed %d rows from %d%.100s; stored are %d from %d%.100s", e.stmt, e.rows, e.first, e.text, s.rows, s.first, s.text)
			}
		case rolledBack:
			f.rolledBack++
			if there {
				say("statement %#x was rolled back, and is there", e.stmt)
			}
			given = append(given, e)
		case broken:
			say("statement %#x: %s", e.stmt, e.text)
		case failed:
			f.errors++
			if w.tolerable == nil || !w.tolerable(e.text) {
				unexplained = append(unexplained, e)
			}
		}
	}
	f.untold = f.statements - f.committed
	if lines := tally(unexplained); len(lines) > 0 {
		say("unexpected errors:%s", indent(lines))
	}
	switch {
	case w.drawnOnce && w.job.Form.Listed:
		repeats(given, say)
	case w.drawnOnce:
		overlaps(given, say)
	}
	if f.committed == 0 {
		say("nothing was committed")
	}
	return f, wrong
}

// overlaps reports a key that was drawn twice, even if it was not stored twice.
func overlaps(given []entry, say func(string, ...any)) {
	slices.SortFunc(given, func(a, b entry) int { return cmp.Compare(a.first, b.first) })
	for i, one := range given[min(1, len(given)):] {
		if before := given[i]; one.first < before.first+before.rows {
			say("%d keys from %d and %d from %d were drawn", before.rows, before.first, one.rows, one.first)
		}
	}
}

// repeats is the same for keys that do not follow each other.
func repeats(given []entry, say func(string, ...any)) {
	drawn := map[string]int64{}
	for _, one := range given {
		for _, key := range strings.Fields(one.text) {
			if other, ok := drawn[key]; ok {
				say("%s for statement %#x and %#x were drawn", key, other, one.stmt)
			}
			drawn[key] = one.stmt
		}
	}
}

// distinct counts the rows, each of which must have a key of its own.
func (w *swarm) distinct(say func(string, ...any)) int {
	w.t.Helper()
	form := w.job.Form
	rows := harness.Count(w.t, w.raw, "SELECT COUNT(*) FROM "+w.table)
	if n := harness.Count(w.t, w.raw, "SELECT COUNT(*) FROM (SELECT DISTINCT "+form.key()+" FROM "+w.table+" WHERE id IS NOT NULL) k"); n != rows {
		say("%d keys in %d rows", n, rows)
	}
	if n := harness.Count(w.t, w.raw, "SELECT COUNT(*) FROM "+w.table+" WHERE "+form.isNone()); n != 0 {
		say("%d rows without a key, or with one below 1", n)
	}
	return rows
}

// gapless reports numbers that are missing between the first row and the last one, of
// each parent.
func (w *swarm) gapless(say func(string, ...any)) {
	w.t.Helper()
	parent := "0"
	if w.job.Form.Scoped {
		parent = "parent"
	}
	for _, p := range harness.IntegersOf(w.t, w.raw, "SELECT DISTINCT "+parent+" FROM "+w.table) {
		var least, most, n int64
		query := fmt.Sprintf("SELECT COALESCE(MIN(id), 0), COALESCE(MAX(id), 0), COUNT(DISTINCT id) FROM %s WHERE %s = %d", w.table, parent, p)
		if err := w.raw.QueryRow(query).Scan(&least, &most, &n); err != nil {
			w.t.Fatal(err)
		}
		if least != 1 || most != n {
			say("%d numbers of parent %d are from %d to %d: a hole", n, p, least, most)
		}
	}
}

// statements returns what is stored by the numbers of statements.
func (w *swarm) statements(say func(string, ...any)) map[int64]entry {
	w.t.Helper()
	if w.job.Form.Listed {
		return w.listed(say)
	}
	return w.runs(say)
}

// listed returns statements with all their keys.
func (w *swarm) listed(say func(string, ...any)) map[int64]entry {
	w.t.Helper()
	form := w.job.Form
	parent := "0"
	if form.Scoped {
		parent = "parent"
	}
	rows, err := w.raw.Query("SELECT stmt, pos, " + parent + ", id FROM " + w.table + " ORDER BY stmt, pos")
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	stored := map[int64]entry{}
	for rows.Next() {
		var (
			stmt, pos, parent int64
			id                sql.NullString
		)
		if err := rows.Scan(&stmt, &pos, &parent, &id); err != nil {
			w.t.Fatal(err)
		}
		e := stored[stmt]
		if pos != e.rows {
			say("statement %#x: row %d is in place %d", stmt, e.rows, pos)
		}
		e.stmt, e.rows = stmt, e.rows+1
		e.text = strings.TrimPrefix(e.text+" "+form.text(id.String, parent), " ")
		stored[stmt] = e
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return stored
}

// runs returns statements with their first key, of which each must have
// consecutive ones in the order of its rows.
func (w *swarm) runs(say func(string, ...any)) map[int64]entry {
	w.t.Helper()
	rows, err := w.raw.Query("SELECT stmt, COALESCE(MIN(id - pos), 0), COALESCE(MAX(id - pos), 0), COUNT(*), MIN(pos), MAX(pos) FROM " + w.table + " GROUP BY stmt")
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	stored := map[int64]entry{}
	for rows.Next() {
		var e entry
		var last, least, most int64
		if err := rows.Scan(&e.stmt, &e.first, &last, &e.rows, &least, &most); err != nil {
			w.t.Fatal(err)
		}
		if e.first != last || least != 0 || most != e.rows-1 {
			say("statement %#x: %d rows from place %d to %d have keys from %d to %d, less their place", e.stmt, e.rows, least, most, e.first, last)
		}
		stored[e.stmt] = e
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return stored
}

// wantAtLeast fails unless something has happened so often: a test in which the
// fault did not come shows nothing.
func wantAtLeast(t *testing.T, what string, got, want int) {
	t.Helper()
	if got < want {
		t.Errorf("%d %s, want at least %d", got, what, want)
	}
}

// until waits for so long at least, and until something has happened, which it
// asks for again and again; but not for ever.
func until(least time.Duration, happened func() bool) {
	for began := time.Now(); time.Since(began) < harness.Limit; time.Sleep(50 * time.Millisecond) {
		if happened() && time.Since(began) >= least {
			return
		}
	}
}

// anyOf returns a function that finds one of the parts in a text, noneOf one
// that finds none.
func anyOf(parts ...string) func(text string) bool {
	return func(text string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return tells(text, part) })
	}
}

// tells reports whether a text has a part, which may be the text of an error: its anchor
// stands at the end of the whole text.
func tells(text, part string) bool {
	return strings.Contains(anchor.Plain(text), anchor.Plain(part))
}

func noneOf(parts ...string) func(text string) bool {
	is := anyOf(parts...)
	return func(text string) bool { return !is(text) }
}

// textOf returns the text of an error as it stands inside of others, without its section of
// docs/errors.md.
func textOf(err error) string { return anchor.Plain(err.Error()) }

// aboutConnections is for faults of connections and servers: whatever a driver
// says of them is as it is, but a source must not take them for more.
//
// A table of ours is named where neither looking for it nor creating it came to an end.
// If two sessions make a table at once, PostgreSQL reports a unique key to one, after
// which the connection that looks for the table may be gone.
var aboutConnections = either(anyOf("; and creating it: ", "pg_type_typname_nsp_index"), noneOf(
	textOf(keysource.ErrStoreBack), textOf(keysource.ErrStoreBehind), textOf(keysource.ErrStoreState),
	textOf(keysource.ErrWorkerTaken), textOf(keysource.ErrClock), textOf(keysource.ErrExhausted), "keyfill_sequences", "keyfill_workers",
))

// isDeadlock is for transactions that wait for each other, isLock for locks that
// are waited for in vain, isPatience for a context that has ended, isDuplicate for a
// number that another transaction has taken too.
var (
	isDeadlock  = anyOf("Deadlock found", "deadlock detected")
	isLock      = anyOf("Lock wait timeout", "due to lock timeout", "database is locked")
	isPatience  = anyOf("context deadline exceeded", "due to user request", "i/o timeout")
	isDuplicate = anyOf("Duplicate entry")
)

// either returns a function that is true where one of others is.
func either(others ...func(text string) bool) func(text string) bool {
	return func(text string) bool {
		return slices.ContainsFunc(others, func(is func(text string) bool) bool { return is(text) })
	}
}

// TestFaultLaws: a broken law is found. Of two processes with one snowflake's number and
// no store some keys are the same, as the documentation says; and each other fault in the
// table or in a journal is reported.
func TestFaultLaws(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, faultEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			w := newSwarm(t, e, faultTable)
			w.use(policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: new(7), OnBehind: keysource.RemedyWarn})
			all := w.mustStart(2)
			w.awaitKeys(all, 0)
			until(0, func() bool {
				_, wrong := w.judge()
				return found(wrong, "keys in") && found(wrong, "were drawn")
			})
			w.stop(all)
			for _, query := range []string{
				"INSERT INTO t (id, stmt, pos) VALUES (NULL, -1, 0)",
				"INSERT INTO t (id, stmt, pos) VALUES (10, -2, 0), (12, -2, 1)",
				"INSERT INTO t (id, stmt, pos) VALUES (20, -3, 0)",
			} {
				harness.Exec(t, w.raw, query)
			}
			log, err := openJournal(all[0].log)
			if err != nil {
				t.Fatal(err)
			}
			log.write(entry{what: committed, stmt: -4, first: 30, rows: 1}, entry{what: rolledBack, stmt: -3, first: 20, rows: 1})
			log.fail(errBroken)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			_, wrong := w.judge()
			for _, want := range []string{"keys in", "were drawn", "without a key", "less their place", "-0x4 has committed 1 rows", "-0x3 was rolled back", "1 × a law is broken"} {
				if !found(wrong, want) {
					t.Errorf("nothing says %q", want)
				}
			}
		})
	}
}

// TestFaultLawsOfForms: faults of keys that do not follow each other, are numbered within
// a parent, or may not have holes, are reported too.
func TestFaultLawsOfForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		form form
		rows string
		want []string
	}{
		{"text", form{Listed: true, Column: "VARCHAR(6)"},
			"(id, stmt, pos) VALUES ('b', 1, 0), ('a', 1, 1), ('a', 2, 0), ('', 3, 0), ('d', 4, 1), ('e', 5, 0)",
			[]string{"5 keys in 6 rows", "1 rows without a key", "0x4: row 0 is in place 1", "a for statement", "0x5 has committed 1 rows from 0f; stored are 1 from 0e"}},
		{"scoped", form{Listed: true, Scoped: true, Gapless: true},
			"(parent, id, stmt, pos) VALUES (1, 1, 1, 0), (2, 1, 1, 1), (2, 2, 2, 0), (2, 2, 3, 0), (3, 2, 4, 0), (4, 1, 5, 0), (4, 3, 5, 1)",
			[]string{"6 keys in 7 rows", "1 numbers of parent 3 are from 2 to 2", "2 numbers of parent 4 are from 1 to 3", "2/2 for statement", "0x5 has committed 1 rows from 0f"}},
		{"gapless", form{Gapless: true},
			"(id, stmt, pos) VALUES (1, 1, 0), (2, 1, 1), (4, 5, 0)",
			[]string{"3 numbers of parent 0 are from 1 to 4", "0x5 has committed 1 rows from 0f"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newSwarm(t, harness.SQLiteFile, c.form.table("t"))
			w.job.Form, w.drawnOnce, w.count = c.form, true, 1
			harness.Exec(t, w.raw, "INSERT INTO t "+c.rows)
			log, err := openJournal(filepath.Join(w.folder, "1"))
			if err != nil {
				t.Fatal(err)
			}
			log.write(entry{what: committed, stmt: 5, rows: 1, text: "f"})
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			_, wrong := w.judge()
			for _, want := range c.want {
				if !found(wrong, want) {
					t.Errorf("nothing says %q:%s", want, indent(wrong))
				}
			}
			if len(wrong) != len(c.want) {
				t.Errorf("%d breaches, want %d:%s", len(wrong), len(c.want), indent(wrong))
			}
		})
	}
}

// found reports whether one of the texts has a part.
func found(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) })
}
