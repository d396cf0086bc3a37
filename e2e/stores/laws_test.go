package stores_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// figures are what a run has done.
type figures struct {
	drawn  int64 // keys, of all sources
	rows   int64 // stored
	untold int64 // rows whose process was killed before it could note them
	twice  int   // breaches of the law that no key comes twice
	holes  int64 // numbers that are missing where there may be none
}

// judge returns what is against the laws. No key is drawn twice: two draws have no key in
// common, and the row of a key belongs to the draw that has the key, also where its process
// was killed before it could note the draw. What was said to be stored is there. A
// numbering without gaps has each number from 1 on.
func (w *world) judge() (f figures, wrong []string) {
	w.t.Helper()
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, m := range w.all {
		if err := m.read(); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, k := range w.job.Kinds {
		rows := w.rowsOf(k)
		f.rows += int64(len(rows))
		var drew, told []record
		for _, m := range w.all {
			for _, r := range m.records {
				switch {
				case int(r.Kind) != k:
				case r.What == drawn:
					drew = append(drew, r)
				case r.What == stored:
					told = append(told, r)
				}
			}
		}
		keys := int64(0)
		for _, r := range told {
			keys += int64(r.Keys)
		}
		f.untold += int64(len(rows)) - keys
		w.tellsTruth(k, rows, told, say)
		if k == joined {
			f.drawn += int64(len(rows))
			if n := int64(len(rows)); n > 0 && (rows[0].key != 1 || rows[n-1].key != n) {
				f.holes += rows[n-1].key - n
				say("%s: %d numbers are from %d to %d", kinds[k].name, n, rows[0].key, rows[n-1].key)
			}
			continue
		}
		n, twice := distinct(k, drew, rows, say)
		f.drawn += n
		f.twice += twice
	}
	if lines := tally(unexplained(w.failures(w.all))); len(lines) > 0 {
		say("errors that no fault explains:%s", indent(lines))
	}
	return f, wrong
}

// row is a row of a table: its key, and the draw that it says it is of.
type row struct{ key, draw int64 }

// rowsOf returns the rows of a table in the order of their keys.
func (w *world) rowsOf(k int) (all []row) {
	w.t.Helper()
	found, err := w.store.raw.Query("SELECT id, draw FROM " + table(k) + " ORDER BY id")
	if err != nil {
		w.t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var r row
		if err := found.Scan(&r.key, &r.draw); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := found.Err(); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// tellsTruth asks for each row that a journal says is stored.
func (w *world) tellsTruth(k int, rows []row, told []record, say func(string, ...any)) {
	for _, r := range told {
		for key := r.First; key < r.First+int64(r.Keys); key++ {
			i, there := slices.BinarySearchFunc(rows, key, func(r row, key int64) int { return cmp.Compare(r.key, key) })
			if !there || rows[i].draw != r.Draw {
				say("%s: a row of draw %#x was said to be stored, and is not there", kinds[k].name, r.Draw)
				break
			}
		}
	}
}

// distinct asks that no key is of two draws, and returns how many keys were drawn, and
// how many breaches there are.
func distinct(k int, drew []record, rows []row, say func(string, ...any)) (keys int64, twice int) {
	slices.SortFunc(drew, func(a, b record) int { return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Draw, b.Draw)) })
	end := int64(0)
	for i, r := range drew {
		if r.First < end {
			twice++
			say("%s: draws %#x and %#x have the key %d: %s", kinds[k].name, drew[i-1].Draw, r.Draw, r.First, times(drew[i-1], r))
		}
		end = max(end, r.First+int64(r.Keys))
		keys += int64(r.Keys)
	}
	i := 0
	for _, one := range rows {
		for i < len(drew) && drew[i].First+int64(drew[i].Keys) <= one.key {
			i++
		}
		switch {
		case i == len(drew) || one.key < drew[i].First:
			keys++ // its process was killed before it could note the draw
		case drew[i].Draw != one.draw:
			twice++
			say("%s: the key %d is of draw %#x, and of the row of draw %#x", kinds[k].name, one.key, drew[i].Draw, one.draw)
		}
	}
	return keys, twice
}

// times says when two draws were.
func times(all ...record) string {
	var texts []string
	for _, r := range all {
		began, ended := time.Unix(0, r.Began).UTC(), time.Unix(0, r.Ended).UTC()
		texts = append(texts, fmt.Sprintf("%d keys from %d between %s and %s", r.Keys, r.First, began.Format("15:04:05.000"), ended.Format("15:04:05.000")))
	}
	return strings.Join(texts, ", ")
}

// report asserts the laws and prints what was done.
func (w *world) report(began time.Time) {
	w.t.Helper()
	f, wrong := w.judge()
	for _, one := range wrong[:min(len(wrong), 20)] {
		w.t.Error(one)
	}
	holes := ""
	if slices.Contains(w.job.Kinds, joined) {
		holes = fmt.Sprintf(", %d holes", f.holes)
	}
	w.t.Logf("%s: %d processes in %d places, %d killed, %v: %d keys drawn, %d rows stored, of which %d were not told of, %d twice%s",
		w.store.name, len(w.all), len(w.places), w.kills, time.Since(began).Round(time.Second), f.drawn, f.rows, f.untold, f.twice, holes)
	slowest := map[string]recovery{}
	var faults []string
	for _, r := range w.took {
		known, again := slowest[r.fault]
		if !again {
			faults = append(faults, r.fault)
		}
		was, _ := known.longest()
		if longest, _ := r.longest(); !again || longest > was {
			slowest[r.fault] = r
		}
	}
	bound := workerLease + w.store.allowance + 5*time.Second
	for _, fault := range faults {
		longest, text := slowest[fault].longest()
		w.t.Logf("%s: %s: each process had recovered after %s", w.store.name, fault, text)
		// How long the short run takes says how busy the machine is.
		if harness.Soaking() && longest > bound && !slowest[fault].free {
			w.t.Errorf("%s: %s: recovery took %v, more than a lease, two election time-outs and 5s, which is %v", w.store.name, fault, longest.Round(time.Millisecond), bound)
		}
	}
	if lines := tally(w.failures(w.all)); len(lines) > 0 {
		w.t.Logf("%s: errors of steps:%s", w.store.name, indent(lines))
	}
}
