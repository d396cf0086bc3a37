package keys_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestLeasedNumbers: each database that is opened has a number of its own, the
// lowest that is free, until there are no more; one that is closed leaves its own.
func TestLeasedNumbers(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.KeyKind{Source: harness.Mapped(policy.KindSnowflake, func(s *policy.Source) {
			s.WorkerLease, s.TimeBits, s.WorkerBits, s.SequenceBits = time.Hour, 41, 1, 12
		})}.Config(s.Engine)
		insert := func(n int) string { return fmt.Sprintf("INSERT INTO t (a) VALUES (%d)", n) }
		// In the order of the INSERTs: the keys of a number that is new to a used state begin
		// three seconds ahead.
		numbers := func(want ...string) {
			t.Helper()
			if got := harness.KeysOf(t, s.Raw, t.Context(), "SELECT id >> 12 & 1 FROM t ORDER BY a"); !slices.Equal(got, want) {
				t.Errorf("the numbers of the keys are %v, want %v", got, want)
			}
		}
		one, _ := s.Open(t, cfg)
		two, _ := s.Open(t, cfg)
		three, _ := s.Open(t, cfg)
		harness.Exec(t, one, insert(1))
		harness.Exec(t, two, insert(2))
		late, _ := s.Open(t, cfg)
		if _, err := late.Exec(insert(9)); !errors.Is(err, keysource.ErrWorkerTaken) {
			t.Errorf("%v, want %v", err, keysource.ErrWorkerTaken)
		}
		if err := late.Close(); err != nil { // it is not to lease what one leaves
			t.Fatal(err)
		}
		numbers("0", "1")
		closeLeased(t, s, one)
		time.Sleep(1100 * time.Millisecond) // of a number that was taken a moment ago
		harness.Exec(t, three, insert(3))
		numbers("0", "1", "0")
		// What was killed leaves its number when the lease has run out.
		harness.Exec(t, s.Raw, "UPDATE keyfill_series SET owner = 'gone', epoch = epoch + 1, leased_until = '2001-01-01' WHERE series_first = 2")
		four, _ := s.Open(t, cfg)
		harness.Exec(t, four, insert(4))
		numbers("0", "1", "0", "1")
	})
}

// closeLeased closes a database, which gives the first series back, and reports whether it
// has. It waits for its store for two seconds and no longer: on a busy machine the lease may
// have to run out instead.
func closeLeased(t *testing.T, s *harness.Scratch, db *sql.DB) bool {
	t.Helper()
	began := time.Now()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_series WHERE series_first = 1 AND owner <> ''") == 0 {
		return true
	}
	if took < 2*time.Second {
		t.Error("Close has not given the lease back")
	}
	harness.Exec(t, s.Raw, "UPDATE keyfill_series SET leased_until = '2001-01-01' WHERE series_first = 1")
	return false
}

// TestLeasedClockAhead: a number that a process had whose clock was ahead is left to
// itself, and others are leased.
func TestLeasedClockAhead(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.KeyKind{Source: harness.Mapped(policy.KindSnowflake, func(s *policy.Source) { s.WorkerLease = 5 * time.Second })}.Config(s.Engine)
		ahead := func() time.Time { return time.Now().Add(time.Hour) }
		wrong, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Now: ahead})
		harness.Exec(t, wrong, "INSERT INTO t (a) VALUES (1)")
		if err := wrong.Close(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			db, _ := s.Open(t, cfg)
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 4 {
			t.Errorf("%d rows, want 4", n)
		}
	})
}

// TestLeasedLongName: the name of a state may have any length that is allowed.
func TestLeasedLongName(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		for _, length := range []int{182, 183, 190} {
			cfg := harness.KeyKind{Source: harness.Mapped(policy.KindSnowflake, func(s *policy.Source) {
				s.WorkerLease, s.Exclusive, s.Name = 30*time.Second, true, strings.Repeat("n", length)
			})}.Config(s.Engine)
			db, _ := s.Open(t, cfg)
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		}
	})
}
