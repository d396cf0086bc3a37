package faults_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// smallBlocks makes processes fetch often.
var smallBlocks = policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 5}

// TestFaultCut: connections, the application's and the store's, are reset in
// the middle of what is said on them: before a statement has come to the
// server, or before its answer has come back; twenty at least, and fifty with make soak.
func TestFaultCut(t *testing.T) {
	t.Parallel()
	cuts, lasts := int64(20), 300*time.Millisecond
	if harness.Soaking() {
		cuts, lasts = 50, time.Second
	}
	eachFaultKindByTurns(t, 0, faultEngines[:2], func(t *testing.T, e harness.Engine, k faultKind) {
		w := k.often().swarm(t, e).leisurely()
		p := newCutter(t, e.Server.Addr())
		w.job.DSN = strings.Replace(w.job.DSN, e.Server.Addr(), p.addr(), 1)
		w.tolerable = aboutConnections
		all := w.mustStart(4)
		until(lasts, func() bool { return p.cuts.Load() >= cuts })
		p.heal()
		w.awaitCommit(all)
		w.stop(all)
		f := w.check()
		t.Logf("%d of %d connections were cut", p.cuts.Load(), p.conns.Load())
		wantAtLeast(t, "cuts", int(p.cuts.Load()), int(cuts))
		wantAtLeast(t, "errors", f.errors, 1)
	})
}

// locks are how rows are locked so that others wait, and how sessions that wait
// are found and ended.
var locks = map[string]struct{ lock, find, end string }{
	"mysql": {
		"SELECT * FROM %s FOR UPDATE",
		"SELECT p.id FROM information_schema.processlist p JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id WHERE p.db = DATABASE() AND x.trx_state = 'LOCK WAIT'",
		"KILL %d",
	},
	"pgx": {
		"LOCK TABLE %s IN EXCLUSIVE MODE",
		"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
		"SELECT pg_terminate_backend(%d)",
	},
}

// hold locks the rows of a table, on SQLite the database, until what it returns
// is called.
func (w *swarm) hold(table string) (release func()) {
	w.t.Helper()
	ctx := context.Background()
	conn, err := w.raw.Conn(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	statements := []string{"BEGIN IMMEDIATE"}
	if w.e.Server != nil {
		statements = []string{"BEGIN", fmt.Sprintf(locks[w.e.Driver].lock, table)}
	}
	for _, query := range statements {
		if _, err := conn.ExecContext(ctx, query); err != nil {
			conn.Close()
			if w.hurt(err) {
				return w.hold(table)
			}
			w.t.Fatal(err)
		}
	}
	return func() {
		w.t.Helper()
		if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
			w.t.Fatal(err)
		}
		conn.Close()
	}
}

// hurt reports whether the process that holds locks has waited in vain.
func (w *swarm) hurt(err error) bool {
	text := err.Error()
	return isDeadlock(text) || isLock(text)
}

// TestFaultFetchEnded: the server ends sessions in the middle of the statement
// that reserves, or of one that waits for it.
func TestFaultFetchEnded(t *testing.T) {
	t.Parallel()
	enough := testturn.Share(t, 8, 4)
	eachFaultKindByTurns(t, 1, faultEngines[:2], func(t *testing.T, e harness.Engine, k faultKind) {
		w := k.often().swarm(t, e).leisurely()
		w.tolerable = aboutConnections
		all := w.mustStart(4)
		w.awaitCommit(all)
		ended := 0
		until(500*time.Millisecond, func() bool {
			ended += w.endWaiting(k.state)
			return ended >= enough
		})
		w.awaitCommit(all)
		w.stop(all)
		w.check()
		t.Logf("%d that waited were ended", ended)
		wantAtLeast(t, "ended", ended, enough)
	})
}

// endWaiting locks the rows of a table, and ends the sessions that wait then. It
// returns their number.
func (w *swarm) endWaiting(table string) (ended int) {
	w.t.Helper()
	release := w.hold(table)
	defer release()
	time.Sleep(100 * time.Millisecond)
	how := locks[w.e.Driver]
	for _, id := range harness.IntegersOf(w.t, w.raw, how.find) {
		if _, err := w.raw.Exec(fmt.Sprintf(how.end, id)); err == nil {
			ended++ // else it has gone
		}
	}
	return ended
}
