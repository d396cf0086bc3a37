package e2e_test

import (
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
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
			for _, source := range []policy.Source{faultSequence, faultSnowflake} {
				t.Run(source.Kind, func(t *testing.T) {
					w := newSwarm(t, e, faultTable)
					w.use(source)
					w.tolerable = aboutConnections
					all := w.mustStart(4)
					for range 3 {
						w.awaitKeys(all, 0)
						time.Sleep(300 * time.Millisecond)
						e.server.Kill(t)
						time.Sleep(200 * time.Millisecond)
						e.server.Restart(t)
					}
					w.awaitKeys(all, 0)
					w.stop(all)
					f := w.check()
					wantAtLeast(t, "errors", f.errors, 3)
				})
			}
		})
	}
}
