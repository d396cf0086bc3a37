package faults_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// backSource is a sequence whose store will go back.
func backSource(remedy keysource.Remedy) policy.Source {
	return policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 10, OnStoreRollback: remedy}
}

// TestFaultStoreBack: the row of the state is put back below what a process has
// had of it. It goes on with what it holds; then it fails until the row has
// been set right, or moves it.
func TestFaultStoreBack(t *testing.T) {
	t.Parallel()
	for _, remedy := range []keysource.Remedy{keysource.RemedyError, keysource.RemedyAdvance} {
		t.Run(string(remedy), func(t *testing.T) {
			harness.Each(t, faultEngines, func(t *testing.T, s *harness.Scratch) {
				for _, query := range bulkTable {
					harness.Exec(t, s.Raw, query)
				}
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: new(backSource(remedy))}))
				in := newInserter(s.Engine, db, 1)
				in.many(t, 25)
				harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 11")
				if remedy == keysource.RemedyError {
					untilSetRight(t, s, in)
				}
				in.many(t, 30)
				wantDistinct(t, s, in.form, in.stored)
			})
		})
	}
}

// untilSetRight inserts until the store is found to have gone back, sets that
// right and waits until it is found to be.
func untilSetRight(t *testing.T, s *harness.Scratch, in *inserter) {
	t.Helper()
	before := in.stored
	var err error
	for err == nil && in.stored < before+30 {
		err = in.insert(jobPatience)
	}
	if held := in.stored - before; !errors.Is(err, keysource.ErrStoreBack) || held > 20 {
		t.Errorf("after %d more keys: %v, want ErrStoreBack after 20 at most", held, err)
	}
	if got := s.Next(t, "t.id"); got != 11 {
		t.Errorf("the row stands at %d, want what it was set to", got)
	}
	harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 101")
	began := time.Now()
	for err != nil && time.Since(began) < jobPatience {
		err = in.insert(jobPatience)
	}
	t.Logf("%v after the row was set right: %v", time.Since(began).Round(time.Millisecond), err)
}

// TestFaultStoreBackError: the row is put back below what each of several
// processes has had. None of them issues a key until it is set right, nor does
// one that is started then.
func TestFaultStoreBackError(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, faultEngines[:2]) {
		t.Run(e.Name, func(t *testing.T) {
			w := newSwarm(t, e, faultTable)
			w.use(backSource(keysource.RemedyError))
			w.tolerable = anyOf(textOf(keysource.ErrStoreBack), textOf(keysource.ErrStoreBehind))
			all := w.mustStart(4)
			old, most := w.putBack(all)
			w.awaitError(all, textOf(keysource.ErrStoreBack))
			late := w.mustStart(1)
			w.awaitError(late, textOf(keysource.ErrStoreBehind))
			w.awaitError(all, textOf(keysource.ErrStoreBack))
			// Statements that have their keys already may come later.
			if key := int64(harness.Count(t, w.raw, "SELECT MAX(id) FROM t")); key >= most {
				t.Errorf("the key %d was issued meanwhile: those below %d were reserved before", key, most)
			}
			if got := w.next(); got != old {
				t.Errorf("the row stands at %d, and was put back to %d", got, old)
			}
			harness.Exec(t, w.raw, fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d", old+1_000_000))
			began := time.Now()
			all = append(all, late...)
			w.awaitKeys(all, old+1_000_000)
			t.Logf("all insert %v after the row was set right", time.Since(began).Round(time.Millisecond))
			w.stop(all)
			w.check()
		})
	}
}

// TestFaultStoreBackAdvance: as before, but processes move the row. What others
// still hold of the lost part cannot be known; the unique index is the last
// guard, and an error of it makes a process give up what it holds.
func TestFaultStoreBackAdvance(t *testing.T) {
	t.Parallel()
	unique := []string{faultTable[0], "CREATE UNIQUE INDEX t_id ON t (id)"}
	for _, e := range harness.ByTurns(t, faultEngines[:2]) {
		t.Run(e.Name, func(t *testing.T) {
			w := newSwarm(t, e, unique)
			source := backSource(keysource.RemedyAdvance)
			source.OnBehind = keysource.RemedyAdvance
			w.use(source)
			w.drawnOnce = false
			w.tolerable = anyOf(
				"Duplicate entry", "duplicate key value violates unique constraint \"t_id\"",
				// Of two that wait for each other's row of one key.
				"Deadlock found", "deadlock detected",
			)
			all := w.mustStart(4)
			for range 3 {
				w.putBack(all)
				w.awaitKeys(all, int64(harness.Count(t, w.raw, "SELECT MAX(id) FROM t")))
			}
			w.stop(all)
			f := w.check()
			t.Logf("%d statements met a key that was in use", f.errors)
		})
	}
}

// TestFaultMarkBack: the marks of snowflakes are put back, again and again,
// while two processes have one worker's number. Each finds out from the next
// answer, and leaves out what the other one may have reserved.
func TestFaultMarkBack(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, faultEngines[:2]) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			w := newSwarm(t, e, faultTable)
			source := faultSnowflake
			source.Worker = new(7)
			w.use(source)
			w.job.Pause = leisure
			all := w.mustStart(2)
			w.awaitKeys(all, 0)
			for range 3 {
				harness.Exec(t, w.raw, "UPDATE keyfill_workers SET reserved_until = reserved_until - 5000")
				// It counts the changes of the owner: after two both have asked.
				epoch := func() int64 { return harness.IntegersOf(t, w.raw, "SELECT epoch FROM keyfill_workers")[0] }
				before := epoch()
				harness.Eventually(t, func() error {
					if now := epoch(); now < before+2 {
						return fmt.Errorf("the owner has changed %d times since the mark was put back, want 2", now-before)
					}
					return nil
				})
				w.awaitKeys(all, 0)
			}
			w.stop(all)
			w.check()
		})
	}
}

func (w *swarm) next() int64 {
	w.t.Helper()
	return harness.IntegersOf(w.t, w.raw, "SELECT next_value FROM keyfill_sequences")[0]
}

// putBack puts the row back to what it was when each of the processes had less
// than it now has, and returns that, and what it has been put back from.
func (w *swarm) putBack(all []*member) (old, most int64) {
	w.t.Helper()
	w.awaitKeys(all, 0)
	old = w.next()
	w.awaitKeys(all, old)
	err := harness.InTx(w.raw, func(tx *sql.Tx) error {
		if err := tx.QueryRow("SELECT next_value FROM keyfill_sequences FOR UPDATE").Scan(&most); err != nil {
			return err
		}
		_, err := tx.Exec(fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d", old))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return old, most
}
