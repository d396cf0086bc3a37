package stores_test

import (
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
)

// TestMovedClock: a server shows the time that a test has given it, forward and back, while
// it runs and after it was killed.
func TestMovedClock(t *testing.T) {
	for _, c := range []struct {
		driver string
		engine *testdb.Engine
		now    string // seconds since 1970
	}{
		{"mysql", testdb.MariaDB(), "SELECT UNIX_TIMESTAMP()"},
		{"pgx", testdb.PostgreSQL(), "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT)"},
	} {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			s := testdb.Start(t, c.engine.Moved())
			db := harness.Open(t, c.driver, s.DSN(""))
			shows := func(by time.Duration) {
				t.Helper()
				harness.Eventually(t, func() error {
					got := time.Unix(harness.CountInt(t, db, c.now), 0)
					if off := time.Until(got) - by; off.Abs() > time.Minute {
						return errClock(off)
					}
					return nil
				})
			}
			for _, by := range []time.Duration{0, 3 * time.Hour, -2 * time.Hour} {
				s.MoveClock(t, by)
				shows(by)
			}
			s.Kill(t)
			s.Restart(t)
			db.SetMaxIdleConns(0) // those to the server that was killed
			shows(-2 * time.Hour)
		})
	}
}

// errClock is by how much a clock is not where it should be.
type errClock time.Duration

func (e errClock) Error() string { return "the clock is away by " + time.Duration(e).String() }
