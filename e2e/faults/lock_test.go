package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestFaultLocks: transactions wait for each other, so that the server ends some of
// them; and for another program that has locked the state, until they have waited
// for too long.
func TestFaultLocks(t *testing.T) {
	t.Parallel()
	eachFaultKindByTurns(t, 0, faultEngines, func(t *testing.T, e harness.Engine, k faultKind) {
		w := k.often().swarm(t, e)
		w.tolerable = either(isDeadlock, isLock, isPatience)
		w.job.Patience = 3 * time.Second
		w.waitShortly()
		if e.Server != nil {
			w.job.Crosses = true
			for _, query := range crossTable {
				harness.Exec(t, w.raw, query)
			}
		}
		all := w.mustStart(4)
		w.awaitCommit(all)
		if w.job.Crosses {
			w.await(all[:1], "deadlock", func(e entry) bool { return e.what == failed && isDeadlock(e.text) })
		}
		release := w.hold(k.state)
		w.await(all, "error", func(e entry) bool { return e.what == failed && !isDeadlock(e.text) })
		release()
		w.awaitCommit(all)
		w.stop(all)
		w.check()
	})
}

// waitShortly makes the processes' sessions wait for locks for a short time only.
func (w *swarm) waitShortly() {
	w.t.Helper()
	switch {
	case w.e.IsPostgres():
		w.setting("lock_timeout = '200ms'")
	case w.e.Server == nil:
		w.job.DSN = strings.Replace(w.job.DSN, "busy_timeout(60000)", "busy_timeout(200)", 1)
	default:
		vary := w.vary
		w.vary = func(place int, j *job) {
			if vary != nil {
				vary(place, j)
			}
			separator := "?"
			if strings.Contains(j.DSN, "?") {
				separator = "&"
			}
			j.DSN += separator + "innodb_lock_wait_timeout=1"
		}
	}
}
