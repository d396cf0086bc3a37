package faults_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

const (
	rowsProcesses  = 8
	rowsHands      = 2 // connections of each
	rowsStatements = 1000
)

// TestFaultRows: 8 processes fill one table with many rows, in statements of a
// thousand: two on each connection, or as many rows as KEYFILL_SOAK_ROWS says.
func TestFaultRows(t *testing.T) {
	t.Parallel()
	const each = rowsProcesses * rowsHands * rowsStatements
	rows := soak(t, 2*each, "KEYFILL_SOAK_ROWS", strconv.Atoi)
	for _, e := range harness.ByTurns(t, faultEngines) {
		for _, source := range []policy.Source{faultSequence, faultSnowflake} {
			t.Run(e.Name+"/"+source.Kind, func(t *testing.T) {
				if !harness.Soaking() {
					t.Parallel()
				}
				w := newSwarm(t, e, bulkTable)
				w.use(source)
				w.job.Hands, w.job.Rows = rowsHands, rowsStatements
				w.job.Statements = (rows + each - 1) / each
				began := time.Now()
				for _, p := range w.mustStart(rowsProcesses) {
					if err := p.wait(); err != nil {
						t.Errorf("process: %v: %s", err, &p.stderr)
					}
				}
				inserted := time.Since(began)
				f := w.check()
				if want := w.job.Statements * each; f.rows != want || f.committed != want/rowsStatements {
					t.Errorf("%d rows of %d statements that were told of, want %d of %d", f.rows, f.committed, want, want/rowsStatements)
				}
				t.Logf("inserted in %v, checked in %v", inserted.Round(time.Millisecond), (time.Since(began) - inserted).Round(time.Millisecond))
			})
		}
	}
}
