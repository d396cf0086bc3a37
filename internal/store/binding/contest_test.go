package binding_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// rowsOfStates is keyfill_sequences with what the statements about columns need.
type rowsOfStates struct {
	rows map[string]*rowOfState
	made int // incarnations
}

type rowOfState struct {
	next                                   int64
	table, column, parameters, incarnation string
}

var (
	insertText = regexp.MustCompile(`(?s)^INSERT INTO keyfill_sequences.*VALUES \('(.*)', (\d+), '(.*)', '(.*)', '(.*)', UUID`)
	readText   = regexp.MustCompile(`(?s)^SELECT next_value.*parameters FROM keyfill_sequences WHERE name = '(.*)'$`)
	othersText = regexp.MustCompile(`^SELECT (?:MIN\(name\)|name) FROM keyfill_sequences WHERE table_name = '(.*)' AND column_name = '(.*)' AND name NOT IN \('(.*)', '(.*)'\)$`)
	changeText = regexp.MustCompile(`(?s)^UPDATE keyfill_sequences\nSET (?:next_value = (1)|table_name = '(.*)', column_name = '(.*)', incarnation = UUID\(\))\nWHERE name = '(.*)' AND incarnation = '(.*)' AND next_value = 0$`)
	claimsText = regexp.MustCompile(`(?s)^SELECT name, next_value, table_name, column_name FROM keyfill_sequences\nWHERE name >= '(.*)' AND name < '(.*)'$`)
	deleteText = regexp.MustCompile(`(?s)^DELETE FROM keyfill_sequences\nWHERE name = '(.*)' AND incarnation = '(.*)' AND next_value = (\d+)$`)
)

// isOurs reports whether a statement is one about the rows, and not about the server.
func (s *rowsOfStates) isOurs(query string) bool {
	return insertText.MatchString(query) || readText.MatchString(query) || othersText.MatchString(query) ||
		changeText.MatchString(query) || claimsText.MatchString(query) || deleteText.MatchString(query)
}

func (s *rowsOfStates) incarnation() string { s.made++; return fmt.Sprint("made ", s.made) }

func (s *rowsOfStates) answer(query string) fakedb.Reply {
	row := func(values ...driver.Value) fakedb.Reply {
		return fakedb.Reply{Rows: [][]driver.Value{values}, Affected: 1}
	}
	integer := func(text string) (n int64) { _, _ = fmt.Sscan(text, &n); return n }
	if m := insertText.FindStringSubmatch(query); m != nil {
		if r := s.rows[m[1]]; r != nil {
			r.next = max(r.next, integer(m[2]))
		} else {
			s.rows[m[1]] = &rowOfState{integer(m[2]), m[3], m[4], m[5], s.incarnation()}
		}
		return fakedb.Reply{Affected: 1}
	}
	if m := readText.FindStringSubmatch(query); m != nil {
		if r := s.rows[m[1]]; r != nil {
			return row(r.next, r.incarnation, "server", r.table, r.column, r.parameters)
		}
		return fakedb.Reply{}
	}
	if m := othersText.FindStringSubmatch(query); m != nil {
		var found fakedb.Reply
		for _, name := range slices.Sorted(maps.Keys(s.rows)) {
			if r := s.rows[name]; r.table == m[1] && r.column == m[2] && !slices.Contains(m[3:], name) {
				found.Rows = append(found.Rows, []driver.Value{name})
			}
		}
		switch {
		case !strings.Contains(query, "MIN"):
			return found
		case len(found.Rows) == 0:
			return row(nil)
		}
		return row(found.Rows[0]...)
	}
	if m := claimsText.FindStringSubmatch(query); m != nil {
		var found fakedb.Reply
		for name, r := range s.rows {
			if m[1] <= name && name < m[2] {
				found.Rows = append(found.Rows, []driver.Value{name, r.next, r.table, r.column})
			}
		}
		return found
	}
	if m := changeText.FindStringSubmatch(query); m != nil {
		if r := s.rows[m[4]]; r != nil && r.incarnation == m[5] && r.next == 0 {
			if r.next = integer(m[1]); r.next == 0 {
				r.table, r.column, r.incarnation = m[2], m[3], s.incarnation()
			}
		}
		return fakedb.Reply{Affected: 1}
	}
	if m := deleteText.FindStringSubmatch(query); m != nil {
		if r := s.rows[m[1]]; r != nil && r.incarnation == m[2] && r.next == integer(m[3]) {
			delete(s.rows, m[1])
		}
		return fakedb.Reply{Affected: 1}
	}
	if strings.HasPrefix(query, "SELECT MIN(incarnation)") {
		return row(nil)
	}
	return row("server")
}

// contender is a process that opens a state of t.id.
type contender struct {
	state string
	open  func(*store.Store) error
}

func namedContender(state string) contender {
	return contender{state, func(st *store.Store) error {
		_, err := reserver.Open(context.Background(), st, sequence.Sequence{
			Name: state, Columns: []store.Column{{Table: "t", Name: "id", Unranked: true}}, Shared: true, Made: sequence.MadeRow{Start: 1}, Create: true})
		return err
	}}
}

func ownContender(state string) contender {
	return contender{state, func(st *store.Store) error {
		_, err := reserver.Open(context.Background(), st, sequence.Sequence{
			Name: state, Columns: []store.Column{{Table: "t", Name: "id", Unranked: true}}, Made: sequence.MadeRow{Start: 1}, Create: true})
		return err
	}}
}

func claimContender(state string) contender {
	return contender{state, func(st *store.Store) error {
		_, _, err := binding.Claim{State: state, Column: store.Column{Table: "t", Name: "id"}}.Note(context.Background(), st)
		return err
	}}
}

// turn is one statement of a process, or its end.
type turn struct {
	who   int
	ended bool
	err   error
}

// history runs contenders over new rows, a statement at a time. At each statement next says
// whose is the following one, among those that have not ended; -1 stops all. It returns the rows, and
// what the contenders that have ended said.
func history(all []contender, next func(running []int) int) (*rowsOfStates, map[int]error) {
	rows := &rowsOfStates{rows: map[string]*rowOfState{}}
	turns := make(chan turn)
	goOn := make([]chan bool, len(all))
	for i, c := range all {
		goOn[i] = make(chan bool)
		go func() {
			stopped := false
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				if !rows.isOurs(query) {
					return fakedb.Reply{Rows: [][]driver.Value{{"server"}}}
				}
				if !stopped {
					turns <- turn{who: i}
					stopped = !<-goOn[i]
				}
				if stopped {
					return fakedb.Reply{Err: fakedb.ErrRefused}
				}
				return rows.answer(query)
			}}
			err := c.open(storeOf(f))
			turns <- turn{i, true, err}
		}()
	}
	// Each process is at its next statement, or has ended.
	ends, running := map[int]error{}, []int{}
	wait := func() {
		switch at := <-turns; {
		case at.ended:
			ends[at.who] = at.err
		default:
			running = append(running, at.who)
			slices.Sort(running)
		}
	}
	for range all {
		wait()
	}
	for len(running) > 0 {
		who := next(running)
		if who < 0 {
			break
		}
		running = slices.DeleteFunc(running, func(i int) bool { return i == who })
		goOn[who] <- true
		wait()
	}
	for _, who := range running { // it is killed
		goOn[who] <- false
		<-turns
	}
	return rows, ends
}

// storeOf returns a store whose pool has one connection, which is made anew each time.
func storeOf(f *fakedb.DB) *store.Store {
	return store.New(dialect.MariaDB(), store.Pool(dialect.MariaDB(), fakedb.Connector(f, fakedb.Strengths[2].Make)))
}

// TestContest runs histories of states that are opened for one column, with some changes
// from one process to another at any statement, and with processes that are killed. Never
// have two states the column. One has it in the end, and the others get its name.
func TestContest(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []contender
	}{
		{"named", []contender{namedContender("x"), namedContender("y")}},
		{"claims", []contender{claimContender("x"), claimContender("y")}},
		{"own and named", []contender{ownContender("t.id"), namedContender("y")}},
		{"own twice and named", []contender{ownContender("t.id"), namedContender("y"), ownContender("t.id")}},
		{"three claims", []contender{claimContender("x"), claimContender("y"), claimContender("z")}},
		{"one claim twice", []contender{claimContender("x"), claimContender("y"), claimContender("y")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			for switches := range histories(len(c.all)) {
				n++
				for _, killed := range []bool{false, true} {
					checkHistory(t, c.all, switches, killed)
				}
			}
			if n < 100 {
				t.Errorf("%d histories", n)
			}
		})
	}
}

// switches says at which statement of a history another process goes on, and which.
type switches []struct{ at, to int }

// histories returns the switches of all histories that are looked at.
func histories(processes int) func(yield func(switches) bool) {
	const steps = 20
	most := 5 - processes
	return func(yield func(switches) bool) {
		var grow func(s switches, from, last int) bool
		grow = func(s switches, from, last int) bool {
			if !yield(s) {
				return false
			}
			for at := from; at < steps && len(s) < most; at++ {
				for to := range processes {
					if to != last && !grow(append(slices.Clone(s), struct{ at, to int }{at, to}), at+1, to) {
						return false
					}
				}
			}
			return true
		}
		for first := range processes {
			if !grow(switches{{0, first}}, 1, first) {
				return
			}
		}
	}
}

func checkHistory(t *testing.T, all []contender, s switches, killed bool) {
	t.Helper()
	step, at, last := 0, 0, 0
	rows, ends := history(all, func(running []int) int {
		for at < len(s) && s[at].at <= step {
			last = s[at].to
			at++
		}
		if killed && at == len(s) && len(s) > 0 && step > s[len(s)-1].at+2 {
			return -1
		}
		step++
		if !slices.Contains(running, last) {
			last = running[0]
		}
		return last
	})
	live := map[string]bool{}
	for who, err := range ends {
		if err == nil {
			live[all[who].state] = true
		} else if !errors.Is(err, store.ErrTaken) {
			t.Fatalf("%v, killed %v: %s: %v", s, killed, all[who].state, err)
		}
	}
	if len(live) == 0 && !killed {
		t.Fatalf("%v: none has the column at once: %v", s, ends)
	}
	fake := &fakedb.DB{Answer: rows.answer}
	later := storeOf(fake)
	for range 2 {
		for _, c := range all {
			err := c.open(later)
			switch {
			case err == nil:
				live[c.state] = true
			case !errors.Is(err, store.ErrTaken):
				t.Fatalf("%v, killed %v: %s: %v", s, killed, c.state, err)
			case !slices.ContainsFunc(all, func(other contender) bool {
				return other.state != c.state && strings.Contains(err.Error(), fmt.Sprintf("%q", other.state))
			}):
				t.Fatalf("%v, killed %v: %s is not told which state has the column: %v", s, killed, c.state, err)
			}
		}
	}
	if len(live) == 0 && killed && rows.rows["t.id"] != nil {
		return // its process was killed before it could take the row away
	}
	if len(live) != 1 {
		t.Fatalf("%v, killed %v: the states %v have the column; rows %+v", s, killed, live, rows.rows)
	}
}
