package faults_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
)

// ownServer returns the engine with a server that belongs to the test alone.
func ownServer(t *testing.T, e harness.Engine) harness.Engine {
	t.Helper()
	kind := testdb.PostgreSQL()
	if !e.IsPostgres() {
		kind = testdb.MariaDB()
	}
	e.Server = testdb.Start(t, kind)
	return e
}

// TestFaultServer: the server is killed and started again while processes insert, once,
// and five times with make soak. What has committed is there, and the keys go on above it.
func TestFaultServer(t *testing.T) {
	t.Parallel()
	for place, e := range harness.ByTurns(t, faultEngines[:2]) {
		kinds := kindsByTurns(t, e, place, 6)
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			e := ownServer(t, e)
			for kinds := range slices.Chunk(kinds, 6) {
				t.Run(kinds[0].name+" and others", func(t *testing.T) { serverKilled(t, e, kinds) })
			}
		})
	}
}

// serverKilled kills the server of some kinds at once.
func serverKilled(t *testing.T, e harness.Engine, kinds []faultKind) {
	swarms, members := make([]*swarm, len(kinds)), make([][]*member, len(kinds))
	for i, k := range kinds {
		swarms[i] = k.often().swarm(t, e)
		swarms[i].tolerable, swarms[i].job.Pause = aboutConnections, leisure
		members[i] = swarms[i].mustStart(2)
	}
	kills := 1
	if harness.Soaking() {
		kills = 5
	}
	for range kills {
		for i, w := range swarms {
			w.awaitCommit(members[i])
		}
		time.Sleep(300 * time.Millisecond)
		e.Server.Kill(t)
		time.Sleep(200 * time.Millisecond)
		e.Server.Restart(t)
	}
	for i, w := range swarms {
		w.awaitCommit(members[i])
		w.raw.SetMaxIdleConns(0) // a connection to the killed server answers a look with an error
	}
	for i, w := range swarms {
		t.Run(kinds[i].name, func(t *testing.T) {
			w.t = t
			w.stop(members[i])
			f := w.check()
			wantAtLeast(t, "errors", f.errors, 2)
		})
	}
}

func TestServerDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range harness.DriverCases {
		t.Run(c.Driver, func(t *testing.T) {
			var name string
			t.Run("test", func(t *testing.T) {
				name = c.Server.Database(t, c.Driver)
				db := harness.Open(t, c.Driver, c.Server.DSN(name))
				harness.Exec(t, db, "CREATE TABLE kept (id INT PRIMARY KEY, name VARCHAR(20))")
				harness.Exec(t, db, "INSERT INTO kept VALUES (1, 'Dvořák 🎻')")
				if got := harness.Count(t, db, "SELECT COUNT(*) FROM kept WHERE name = 'Dvořák 🎻'"); got != 1 {
					t.Errorf("%d rows, want 1", got)
				}
			})
			if name == "" {
				harness.Skip(t, "the inner test was skipped")
			}
			admin := harness.Open(t, c.Driver, c.Server.DSN(""))
			if got := harness.Count(t, admin, c.Exists, name); got != 0 {
				t.Errorf("the database is left behind")
			}
			if got := harness.Count(t, admin, c.Unsynced); got != 1 {
				t.Errorf("the server syncs its files, so its settings are not those of testdb")
			}
		})
	}
}

// What was committed is there after kill -9, whatever the settings that make
// the server fast.
func TestServerKeepsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	for _, c := range harness.DriverCases {
		t.Run(c.Driver, func(t *testing.T) {
			t.Parallel()
			s := testdb.Start(t, c.Engine)
			db := harness.Open(t, c.Driver, s.DSN(s.Database(t, c.Driver)))
			harness.Exec(t, db, "CREATE TABLE kept (id INT PRIMARY KEY)")
			for id := range 100 {
				harness.Exec(t, db, fmt.Sprintf("INSERT INTO kept VALUES (%d)", id))
			}
			s.Kill(t)
			if err := db.Ping(); err == nil {
				t.Error("a killed server answers")
			}
			s.Restart(t)
			if got := harness.Count(t, db, "SELECT COUNT(*) FROM kept"); got != 100 {
				t.Errorf("%d rows, want 100", got)
			}
		})
	}
}
