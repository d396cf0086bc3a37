package faults_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// latePatience is how long a step waits for a server whose answers are late.
const latePatience = 500 * time.Millisecond

// TestFaultLate: what the server says comes late, now and then after the context
// has ended that it was asked under.
func TestFaultLate(t *testing.T) {
	t.Parallel()
	late := func() time.Duration {
		if rand.IntN(30) > 0 {
			return 0
		}
		return rand.N(2 * latePatience)
	}
	eachFaultKindByTurns(t, 0, faultEngines[:2], func(t *testing.T, e harness.Engine, k faultKind) {
		w := k.often().swarm(t, e).leisurely()
		p := newLate(t, e.Server.Addr(), late)
		w.job.DSN = strings.Replace(w.job.DSN, e.Server.Addr(), p.addr(), 1)
		w.job.Patience = latePatience
		w.tolerable = either(isPatience, aboutConnections)
		all := w.mustStart(4)
		w.await(all, "error", func(e entry) bool { return e.what == failed && isPatience(e.text) })
		w.awaitCommit(all)
		p.heal()
		w.awaitCommit(all)
		w.stop(all)
		f := w.check()
		wantAtLeast(t, "errors", f.errors, 4)
	})
}
