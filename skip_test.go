package keyfill_test

import (
	"errors"
	"strings"
	"testing"
)

// triedAndDrawn returns how many texts came to a connection of the driver before they were
// prepared, the rows that were sent, and the keys that were drawn.
func triedAndDrawn(d *fakeDriver, rand *countingRand) (tried, rows, drawn int) {
	return len(d.took("tried")), len(d.sent()), int(rand.keys.Load())
}

// TestSkipLearned: a driver that always wants to prepare texts with arguments is
// asked three times, and one time in 65 from then on. Each row gets one key.
func TestSkipLearned(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: contexts, skip: true}
	db := open(t, d, drawn("sqlite", &rand))
	for i := range 100 {
		mustExec(t, db, insert, i, "x")
	}
	tried, rows, keys := triedAndDrawn(d, &rand)
	if tried != 4 || rows != 100 || keys != 100 {
		t.Errorf("tried %d times, want 4; %d rows and %d keys, want 100 of each", tried, rows, keys)
	}
}

// TestSkipSome: a driver that wants to prepare some texts alone, as
// go-sql-driver/mysql with interpolateParams, gets the others directly: at once when
// it has taken arguments since, and else after a while. Each row gets one key, and
// no key is sent twice.
func TestSkipSome(t *testing.T) {
	const odd = "INSERT INTO t1 (a, b) VALUES (?, ?)"
	var rand countingRand
	d := &fakeDriver{strength: contexts, skips: func(query string) bool { return strings.Contains(query, "t1") }}
	db := open(t, d, drawn("sqlite", &rand))
	direct := func() int { return len(d.took("exec")) }
	times := func(n int, query string) {
		t.Helper()
		for i := range n {
			mustExec(t, db, query, i, "x")
		}
	}
	times(10, odd)
	if direct() != 0 {
		t.Errorf("%d were not prepared", direct())
	}
	mustExec(t, db, "UPDATE t SET a = ?", 1)
	times(10, insert)
	if got := direct(); got != 11 {
		t.Errorf("%d went directly, want the UPDATE and all 10 behind it", got)
	}
	times(10, odd)
	times(100, insert)
	if got := direct(); got < 11+30 {
		t.Errorf("%d went directly: the driver was not tried again", got)
	}
	for range 50 {
		mustExec(t, db, odd, 1, "x")
		mustExec(t, db, insert, 1, "x")
	}
	seen := map[any]bool{}
	rows := 0
	for _, c := range d.sent() {
		if strings.HasPrefix(c.query, "INSERT") {
			rows++
			seen[c.args[2].Value] = true
		}
	}
	if rows != 230 || len(seen) != rows || int(rand.keys.Load()) != rows {
		t.Errorf("%d rows with %d different keys of %d drawn, want 230 of each", rows, len(seen), rand.keys.Load())
	}
}

// TestSkipSeveral: a text of several statements goes to the driver directly even where
// that has wanted to prepare the texts before: MySQL prepares one statement alone.
func TestSkipSeveral(t *testing.T) {
	var rand countingRand
	d := &fakeDriver{strength: contexts, skips: func(query string) bool { return strings.Contains(query, "odd") }}
	d.prepares = func(query string) error {
		if strings.Contains(query, ";") {
			return errors.New("syntax error near ;")
		}
		return nil
	}
	db := open(t, d, drawn("mysql", &rand))
	for i := range 10 {
		mustExec(t, db, "INSERT INTO t (a, b) VALUES (?, 'odd')", i)
	}
	mustExec(t, db, "INSERT INTO t (a) VALUES (?); INSERT INTO t1 (a) VALUES (?)", 1, 2)
	if keys := rand.keys.Load(); keys != 12 {
		t.Errorf("%d keys were drawn, want 12", keys)
	}
}
