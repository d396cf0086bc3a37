package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/policy"
)

// smallBlocks makes processes fetch often.
var smallBlocks = policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 5}

// TestFaultCut: connections, the application's and the store's, are reset in
// the middle of what is said on them: before a statement has come to the
// server, or before its answer has come back.
func TestFaultCut(t *testing.T) {
	for _, e := range faultEngines[:2] {
		for _, source := range []policy.Source{smallBlocks, faultSnowflake} {
			t.Run(e.name+"/"+source.Kind, func(t *testing.T) {
				t.Parallel()
				w := newSwarm(t, e, faultTable)
				w.use(source)
				p := newCutter(t, e.server.Addr())
				w.job.DSN = strings.Replace(w.job.DSN, e.server.Addr(), p.addr(), 1)
				w.tolerable = aboutConnections
				all := w.mustStart(4)
				until(2*time.Second, func() bool { return p.cuts.Load() >= 100 })
				p.heal()
				w.awaitKeys(all, 0)
				w.stop(all)
				f := w.check()
				t.Logf("%d of %d connections were cut", p.cuts.Load(), p.conns.Load())
				wantAtLeast(t, "cuts", int(p.cuts.Load()), 100)
				wantAtLeast(t, "errors", f.errors, 1)
			})
		}
	}
}

// fetches are how the fetches that wait for a lock are found and ended, and
// what locks the rows of the states.
var fetches = map[string]struct{ lock, find, end string }{
	"mysql": {
		"SELECT name FROM %s FOR UPDATE",
		"SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'UPDATE keyfill%'",
		"KILL %d",
	},
	"pgx": {
		"SELECT name FROM %s FOR UPDATE",
		"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE keyfill%'",
		"SELECT pg_terminate_backend(%d)",
	},
}

// TestFaultFetchEnded: the server ends the connections of the store in the
// middle of the UPDATE that reserves.
func TestFaultFetchEnded(t *testing.T) {
	for _, e := range faultEngines[:2] {
		for _, source := range []policy.Source{smallBlocks, faultSnowflake} {
			t.Run(e.name+"/"+source.Kind, func(t *testing.T) {
				t.Parallel()
				w := newSwarm(t, e, faultTable)
				w.use(source)
				w.tolerable = aboutConnections
				table := "keyfill_sequences"
				if source.Kind == policy.KindSnowflake {
					table = "keyfill_workers"
				}
				all := w.mustStart(4)
				w.awaitKeys(all, 0)
				ended := 0
				until(2*time.Second, func() bool {
					ended += w.endFetches(table)
					return ended >= 8
				})
				w.awaitKeys(all, 0)
				w.stop(all)
				w.check()
				t.Logf("%d fetches were ended", ended)
				wantAtLeast(t, "fetches ended", ended, 8)
			})
		}
	}
}

// endFetches locks the rows of the states, so that fetches wait, and ends
// those. It returns their number.
func (w *swarm) endFetches(table string) (ended int) {
	w.t.Helper()
	how := fetches[w.e.driver]
	tx, err := w.raw.Begin()
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(fmt.Sprintf(how.lock, table)); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	for _, id := range integersOf(w.t, w.raw, how.find) {
		if _, err := w.raw.Exec(fmt.Sprintf(how.end, id)); err == nil {
			ended++ // else it has gone
		}
	}
	return ended
}
