package apps_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// messages is a program like gotify: it stores messages, and shows the newest ones by
// ORDER BY id DESC.
type messages struct {
	t      *testing.T
	s      *harness.Scratch
	stored []string // newest first
	made   int
}

// store stores a message through a database: by the plain driver, or with keyfill.
func (m *messages) store(x harness.Execer, n int) {
	m.t.Helper()
	for range n {
		m.made++
		text := fmt.Sprintf("message %03d", m.made)
		harness.Must(m.t, x, "INSERT INTO t (message) VALUES ('"+text+"')")
		m.stored = slices.Insert(m.stored, 0, text)
	}
}

// page returns the first page of the list.
func (m *messages) page() []string {
	m.t.Helper()
	return harness.RowsOf(m.t, m.s.Raw, "SELECT message FROM t ORDER BY id DESC LIMIT 10")
}

// isNewestFirst reports whether the first page has the newest messages, newest first.
func (m *messages) isNewestFirst() bool {
	page := m.page()
	for i, text := range page {
		if !strings.Contains(text, m.stored[i]) {
			return false
		}
	}
	return len(page) == min(10, len(m.stored))
}

// newMessages returns the program on an empty database, with messages of before.
func newMessages(t *testing.T, e harness.Engine) (*messages, *deployment) {
	t.Helper()
	dsn := e.DSN(t)
	s := &harness.Scratch{Engine: e, Connector: harness.ConnectorOf(t, e.Driver, dsn), Raw: harness.Open(t, e.Driver, dsn)}
	harness.Exec(t, s.Raw, "CREATE TABLE t (id "+numberedColumn(e)+", message VARCHAR(40))")
	m := &messages{t: t, s: s}
	m.store(s.Raw, 12)
	harness.Exec(t, s.Raw, "DELETE FROM t WHERE message = 'message 012'") // the counter is above the greatest key
	m.stored = m.stored[1:]
	return m, &deployment{t: t, raw: s.Raw, ways: []way{{driver: e.Driver, dsn: dsn}}}
}

// TestPlanStopped: a program whose list is ordered by the key goes to keyfill by keyfill plan
// there --stopped as it is printed, and its list stays newest first. No number of a deleted
// row comes again.
func TestPlanStopped(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, checkEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			m, d := newMessages(t, e)
			// The program is stopped here, which is the first step.
			entries := d.execute(d.plan("there", "--stopped"))
			if len(entries) != 1 {
				t.Fatalf("the plan prints the policies %q, want one", entries)
			}
			for range 2 { // it is restarted in between
				db, _ := m.s.Open(t, parsed(t, "  "+entries[0]+"\n"))
				for range 3 {
					m.store(db, 7)
					if !m.isNewestFirst() {
						t.Fatalf("with %s the list is %q, want %q first", entries[0], m.page(), m.stored[:10])
					}
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if n := harness.Count(t, m.s.Raw, "SELECT COUNT(*) FROM t WHERE id = 12"); n != 0 {
				t.Error("the number of the deleted message came again")
			}
		})
	}
}

// TestPlanThereTurnsLists: on the way there while old processes insert, their rows stand
// above keyfill's, and a list by the key does not show keyfill's first. The plan says so
// before anything else, and names the other way.
func TestPlanThereTurnsLists(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, checkEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			m, d := newMessages(t, e)
			steps := d.plan("there")
			for _, want := range []string{"ORDER BY id DESC", "keyfill plan there --stopped"} {
				if !strings.Contains(steps[0].Title, want) || len(steps[0].SQL) > 0 {
					t.Errorf("the first step does not say %q: %+v", want, steps[0])
				}
			}
			db, _ := m.s.Open(t, parsed(t, "  "+d.execute(steps)[0]+"\n"))
			m.store(m.s.Raw, 10) // by an old process
			m.store(db, 10)
			if m.isNewestFirst() {
				t.Error("the list is newest first: the plan need not say that it is not")
			}
			if native := strings.Contains(steps[0].Title, "source: native"); native != e.IsPostgres() {
				t.Errorf("the first step names native: %v", native)
			}
			if !e.IsPostgres() {
				return
			}
			m, _ = newMessages(t, e)
			db, _ = m.s.Open(t, parsed(t, "  t: {column: id, source: native}\n"))
			for range 3 { // old processes and new ones in turn
				m.store(m.s.Raw, 4)
				m.store(db, 4)
				if !m.isNewestFirst() {
					t.Fatalf("with native the list is %q, want %q first", m.page(), m.stored[:10])
				}
			}
		})
	}
}
