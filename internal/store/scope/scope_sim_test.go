package scope_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// simParents is how many parents the rows of the simulation have, and simFactor
// what a parent's number is multiplied with in a key: a key is both in one.
const (
	simParents = 3
	simFactor  = 1 << 40
)

// simScope is a numbering within parents in a process of the simulation: the code
// of this package over a file of the simulator.
type simScope struct {
	p       *sim.Process
	mutant  scopeMutant
	periods *scope.Periods // the parents are periods; nil if they are values of a column

	mu   sync.Mutex
	rand func(n int) int
}

// scopeMutant says what is done wrong.
type scopeMutant uint8

const (
	scopeRight    scopeMutant = iota
	scopeNameless             // the parent is left out of the name of its row
	scopeUnlocked             // the row is looked for before it is locked, and then set
)

func (s *simScope) Next(context.Context, int) ([]int64, error) {
	return nil, errors.New("a number within a parent belongs to a transaction")
}

func (s *simScope) Close(context.Context) error { return nil }

// AdvanceOn refuses keys that the application brings.
func (s *simScope) AdvanceOn(context.Context, int64, *sim.Session) error {
	return errors.New("not followed")
}

// NextOn numbers n rows of random parents, as the root does.
func (s *simScope) NextOn(ctx context.Context, n int, c *sim.Session) ([]int64, error) {
	rows := make([]int64, n)
	s.mu.Lock()
	for i := range rows {
		rows[i] = int64(s.rand(simParents))
	}
	s.mu.Unlock()
	conn := &scopeConn{driver: simLines.client(s.p).On(c), mutant: s.mutant}
	if s.mutant == scopeUnlocked && !c.Open() {
		conn.look(ctx, slices.Compact(slices.Sorted(slices.Values(rows))))
	}
	keys := make([]int64, n)
	err := sim.Transact(c, func() error {
		at := store.Within(dialect.SQLite(), conn)
		for parent := range int64(simParents) {
			var places []int
			for i, row := range rows {
				if row == parent {
					places = append(places, i)
				}
			}
			if places == nil {
				continue
			}
			first, err := s.reserve(ctx, at, parent, int64(len(places)))
			if err != nil {
				return err
			}
			for i, place := range places {
				keys[place] = parent*simFactor + first + int64(i)
			}
		}
		return nil
	})
	return keys, err
}

// reserve reserves numbers of a parent.
func (s *simScope) reserve(ctx context.Context, at *store.Store, parent, n int64) (int64, error) {
	q := scope.Scope{Name: "lines.no", Column: store.Column{Table: "lines", Name: "no"}, Within: []string{"parent"}, Max: simFactor - 1}
	if s.periods == nil {
		return scope.New(at, &q).Reserve(ctx, []any{parent}, n)
	}
	q.Within, q.Periods = nil, s.periods
	period, err := s.periods.Calendar.On(2000+int(parent), time.May, 1)
	if err != nil {
		return 0, err
	}
	got, err := scope.New(at, &q).ReservePeriod(ctx, nil, &period, n)
	if err == nil && got.Template != s.periods.Template {
		err = fmt.Errorf("the template is %q", got.Template)
	}
	return got.First, err
}

// simLines is the file of the simulation, whose table of lines has a parent and a number.
var simLines = lines{simdb.NewColumns(dialect.SQLite(), map[string]func(int64) int64{
	"parent": func(key int64) int64 { return key / simFactor },
	"no":     func(key int64) int64 { return key % simFactor },
})}

type lines struct{ db *simdb.DB }

func (l lines) client(p *sim.Process) *simdb.Client { return &simdb.Client{DB: l.db, Process: p} }

// scopeConn is the way of the package's statements to the file, and what a mutant does there.
type scopeConn struct {
	driver driver.Conn
	mutant scopeMutant
	seen   map[string]bool // whether a row that was looked for too early was there
}

func (c *scopeConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }
func (c *scopeConn) Close() error                        { return nil }
func (c *scopeConn) Begin() (driver.Tx, error)           { return nil, errors.New("a transaction is open") }

// named returns the arguments with the name of the row that a mutant means.
func (c *scopeConn) named(args []driver.NamedValue) []driver.NamedValue {
	args = slices.Clone(args)
	for i, a := range args {
		if name, ok := a.Value.(string); ok && c.mutant == scopeNameless {
			args[i].Value, _, _ = strings.Cut(name, "[")
		}
	}
	return args
}

// look looks for the rows of parents in transactions of their own.
func (c *scopeConn) look(ctx context.Context, parents []int64) {
	c.seen = map[string]bool{}
	for _, parent := range parents {
		row := fmt.Sprintf("lines.no[%d]", parent)
		found, err := c.driver.(driver.QueryerContext).QueryContext(ctx,
			"SELECT next_value FROM keyfill_sequences WHERE name = ?", []driver.NamedValue{{Ordinal: 1, Value: row}})
		if err == nil {
			c.seen[row] = found.Next(make([]driver.Value, 1)) == nil
		}
	}
}

func (c *scopeConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.HasPrefix(query, "INSERT") {
		if there, known := c.seen[args[0].Value.(string)]; known && !there {
			delete(c.seen, args[0].Value.(string))
			query = strings.Replace(query, "max(next_value, excluded.next_value)", "excluded.next_value", 1)
		}
	}
	return c.driver.(driver.ExecerContext).ExecContext(ctx, query, c.named(args))
}

func (c *scopeConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	for _, a := range args {
		if name, ok := a.Value.(string); ok {
			if there, known := c.seen[name]; known && !there {
				return noRows{}, nil
			}
		}
	}
	return c.driver.(driver.QueryerContext).QueryContext(ctx, query, c.named(args))
}

// noRows is an answer without rows.
type noRows struct{}

func (noRows) Columns() []string         { return []string{""} }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

// scopeTrial returns the trial of numberings within parents. Besides the laws of
// all sources, but for numbers whose transaction was rolled back:
//
//	gap-free  where nothing goes wrong, the numbers of each parent are 1, 2, 3 …
func scopeTrial(mutant scopeMutant, years *calendar.Calendar) *sim.Trial {
	void := func(_ *sim.World, i sim.Issue) bool {
		return i.Transaction != nil && i.Transaction.Undone
	}
	return &sim.Trial{
		Faults: []sim.Fault{sim.Rollback, sim.Refuse, sim.Kill, sim.Pause, sim.ClockOff, sim.ClockStep, sim.Collide},
		Open: func(p *sim.Process) (sim.Source, error) {
			s := &simScope{p: p, mutant: mutant, rand: p.Rand()}
			if years != nil {
				s.periods = &scope.Periods{Calendar: *years, Column: "day", Template: "{year}-{n}"}
			}
			return s, nil
		},
		Void: void,
		// Sixteen at most wait for one another, each of which may take half a second.
		Recovery: func(*sim.World) time.Duration { return 10 * time.Second },
		Allow: func(w *sim.World, err error) bool {
			for _, cause := range []error{sim.ErrRefused, sim.ErrReset, sim.ErrRolledBack, sim.ErrKilled} {
				if errors.Is(err, cause) {
					return len(w.Faults) > 0
				}
			}
			return errors.Is(err, sim.ErrBusy) || errors.Is(err, context.DeadlineExceeded)
		},
		Check: func(w *sim.World) {
			killed := func(i sim.Issue) bool { return i.Life > 1 }
			if len(w.Faults) > 0 || slices.ContainsFunc(w.Issues, killed) {
				return // a draw without an answer is a gap
			}
			numbers := map[int64][]int64{}
			for _, i := range w.Issues {
				if void(w, i) {
					continue
				}
				for _, key := range i.Keys {
					numbers[key/simFactor] = append(numbers[key/simFactor], key%simFactor)
				}
			}
			for parent, all := range numbers {
				slices.Sort(all)
				if int64(len(all)) != all[len(all)-1] {
					w.Failf("gap-free: parent %d has %d numbers up to %d", parent, len(all), all[len(all)-1])
				}
			}
		},
	}
}

func TestScopeSimulation(t *testing.T) { scopeTrial(scopeRight, nil).Run(t) }

// TestPeriodSimulation is TestScopeSimulation where the parents are years.
func TestPeriodSimulation(t *testing.T) {
	years := calendarOf(t, calendar.Year, "", "")
	scopeTrial(scopeRight, &years).Run(t)
}

// TestScopeKilledAtEveryStep kills a process between any two things that it does.
func TestScopeKilledAtEveryStep(t *testing.T) {
	years := calendarOf(t, calendar.Year, "", "")
	for _, trial := range []*sim.Trial{scopeTrial(scopeRight, nil), scopeTrial(scopeRight, &years)} {
		runs, w := trial.EveryStep(t, 48)
		if w != nil {
			t.Errorf("step %d: %s", runs, w.Broken())
		}
		if runs < 100 {
			t.Errorf("only %d steps", runs)
		}
	}
}

// TestScopeMutants: what is done wrong is found.
func TestScopeMutants(t *testing.T) {
	years := calendarOf(t, calendar.Year, "", "")
	for _, tt := range []struct {
		name, law string
		mutant    scopeMutant
		years     *calendar.Calendar
	}{
		{"the parent is left out of the name", "gap-free", scopeNameless, nil},
		{"the period is left out of the name", "gap-free", scopeNameless, &years},
		{"the row is looked for before it is locked", "unique", scopeUnlocked, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { scopeTrial(tt.mutant, tt.years).Find(t, tt.law, 2000) })
	}
}
