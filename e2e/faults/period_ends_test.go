package faults_test

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// dayKind are numbers that begin again each day by the clock, without a gap.
func dayKind() faultKind {
	source := *harness.JoinedSource()
	source.Format, source.Period = "{year}-{month:02}-{day:02}/{n:06}", policy.Period{Every: policy.PeriodDay}
	return faultKind{name: "day", source: source, form: form{Listed: true, Column: "VARCHAR(30)"}, joined: true}
}

// movedServers are servers with a clock that a test moves.
type movedServers struct {
	engine    harness.Engine
	isCluster bool
	move      func(t *testing.T, by time.Duration)

	// vary changes the job of the process in a place; may be nil.
	vary func(w *swarm, place int, j *job)
}

// moreConnections is how many connections a server takes, of the processes of two swarms.
const moreConnections = "400"

// startMoved starts servers of an engine whose clock can be moved.
func startMoved(t *testing.T, e harness.Engine) *movedServers {
	t.Helper()
	engine := testdb.MariaDB().With("--max-connections=" + moreConnections)
	switch e.Server {
	case harness.PostgreSQL:
		engine = testdb.PostgreSQL().With("-c", "max_connections="+moreConnections)
	case harness.PostgreSQL18:
		engine = testdb.PostgreSQL18().With("-c", "max_connections="+moreConnections)
	}
	e.Server = testdb.Start(t, engine.Moved())
	return &movedServers{engine: e, move: func(t *testing.T, by time.Duration) { e.Server.MoveClock(t, by) }}
}

// startMovedGalera starts three nodes with clocks that are never the same.
func startMovedGalera(t *testing.T) *movedServers {
	t.Helper()
	nodes := testdb.StartGalera(t, "mysql", 3, (*testdb.Engine).Moved, func(e *testdb.Engine) *testdb.Engine {
		return e.With("--max-connections=" + moreConnections)
	})
	e := harness.MySQLDefault
	e.Server = nodes[0]
	return &movedServers{
		engine: e, isCluster: true,
		move: func(t *testing.T, by time.Duration) {
			for i, node := range nodes {
				node.MoveClock(t, by+time.Duration(i)*time.Second)
			}
		},
		vary: func(w *swarm, place int, j *job) {
			name, _, _ := strings.Cut(j.DSN[strings.LastIndexByte(j.DSN, '/')+1:], "?")
			j.Engine, j.DSN = e.Name, nodes[place%3].DSN(name)
		},
	}
}

// processClock is the file with the time by which the clock of this process is ahead of the
// machine's, in nanoseconds; empty for a clock that is not moved. SQLite has no clock of its
// own.
var processClock string

// movedNow returns the time of the process's clock.
func movedNow() time.Time {
	text, err := os.ReadFile(processClock)
	var ahead int64
	if err == nil {
		ahead, err = strconv.ParseInt(string(text), 10, 64)
	}
	if err != nil {
		panic(err)
	}
	return time.Now().Add(time.Duration(ahead)).UTC()
}

// registerMovedNow gives SQLite the function moved_now, which returns the time of the
// process's clock.
func registerMovedNow() {
	sqlite.MustRegisterScalarFunction("moved_now", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		if processClock == "" {
			return nil, errors.New("the clock of this process is not moved")
		}
		return movedNow().Format("2006-01-02 15:04:05.000000"), nil
	})
}

// movedProcesses are processes on SQLite with a clock that a test moves.
func movedProcesses(t *testing.T) *movedServers {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clock")
	move := func(t *testing.T, by time.Duration) {
		// The rename ensures that no process reads half of a file.
		err := os.WriteFile(file+".new", []byte(strconv.FormatInt(int64(by), 10)), 0o600)
		if err == nil {
			err = os.Rename(file+".new", file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	move(t, 0)
	return &movedServers{engine: harness.SQLiteFile, move: move, vary: func(_ *swarm, _ int, j *job) { j.Clock = file }}
}

// checkDraws lets MariaDB refuse a draw from the row of another day than the one of the
// statement that draws. On Galera it stands for the trigger of noteDraws: when a node ends a
// transaction for another node's while it reads a trigger, MariaDB 10.11.14 fails each later
// statement on the table with error 1064, "Query was empty".
func checkDraws(t *testing.T, w *swarm) {
	t.Helper()
	w.ensureSchema()
	harness.Exec(t, w.raw, "ALTER TABLE keyfill_sequences ADD CONSTRAINT of_today CHECK (name NOT LIKE 't.id[%' OR next_value = 1"+
		" OR SUBSTR(name, 6, 10) = CAST(CAST(updated_at AS DATE) AS CHAR(10)))")
	for _, query := range tableWith(w.job.Form, "at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))") {
		harness.Exec(t, w.raw, query)
	}
}

// ensureSchema makes keyfill's tables.
func (w *swarm) ensureSchema() {
	w.t.Helper()
	pool := store.Pool(w.e.Dialect, harness.ConnectorOf(w.t, w.e.Driver, w.job.DSN))
	defer pool.Close()
	if err := schema.Of(store.New(w.e.Dialect, pool)).Ensure(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// noteDraws lets the server note its clock in each statement that draws numbers, and in each
// that inserts rows.
func noteDraws(t *testing.T, w *swarm) {
	t.Helper()
	w.ensureSchema()
	now, column := "UTC_TIMESTAMP(6)", "DATETIME(6)"
	switch w.e.Dialect.Family {
	case dialect.FamilyPostgreSQL:
		now, column = "statement_timestamp() AT TIME ZONE 'UTC'", "TIMESTAMP"
	case dialect.FamilySQLite:
		now, column = "moved_now()", "TEXT"
	}
	note := "INSERT INTO draws (name, next_value, at) VALUES (NEW.name, NEW.next_value, " + now + ")"
	// MariaDB also runs the trigger where ON DUPLICATE KEY UPDATE finds that the row of a day is
	// there already.
	trigger := "CREATE TRIGGER noted AFTER UPDATE ON keyfill_sequences FOR EACH ROW IF NEW.next_value <> OLD.next_value THEN " + note + "; END IF"
	switch w.e.Dialect.Family {
	case dialect.FamilyPostgreSQL:
		harness.Exec(t, w.raw, "CREATE FUNCTION noted () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "+note+"; RETURN NULL; END $$")
		trigger = "CREATE TRIGGER noted AFTER UPDATE ON keyfill_sequences FOR EACH ROW EXECUTE FUNCTION noted()"
	case dialect.FamilySQLite:
		trigger = "CREATE TRIGGER noted AFTER UPDATE ON keyfill_sequences BEGIN " + note + "; END"
	}
	// SQLite adds no column whose default is an expression.
	for _, query := range append(tableWith(w.job.Form, "at "+column+" NOT NULL DEFAULT ("+now+")"),
		"CREATE TABLE draws (name VARCHAR(190) NOT NULL, next_value BIGINT NOT NULL, at "+column+" NOT NULL)", trigger) {
		harness.Exec(t, w.raw, query)
	}
}

// tableWith returns the statements that make the table of a form again, with another column.
func tableWith(f form, column string) []string {
	all := f.table("t")
	all[0] = strings.Replace(all[0], "(id ", "("+column+", id ", 1)
	return append([]string{"DROP TABLE t"}, all...)
}

// drawNote is a number with the day on which its statement found the clock.
type drawNote struct {
	day    string // of the number
	number int64
	at     string // the day on the server's clock
}

// notedIn returns the rows of a query with three columns.
func (w *swarm) notedIn(query string) []drawNote {
	w.t.Helper()
	rows, err := w.raw.Query(query)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var all []drawNote
	for rows.Next() {
		var n drawNote
		if err := rows.Scan(&n.day, &n.number, &n.at); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, n)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// wrongDays returns what is wrong with the numbers of the days: a gap, a double, a number that
// was drawn when the clock showed another day, or a row that is older than its number. It
// returns the days, too. On SQLite keyfill reads the clock of the process before the statement,
// which then may find a later day. noted reports whether noteDraws was called.
func (w *swarm) wrongDays(noted bool) (days []string, wrong []string) {
	w.t.Helper()
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	date := "SUBSTR(CAST(at AS CHAR(26)), 1, 10)"
	stored := w.notedIn("SELECT SUBSTR(id, 1, 10), CAST(SUBSTR(id, 12) AS DECIMAL(10)), " + date + " FROM t")
	byDay := map[string][]drawNote{}
	if noted {
		for _, d := range w.notedIn("SELECT SUBSTR(name, 6, 10), next_value, " + date + " FROM draws") {
			byDay[d.day] = append(byDay[d.day], d)
		}
	}
	for _, one := range byDay {
		slices.SortFunc(one, func(a, b drawNote) int { return cmp.Compare(a.number, b.number) })
	}
	numbers := map[string][]int64{}
	for _, s := range stored {
		numbers[s.day] = append(numbers[s.day], s.number)
		if s.at < s.day {
			say("the row of number %d of %s was stored on %s", s.number, s.day, s.at)
		}
		if !noted {
			continue
		}
		of := byDay[s.day]
		i, _ := slices.BinarySearchFunc(of, s.number+1, func(d drawNote, n int64) int { return cmp.Compare(d.number, n) })
		switch {
		case i == len(of):
			say("number %d of %s was drawn by no statement", s.number, s.day)
		case of[i].at < s.day, of[i].at > s.day && w.e.Server != nil:
			say("number %d of %s was drawn on %s", s.number, s.day, of[i].at)
		}
	}
	for day, all := range numbers {
		days = append(days, day)
		slices.Sort(all)
		if !slices.Equal(all, harness.UpTo(int64(len(all)))) {
			say("%d numbers of %s, %d of them twice or more, are up to %d", len(all), day, len(all)-len(slices.Compact(slices.Clone(all))), all[len(all)-1])
		}
	}
	slices.Sort(days)
	return days, wrong
}

// crossEnds waits until a row of today is stored, then moves the clock to a second before the
// end of each of the next days, and waits until a row of the day after it is stored. It reports
// an error to the test, and returns early if the context of the test ends.
func (m *movedServers) crossEnds(t *testing.T, w *swarm, ends int) {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for day := range ends + 1 {
		end := today.AddDate(0, 0, day)
		if day > 0 {
			m.move(t, time.Until(end.Add(-time.Second)))
		}
		for limit := w.end(); ; time.Sleep(20 * time.Millisecond) {
			var stored int
			err := w.raw.QueryRow("SELECT COUNT(*) FROM t WHERE id LIKE '" + end.Format(time.DateOnly) + "%'").Scan(&stored)
			if err == nil && stored > 0 {
				break
			}
			if err != nil && w.e.Server != nil || time.Now().After(limit) || t.Context().Err() != nil {
				t.Errorf("no row of %s was stored: %v", end.Format(time.DateOnly), err)
				return
			}
		}
	}
}

// isUndone is for transactions that the engine ends in favour of others.
var isUndone = either(isDeadlock, anyOf("40001", "could not serialize"))

// undone returns how many steps have ended so.
func (w *swarm) undone() (n int) {
	for _, e := range w.entries() {
		if e.what == failed && isUndone(e.text) {
			n++
		}
	}
	return n
}

// TestPeriodEnds: while the server's clock goes over the ends of days, processes insert, a
// third of the transactions are rolled back, and processes are killed. No number is missing,
// none is there twice, and none was drawn when the clock showed another day. No more
// transactions are undone by the engine than those of another swarm on the same server,
// without periods. The nodes of a cluster undo many of both, so there they are only counted.
func TestPeriodEnds(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			places, ends := testturn.Share(t, 8, 2), testturn.Share(t, 12, 2)
			if e.Server == nil {
				periodEnds(t, movedProcesses(t), places, ends)
				return
			}
			periodEnds(t, startMoved(t, e), places, ends)
		})
	}
	if !testturn.Enabled(t) {
		t.Run("galera", func(t *testing.T) {
			t.Parallel()
			periodEnds(t, startMovedGalera(t), 3, 3) // the nodes undo most transactions of more processes on one row
		})
	}
}

func periodEnds(t *testing.T, m *movedServers, places, ends int) {
	k := dayKind()
	w := k.swarm(t, m.engine).leisurely()
	mark := noteDraws
	if m.isCluster {
		mark = checkDraws
	}
	mark(t, w)
	swarms := []*swarm{w}
	if !testturn.Enabled(t) {
		plain := faultKind{name: "joined", source: *harness.JoinedSource(), form: form{Gapless: true}, joined: true}
		swarms = append(swarms, plain.swarm(t, m.engine).leisurely())
	}
	for _, s := range swarms {
		s.job.Hands = 2
		s.tolerable = isUndone
		if m.isCluster {
			s.tolerable = either(isUndone, anyOf("the transaction had ended before this INSERT"))
		}
		if vary := m.vary; vary != nil {
			s.vary = func(place int, j *job) { vary(s, place, j) }
		}
	}
	crossed := make(chan struct{})
	go func() {
		defer close(crossed)
		m.crossEnds(t, w, ends)
	}()
	var all sync.WaitGroup
	for _, s := range swarms {
		all.Go(func() {
			for isCrossed := false; !isCrossed && !t.Failed(); {
				select {
				case <-crossed:
					isCrossed = true
				default:
				}
				s.rage(places, 0, between(200*time.Millisecond, 800*time.Millisecond))
			}
		})
	}
	all.Wait()
	<-crossed
	for _, s := range swarms {
		s.check()
		wantAtLeast(t, "processes killed", s.kills, 2*places)
	}
	days, wrong := w.wrongDays(!m.isCluster)
	for _, one := range wrong[:min(len(wrong), 20)] {
		t.Error(one)
	}
	wantAtLeast(t, "days", len(days), ends+1)
	undone, plain := w.undone(), 0
	if len(swarms) > 1 {
		plain = swarms[1].undone()
	}
	t.Logf("%d days; %d transactions undone, %d without periods", len(days), undone, plain)
	if !m.isCluster && undone > plain {
		t.Errorf("%d transactions were undone by the engine, and %d without periods", undone, plain)
	}
}

// TestPeriodEndsLaws: each fault that TestPeriodEnds looks for is found.
func TestPeriodEndsLaws(t *testing.T) {
	t.Parallel()
	w := newSwarm(t, harness.MySQLDefault, dayKind().form.table("t"))
	w.job.Form = dayKind().form
	noteDraws(t, w)
	harness.Exec(t, w.raw, `INSERT INTO t (id, stmt, pos, at) VALUES
		('2026-12-01/000001', 1, 0, '2026-12-01 01:00:00'), ('2026-12-01/000003', 2, 0, '2026-12-01 01:00:00'),
		('2026-12-02/000001', 3, 0, '2026-12-01 23:59:59'), ('2026-12-02/000001', 4, 0, '2026-12-02 00:00:00'),
		('2026-12-03/000001', 5, 0, '2026-12-03 00:00:00'), ('2026-12-03/000002', 6, 0, '2026-12-03 00:00:00')`)
	harness.Exec(t, w.raw, `INSERT INTO draws (name, next_value, at) VALUES
		('t.id[2026-12-01]', 2, '2026-12-01 00:00:00'), ('t.id[2026-12-01]', 4, '2026-12-01 00:00:00'),
		('t.id[2026-12-02]', 2, '2026-12-02 00:00:00'), ('t.id[2026-12-03]', 2, '2026-12-02 23:59:59')`)
	days, wrong := w.wrongDays(true)
	for _, want := range []string{
		"2 numbers of 2026-12-01, 0 of them twice or more, are up to 3", "2 numbers of 2026-12-02, 1 of them twice or more, are up to 1",
		"number 1 of 2026-12-02 was stored on 2026-12-01", "number 2 of 2026-12-03 was drawn by no statement", "number 1 of 2026-12-03 was drawn on 2026-12-02",
	} {
		if !found(wrong, want) {
			t.Errorf("nothing says %q:%s", want, indent(wrong))
		}
	}
	if len(wrong) != 5 || len(days) != 3 {
		t.Errorf("%d days, %d breaches, want 3 and 5:%s", len(days), len(wrong), indent(wrong))
	}

	w = newSwarm(t, harness.MySQLDefault, dayKind().form.table("t"))
	w.job.Form = dayKind().form
	checkDraws(t, w)
	harness.Exec(t, w.raw, `INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
		VALUES ('t.id[2026-12-01]', 1, '', '', '', '', '2026-11-30 23:59:59')`)
	const draw = "UPDATE keyfill_sequences SET next_value = next_value + 1, updated_at = ?"
	if _, err := w.raw.Exec(draw, "2026-12-01 23:59:59.999999"); err != nil {
		t.Error(err)
	}
	if _, err := w.raw.Exec(draw, "2026-12-02 00:00:00"); err == nil || !strings.Contains(err.Error(), "of_today") {
		t.Errorf("a draw on the next day: %v", err)
	}
}
