package e2e_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// figures are what a swarm has done.
type figures struct {
	rows, statements      int
	committed, rolledBack int // statements that journals tell of
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

// judge returns what is against the laws: no key twice, each committed row has
// one, those of a statement are consecutive, and what was said to be committed
// is there with the keys that were said.
func (w *swarm) judge() (f figures, wrong []string) {
	w.t.Helper()
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	f.rows = w.distinct(say)
	stored := w.statements(say)
	f.statements = len(stored)
	var given []run
	for _, s := range stored {
		given = append(given, run{s.first, s.rows})
	}
	var unexplained []entry
	for _, e := range w.entries() {
		s, there := stored[e.stmt]
		switch e.what {
		case committed:
			f.committed++
			if !there || s.first != e.first || s.rows != e.rows {
				say("statement %#x has committed %d rows from %d; stored are %d from %d", e.stmt, e.rows, e.first, s.rows, s.first)
			}
		case rolledBack:
			f.rolledBack++
			if there {
				say("statement %#x was rolled back, and is there", e.stmt)
			}
			given = append(given, run{e.first, e.rows})
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
	if w.drawnOnce {
		overlaps(given, say)
	}
	if f.committed == 0 {
		say("nothing was committed")
	}
	return f, wrong
}

// overlaps tells of a key that was drawn twice, even if it was not stored
// twice.
func overlaps(given []run, say func(string, ...any)) {
	slices.SortFunc(given, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	for i, one := range given[1:] {
		if before := given[i]; one.first < before.first+before.n {
			say("%d keys from %d and %d from %d were drawn", before.n, before.first, one.n, one.first)
		}
	}
}

// distinct counts the rows, each of which must have a key of its own.
func (w *swarm) distinct(say func(string, ...any)) int {
	w.t.Helper()
	rows := count(w.t, w.raw, "SELECT COUNT(*) FROM t")
	if n := count(w.t, w.raw, "SELECT COUNT(*) FROM (SELECT DISTINCT id FROM t WHERE id IS NOT NULL) k"); n != rows {
		say("%d keys in %d rows", n, rows)
	}
	if n := count(w.t, w.raw, "SELECT COUNT(*) FROM t WHERE id IS NULL OR id < 1"); n != 0 {
		say("%d rows without a key, or with one below 1", n)
	}
	return rows
}

// statements returns what is stored by the numbers of statements, of which each
// must have consecutive keys in the order of its rows.
func (w *swarm) statements(say func(string, ...any)) map[int64]entry {
	w.t.Helper()
	rows, err := w.raw.Query("SELECT stmt, COALESCE(MIN(id - pos), 0), COALESCE(MAX(id - pos), 0), COUNT(*), MIN(pos), MAX(pos) FROM t GROUP BY stmt")
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
	for began := time.Now(); time.Since(began) < 2*jobPatience; time.Sleep(50 * time.Millisecond) {
		if happened() && time.Since(began) >= least {
			return
		}
	}
}

// anyOf returns a function that finds one of the parts in a text, noneOf one
// that finds none.
func anyOf(parts ...string) func(text string) bool {
	return func(text string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
	}
}

func noneOf(parts ...string) func(text string) bool {
	is := anyOf(parts...)
	return func(text string) bool { return !is(text) }
}

// aboutConnections is for faults of connections and servers: whatever a driver
// says of them is as it is, but a source must not take them for more.
var aboutConnections = noneOf(
	keysource.ErrStoreBack.Error(), keysource.ErrStoreBehind.Error(), keysource.ErrStoreState.Error(),
	keysource.ErrWorkerTaken.Error(), keysource.ErrClock.Error(), keysource.ErrExhausted.Error(), "keyfill_sequences", "keyfill_workers",
)

// TestFaultLaws: what breaks a law is found. Of two processes with one
// snowflake's number and no store some keys are the same, as the documentation
// says; and whatever else is wrong in the table or in a journal is told.
func TestFaultLaws(t *testing.T) {
	for _, e := range faultEngines {
		t.Run(e.name, func(t *testing.T) {
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
				exec(t, w.raw, query)
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

// found reports whether one of the texts has a part.
func found(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) })
}
