package apps_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// mark is what a row holds: which process has inserted it, by which of its connections,
// in which INSERT of that connection, and in which place of that INSERT.
type mark struct{ process, hand, n, place int }

// String returns the text of the row.
func (m mark) String() string { return fmt.Sprintf("%d %d %d %d", m.process, m.hand, m.n, m.place) }

// markOf reads the text of a row.
func markOf(text string) (m mark, err error) {
	_, err = fmt.Sscan(text, &m.process, &m.hand, &m.n, &m.place)
	return m, err
}

// journalLine is the line of a journal about an INSERT: its ids, or its error. A line is
// written by one call after the INSERT has ended, so that a journal has all but the last
// INSERT of each connection even of a process that was killed.
func journalLine(hand, n int, ids []int64, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d", hand, n)
	for _, id := range ids {
		fmt.Fprintf(&b, " %d", id)
	}
	if err != nil {
		fmt.Fprintf(&b, " ! %q", err)
	}
	b.WriteByte('\n')
	return b.String()
}

// told is what the processes of a test report about their INSERTs.
type told struct {
	rows   map[int64]mark // by the ids that the processes read
	count  map[string]int // INSERTs that succeeded, by the kind of the process
	failed []string
	open   map[mark]bool // the INSERTs that killed processes may have been about, without places
}

// read adds the journal of a process.
func (d *told) read(p *process) error {
	file, err := os.Open(p.Journal)
	if err != nil {
		return err
	}
	defer file.Close()
	next := make([]int, writerHands)
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line without an end is half of what a process wrote when it was killed
		}
		if err := d.add(p, next, strings.TrimSuffix(line, "\n")); err != nil {
			return fmt.Errorf("the journal of %s %d: %q: %w", p.Kind, p.Number, line, err)
		}
	}
	if p.killed {
		for hand, n := range next {
			d.open[mark{process: p.Number, hand: hand, n: n}] = true
		}
	}
	return nil
}

// add adds a line of a journal. next has the number of the next INSERT of each hand.
func (d *told) add(p *process, next []int, line string) error {
	line, failure, isFailure := strings.Cut(line, " ! ")
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return errors.New("it is too short")
	}
	m := mark{process: p.Number}
	var err error
	if m.hand, err = strconv.Atoi(fields[0]); err != nil {
		return err
	}
	if m.n, err = strconv.Atoi(fields[1]); err != nil {
		return err
	}
	next[m.hand] = m.n + 1
	if isFailure {
		d.failed = append(d.failed, p.Kind+": "+failure)
		return nil
	}
	d.count[p.Kind]++
	for i, text := range fields[2:] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		m.place = i
		if other, found := d.rows[id]; found {
			d.failed = append(d.failed, fmt.Sprintf("the id %d was given to the rows %q and %q", id, other, m))
		}
		d.rows[id] = m
	}
	return nil
}

// compare compares the table with the reports of the processes.
func (d *told) compare(t *testing.T, raw *sql.DB) {
	t.Helper()
	rows, err := raw.Query("SELECT id, who FROM t WHERE who <> 'before'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	stored, wrong, untold := 0, 0, 0
	for rows.Next() {
		var id int64
		var who string
		if err := rows.Scan(&id, &who); err != nil {
			t.Fatal(err)
		}
		m, err := markOf(who)
		if err != nil {
			t.Fatalf("the row with the id %d holds %q: %v", id, who, err)
		}
		stored++
		switch other, found := d.rows[id]; {
		case found && other == m:
			delete(d.rows, id)
		case !found && d.open[mark{process: m.process, hand: m.hand, n: m.n}]:
			untold++
		default:
			if wrong++; wrong <= 5 {
				t.Errorf("the row with the id %d is %q, and its process was told %q", id, m, other)
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(d.rows) > 0 {
		t.Errorf("%d rows that processes were told of are not stored", len(d.rows))
	}
	if n := len(d.failed); n > 0 {
		t.Errorf("%d failures, the first: %s", n, strings.Join(d.failed[:min(n, 5)], "\n"))
	}
	t.Logf("INSERTs: %v, failed: %d, rows: %d, with a wrong id: %d, inserted by processes as they were killed: %d", d.count, len(d.failed), stored, wrong, untold)
}
