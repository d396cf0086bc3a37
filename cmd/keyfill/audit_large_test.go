package main

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testturn"
)

// irregularities are ways in which numbers go wrong: a statement with a number of the table, and
// what an audit has to find of it.
var irregularities = []struct {
	statement string
	found     func(n int64) []string
}{
	{"DELETE FROM invoices WHERE number = %d", func(n int64) []string { return []string{fmt.Sprintf("error gap %d-%d 0 map[]", n, n)} }},
	{"DELETE FROM invoices WHERE number BETWEEN %d AND %[1]d + 4", func(n int64) []string { return []string{fmt.Sprintf("error gap %d-%d 0 map[]", n, n+4)} }},
	{"INSERT INTO invoices (number) VALUES (%d)", func(n int64) []string { return []string{fmt.Sprintf("error double %d-%d 2 map[]", n, n)} }},
	{"UPDATE invoices SET number = %d WHERE number = %[1]d + 1", func(n int64) []string {
		return []string{fmt.Sprintf("error double %d-%d 2 map[]", n, n), fmt.Sprintf("error gap %d-%d 0 map[]", n+1, n+1)}
	}},
	{"INSERT INTO cancellations VALUES (%d)", func(n int64) []string { return []string{fmt.Sprintf("error cancelled %d-%d 1 map[]", n, n)} }},
	{"UPDATE invoices SET number = NULL WHERE number = %d", func(n int64) []string { return []string{fmt.Sprintf("error gap %d-%d 0 map[]", n, n)} }},
}

// TestAuditLarge: planted irregularities are found in a million rows, and nothing else, and
// ten times the rows need no more memory. Tests that go by turns have a tenth of the rows.
func TestAuditLarge(t *testing.T) {
	const tables = "invoices: {column: number, source: {kind: sequence, transaction: joined}}"
	many := map[string]string{
		"sqlite": "INSERT INTO invoices (number) WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d) SELECT n FROM n",
		"mysql":  "INSERT INTO invoices (number) SELECT seq FROM seq_1_to_%d",
		"pgx":    "INSERT INTO invoices (number) SELECT generate_series(1, %d)",
	}
	most := int64(1_000_000)
	if testturn.Enabled(t) || testing.Short() {
		most = 100_000
	}
	args := []string{"--table=invoices", "--cancelled=cancellations.number"}
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE invoices (number BIGINT)", "CREATE INDEX numbers ON invoices (number)", "CREATE TABLE cancellations (number BIGINT)",
			"CREATE TABLE keyfill_sequences (name VARCHAR(190) PRIMARY KEY, next_value BIGINT, incarnation VARCHAR(40))")
		var heap []int64
		for _, rows := range []int64{most / 10, most} {
			p.exec(t, "DELETE FROM invoices", fmt.Sprintf(many[p.driver], rows), "DELETE FROM keyfill_sequences",
				fmt.Sprintf("INSERT INTO keyfill_sequences VALUES ('invoices.number', %d, '')", rows+1))
			heap = append(heap, heapDuring(func() { expectAudit(t, p, tables, args, 0) }))
		}
		t.Logf("%d and %d rows: %d and %d KB on the heap at most", most/10, most, heap[0]>>10, heap[1]>>10)
		if heap[1]-heap[0] > 5<<20 {
			t.Errorf("ten times the rows have %d KB more on the heap, want 5 MB at most", (heap[1]-heap[0])>>10)
		}
		want := []string{
			"error first 1-2 0 map[]", "error none 0-0 3 map[]", "error above 2000000-2000000 1 map[]",
			fmt.Sprintf("error tail %d-%d 0 map[]", most-9, most),
		}
		for i, one := range irregularities {
			for k := range int64(3) {
				number := int64(1000*(i+1)) + k*most/4
				p.exec(t, fmt.Sprintf(one.statement, number))
				want = append(want, one.found(number)...)
			}
		}
		p.exec(t, fmt.Sprintf("DELETE FROM invoices WHERE number < 3 OR number > %d", most-10), "INSERT INTO invoices VALUES (2000000)")
		expectAudit(t, p, tables, args, 1, want...)
	})
}

// heapDuring returns how many bytes were in use on the heap at most while f ran.
func heapDuring(f func()) int64 {
	runtime.GC()
	var stop atomic.Bool
	most := make(chan int64)
	go func() {
		var highest uint64
		for !stop.Load() {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
			time.Sleep(5 * time.Millisecond)
		}
		most <- int64(highest)
	}()
	f()
	stop.Store(true)
	return <-most
}
