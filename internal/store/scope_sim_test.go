package store_test

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
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/store"
)

// simParents is how many parents the rows of the simulation have, and simFactor
// what a parent's number is multiplied with in a key: a key is both in one.
const (
	simParents = 3
	simFactor  = 1 << 40
)

// simScope is a numbering within parents in a process of the simulation: the code
// of this package over a file that is simulated.
type simScope struct {
	mutant scopeMutant

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
	conn := &simConn{ctx: ctx, session: c, mutant: s.mutant}
	if s.mutant == scopeUnlocked && !c.Open() {
		conn.look(slices.Compact(slices.Sorted(slices.Values(rows))))
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
			q := store.Scope{Name: "lines.no", Column: store.Column{Table: "lines", Name: "no"}, Within: []string{"parent"}, Max: simFactor - 1}
			first, err := at.Scoped(&q).Reserve(ctx, []any{parent}, int64(len(places)))
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

// simConn executes the statements of the package for SQLite on a session of the
// simulation.
type simConn struct {
	ctx     context.Context
	session *sim.Session
	mutant  scopeMutant
	seen    map[string]int64 // what was looked for too early
}

func (c *simConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }
func (c *simConn) Close() error                        { return nil }
func (c *simConn) Begin() (driver.Tx, error)           { return nil, errors.New("a transaction is open") }

// row returns the row of a name.
func (c *simConn) row(name string) string {
	if c.mutant == scopeNameless {
		name, _, _ = strings.Cut(name, "[")
	}
	return name
}

// look reads the rows of parents in a transaction of its own.
func (c *simConn) look(parents []int64) {
	c.seen = map[string]int64{}
	for _, parent := range parents {
		row := fmt.Sprintf("lines.no[%d]", parent)
		next, err := sim.Write(c.ctx, c.session, func(tx *sim.Tx) int64 { return tx.Get(row) })
		if err == nil {
			c.seen[row] = next
		}
	}
}

func (c *simConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	var do func(tx *sim.Tx)
	switch {
	case strings.HasSuffix(query, "WHERE 0"):
		do = func(*sim.Tx) {} // takes the lock
	case strings.HasPrefix(query, "INSERT INTO keyfill_sequences"):
		row, next := c.row(args[0].Value.(string)), args[1].Value.(int64)
		do = func(tx *sim.Tx) {
			if _, stale := c.seen[row]; stale {
				tx.Set(row, next)
				return
			}
			tx.Set(row, max(tx.Get(row), next))
		}
	case strings.HasPrefix(query, "UPDATE keyfill_sequences SET next_value = ?"):
		next, row := args[0].Value.(int64), c.row(args[1].Value.(string))
		do = func(tx *sim.Tx) { tx.Set(row, max(tx.Get(row), next)) }
	default:
		return nil, fmt.Errorf("an unknown statement: %s", query)
	}
	_, err := sim.Write(c.ctx, c.session, func(tx *sim.Tx) bool { do(tx); return true })
	return driver.RowsAffected(1), err
}

func (c *simConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	var read func(tx *sim.Tx) []driver.Value
	switch {
	case strings.HasPrefix(query, "UPDATE keyfill_sequences\nSET next_value = next_value + ?"):
		n, row, limit := args[0].Value.(int64), c.row(args[1].Value.(string)), args[3].Value.(int64)
		if next, stale := c.seen[row]; stale && next == 0 {
			delete(c.seen, row)
			return &simRows{}, c.make(row)
		}
		read = func(tx *sim.Tx) []driver.Value {
			next := tx.Get(row)
			if next == 0 || next > limit {
				return nil
			}
			tx.Set(row, next+n)
			return []driver.Value{next + n, "", ""}
		}
	case strings.HasPrefix(query, "SELECT next_value"):
		row := c.row(args[0].Value.(string))
		read = func(tx *sim.Tx) []driver.Value {
			if next := tx.Get(row); next > 0 {
				return []driver.Value{next, "", "", "", "", ""}
			}
			return nil
		}
	case strings.HasPrefix(query, "SELECT MAX"):
		parent := args[0].Value.(int64)
		read = func(tx *sim.Tx) []driver.Value {
			if most := tx.MaxKeyBelow((parent + 1) * simFactor); most > parent*simFactor {
				return []driver.Value{most - parent*simFactor}
			}
			return []driver.Value{nil}
		}
	default:
		return nil, fmt.Errorf("an unknown query: %s", query)
	}
	row, err := sim.Write(c.ctx, c.session, read)
	return &simRows{row}, err
}

// make sets a row that was not there when it was looked for.
func (c *simConn) make(row string) error {
	_, err := sim.Write(c.ctx, c.session, func(tx *sim.Tx) bool { tx.Set(row, 1); return true })
	return err
}

// simRows is one row or none.
type simRows struct{ row []driver.Value }

func (r *simRows) Columns() []string { return make([]string, max(len(r.row), 1)) }
func (r *simRows) Close() error      { return nil }

func (r *simRows) Next(dest []driver.Value) error {
	if r.row == nil {
		return io.EOF
	}
	copy(dest, r.row)
	r.row = nil
	return nil
}

// scopeTrial returns the trial of numberings within parents. Besides the laws of
// all sources, but for numbers whose transaction was rolled back:
//
//	gap-free  where nothing goes wrong, the numbers of each parent are 1, 2, 3 …
func scopeTrial(mutant scopeMutant) *sim.Trial {
	void := func(_ *sim.World, i sim.Issue) bool {
		return i.Transaction != nil && i.Transaction.Undone
	}
	return &sim.Trial{
		Faults: []sim.Fault{sim.Rollback, sim.Refuse, sim.Kill, sim.Pause, sim.ClockOff, sim.ClockStep, sim.Collide},
		Open: func(p *sim.Process) (sim.Source, error) {
			return &simScope{mutant: mutant, rand: p.Rand()}, nil
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
				return // what was drawn, and not told of any more, is a gap
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

func TestScopeSimulation(t *testing.T) { scopeTrial(scopeRight).Run(t) }

// TestScopeKilledAtEveryStep kills a process between any two things that it does.
func TestScopeKilledAtEveryStep(t *testing.T) {
	runs, w := scopeTrial(scopeRight).EveryStep(t, 12)
	if w != nil {
		t.Errorf("step %d: %s", runs, w.Broken())
	}
	if runs < 100 {
		t.Errorf("only %d steps", runs)
	}
}

// TestScopeMutants: what is done wrong is found.
func TestScopeMutants(t *testing.T) {
	for _, tt := range []struct {
		name, law string
		mutant    scopeMutant
	}{
		{"the parent is left out of the name", "gap-free", scopeNameless},
		{"the row is looked for before it is locked", "unique", scopeUnlocked},
	} {
		t.Run(tt.name, func(t *testing.T) { scopeTrial(tt.mutant).Find(t, tt.law, 2000) })
	}
}
