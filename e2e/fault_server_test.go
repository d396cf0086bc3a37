package e2e_test

import (
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
)

// ownServer returns the engine with a server that belongs to the test alone.
func (e engine) ownServer(t *testing.T) engine {
	t.Helper()
	kind := testdb.PostgreSQL()
	if !e.isPostgres() {
		kind = testdb.MariaDB()
	}
	e.server = testdb.Start(t, kind)
	return e
}

// TestFaultServer: the server is killed and started again while processes
// insert. What has committed is there, and the keys go on above it.
func TestFaultServer(t *testing.T) {
	for _, e := range faultEngines[:2] {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			e := e.ownServer(t)
			for kinds := range slices.Chunk(faultKinds(e), 5) {
				t.Run(kinds[0].name+" and others", func(t *testing.T) { serverKilled(t, e, kinds) })
			}
		})
	}
}

// serverKilled kills the server of some kinds at once.
func serverKilled(t *testing.T, e engine, kinds []faultKind) {
	swarms, members := make([]*swarm, len(kinds)), make([][]*member, len(kinds))
	for i, k := range kinds {
		swarms[i] = k.often().swarm(t, e)
		swarms[i].tolerable = aboutConnections
		members[i] = swarms[i].mustStart(2)
	}
	for range 2 {
		for i, w := range swarms {
			w.awaitCommit(members[i])
		}
		time.Sleep(300 * time.Millisecond)
		e.server.Kill(t)
		time.Sleep(200 * time.Millisecond)
		e.server.Restart(t)
	}
	for i, w := range swarms {
		w.awaitCommit(members[i])
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
