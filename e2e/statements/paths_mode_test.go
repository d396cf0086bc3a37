package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestModesUnderLoad switches the mode while 32 goroutines insert. No INSERT is
// lost, and one that ran wholly under one mode is filled or not as that mode
// says. A statement that was prepared before keeps the mode of then.
func TestModesUnderLoad(t *testing.T) {
	t.Parallel()
	// In phase i, modes[i] holds.
	modes := []policy.Mode{policy.ModeFill, policy.ModeDryRun, policy.ModeFill, policy.ModeOff, policy.ModeFill, policy.ModeOff}
	for _, e := range harness.ByTurns(t, harness.LoadEngines) {
		if e.Memory {
			continue // its one connection cannot be held for a statement
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) UNIQUE, who VARCHAR(40) NOT NULL)")
			db, m := s.Open(t, harness.FillID("people", policy.Table{}))
			db.SetMaxOpenConns(8)
			l := newModeLoad(s.Placeholders("INSERT INTO people (who) VALUES (?)"))

			// A statement of one connection is prepared once.
			conn, err := db.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			prepared, err := conn.PrepareContext(context.Background(), l.query)
			if err != nil {
				t.Fatal(err)
			}
			defer prepared.Close()

			var wg sync.WaitGroup
			for g := range loadGoroutines {
				wg.Go(func() {
					insert := func(who string) (sql.Result, error) { return db.Exec(l.query, who) }
					name := fmt.Sprint("direct ", g)
					if g == 0 {
						insert = func(who string) (sql.Result, error) { return prepared.Exec(who) }
						name = "prepared"
					}
					for i := 0; l.runs(); i++ {
						l.insert(t, fmt.Sprint(name, " ", i), insert)
					}
				})
			}
			for i, mode := range modes {
				l.phase.Store(changing)
				m.SetMode(mode)
				l.phase.Store(int64(i))
				l.waitFor(int64(i), 2*loadGoroutines)
			}
			l.stop()
			wg.Wait()
			l.check(t, s.Raw, modes)
		})
	}
}

// changing is the phase while the mode is set, and the phase of INSERTs during which the
// phase changed.
const changing = -1

// modeLoad is the load of TestModesUnderLoad.
type modeLoad struct {
	query string
	phase atomic.Int64

	mu      sync.Mutex
	changed *sync.Cond       // signals changes of the fields below
	stored  map[string]int64 // the phase in which each key was inserted
	count   map[int64]int    // by phase
	stopped bool
}

func newModeLoad(query string) *modeLoad {
	l := &modeLoad{query: query, stored: map[string]int64{}, count: map[int64]int{}}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// insert inserts one row. An error ends the load.
func (l *modeLoad) insert(t *testing.T, who string, insert func(who string) (sql.Result, error)) {
	phase := l.phase.Load()
	_, err := insert(who)
	if l.phase.Load() != phase {
		phase = changing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
	if err != nil {
		t.Error(err)
		l.stopped = true
		return
	}
	l.stored[who] = phase
	l.count[phase]++
}

func (l *modeLoad) runs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.stopped
}

func (l *modeLoad) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// waitFor returns when n rows were inserted in a phase, or the load has ended.
func (l *modeLoad) waitFor(phase int64, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.count[phase] < n && !l.stopped {
		l.changed.Wait()
	}
}

// check compares the rows in the table with the INSERTs.
func (l *modeLoad) check(t *testing.T, raw *sql.DB, modes []policy.Mode) {
	rows, err := raw.Query("SELECT who, id FROM people")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var (
			who string
			id  sql.NullString
		)
		if err := rows.Scan(&who, &id); err != nil {
			t.Fatal(err)
		}
		phase, ok := l.stored[who]
		delete(l.stored, who)
		switch {
		case !ok:
			t.Errorf("%s is stored twice or by an INSERT that failed", who)
		case strings.HasPrefix(who, "prepared"):
			if !id.Valid {
				t.Errorf("%s is not filled: the statement was prepared under mode fill", who)
			}
		case phase != changing && id.Valid != (modes[phase] == policy.ModeFill):
			t.Errorf("%s: filled is %v in mode %v", who, id.Valid, modes[phase])
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(l.stored) > 0 {
		t.Errorf("%d INSERTs are lost", len(l.stored))
	}
}

// reads matches the statements of a check, which change no row.
var reads = regexp.MustCompile(`^(SELECT|SHOW|SET|WITH) `)

// TestModesSendTheOriginal: dry_run and off send the text as it came and draw no
// key; dry_run counts what it would have done, and sends nothing else but what the check
// in the background reads.
func TestModesSendTheOriginal(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.LoadEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36), name TEXT)")
		rand := new(harness.Entropy)
		for _, mode := range []policy.Mode{policy.ModeDryRun, policy.ModeOff} {
			spy := new(harness.Spy)
			c := harness.AsDriver{Connector: harness.WrapSqlmw(t, s.Connector, spy), As: s.Connector.Driver()}
			cfg := harness.FillID("people", policy.Table{})
			cfg.Mode, cfg.Dialect = mode, s.Dialect.Name
			db, m := harness.OpenConnector(t, c, keyfill.Options{Policy: cfg, Rand: rand})
			query := s.Placeholders("INSERT INTO people (name) VALUES (?)")
			refused := "INSERT INTO people (name) SELECT name FROM people"
			spy.Take()
			harness.Exec(t, db, query, "a")
			if _, err := harness.PreparedExec(db, query, "a"); err != nil {
				t.Error(err)
			}
			harness.Exec(t, db, refused)
			for _, seen := range spy.Take() {
				if seen != query && seen != refused && !(mode == policy.ModeDryRun && reads.MatchString(seen)) {
					t.Errorf("%v: %q was sent", mode, seen)
				}
			}
			if stats := m.Stats().Tables["people"]; stats.Keys != 0 || mode == policy.ModeDryRun && stats.Filled == 0 {
				t.Errorf("%v: counted %+v", mode, stats)
			}
		}
		if n := rand.Bytes.Load(); n != 0 {
			t.Errorf("%d random bytes were read", n)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE id IS NOT NULL"); n != 0 {
			t.Errorf("%d rows are filled", n)
		}
	})
}
