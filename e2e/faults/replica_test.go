package faults_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
)

// replicaLoad is how many rows each process stores in each table before the standby is cut
// off, then before the primary is killed, and after the promotion.
type replicaLoad struct{ before, lost, after int }

// replicaFew is the load of one turn, replicaMany the one of the table in docs/replicas.md.
var replicaFew, replicaMany = replicaLoad{4, 4, 8}, replicaLoad{60, 60, 60}

// awaitReplica waits until f succeeds, which may take long on a busy machine.
func awaitReplica(t *testing.T, f func() error) {
	t.Helper()
	for end := time.Now().Add(harness.Limit); ; time.Sleep(20 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// awaitRows waits until each writer has stored more rows than before by a number.
func awaitRows(t *testing.T, writers []*replicaWriter, more int) {
	t.Helper()
	marks := make([]int, len(writers))
	for i, r := range writers {
		marks[i], _ = r.state()
	}
	awaitReplica(t, func() error {
		for i, r := range writers {
			if n, told := r.state(); n < marks[i]+more {
				return fmt.Errorf("%s has stored %d rows, want %d: %w", r.kind.name, n, marks[i]+more, told)
			}
		}
		return nil
	})
}

// promoteUnderLoad kills the primary while processes insert, promotes its standby, and
// counts what became of the keys of each source.
func promoteUnderLoad(t *testing.T, w *replicaWorld, load replicaLoad) (all []replicaOutcome) {
	t.Helper()
	var wg sync.WaitGroup
	var writers []*replicaWriter
	stop := sync.OnceFunc(func() {
		for _, r := range writers {
			close(r.stop)
		}
		wg.Wait()
	})
	defer func() { stop() }()
	start := func() { writers = append(writers, w.process(t, &wg)...) }
	start()
	start()
	awaitRows(t, writers, load.before)
	if !w.mode.synchronous {
		w.standby.Cut(t)
	}
	start() // the standby has nothing of this process
	awaitRows(t, writers, load.lost)

	killed := time.Now()
	w.primary.Kill(t)
	for _, r := range writers {
		r.moves()
	}
	w.move(t)
	ran := len(writers)
	start() // after the promotion
	raw := w.raw(t, w.standby.Server)
	remedies := map[string]int{}
	awaitReplica(t, func() (waiting error) {
		for _, r := range writers {
			n, told := r.state()
			if n < r.moved+load.after {
				waiting = fmt.Errorf("%s has stored %d rows after the promotion, want %d: %w", r.kind.name, n-r.moved, load.after, told)
			}
			if told != nil {
				remedies[r.kind.name] += r.kind.remedy(t, raw, told)
			}
		}
		return waiting
	})
	stop()
	for i := range w.kinds {
		var of []*replicaWriter
		for at, r := range writers {
			if r.kind == &w.kinds[i] {
				if at >= ran {
					r.moved = -1
				}
				of = append(of, r)
			}
		}
		o := w.count(t, &w.kinds[i], of, killed)
		o.remedies = remedies[o.kind]
		all = append(all, o)
	}
	return all
}

// TestPromoted kills a primary under load and promotes its standby. After a synchronous one
// nothing is lost; after an asynchronous one that lacks the last writes, UUIDs and snowflakes
// are not given twice, and of other sources only those with blocks may store a key twice. Where KEYFILL_TEST_REPLICAS is
// set it tries all ways with all sources, with -update for the table in docs/replicas.md.
func TestPromoted(t *testing.T) {
	t.Parallel()
	modes, kinds, load := []replicaMode{testturn.One(t, replicaModes)}, testturn.Some(t, replicaKinds, 3), replicaFew
	if *harness.UpdateDocs || os.Getenv("KEYFILL_TEST_REPLICAS") != "" {
		modes, kinds, load = replicaModes, replicaKinds, replicaMany
	}
	var all []replicaOutcome
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			for _, o := range promoteUnderLoad(t, newReplicaWorld(t, mode, kinds), load) {
				t.Log(o.row(), o.errors)
				for _, wrong := range o.wrong() {
					t.Errorf("%s: %s", o.kind, wrong)
				}
				all = append(all, o)
			}
		})
	}
	if *harness.UpdateDocs && !t.Failed() {
		if err := writeReplicas(all); err != nil {
			t.Error(err)
		}
	}
}

// TestPromotedBlock: a process that runs on uses the rest of the block that it holds, which
// the promoted standby gives to another process. A unique index refuses the keys that both
// would store; without one they are stored twice. Nothing could tell: the promoted server
// has no row about a block whose reservation it lacks.
func TestPromotedBlock(t *testing.T) {
	t.Parallel()
	const block = 100
	kinds := []replicaKind{
		{name: "plain", source: harness.Counted(nil), column: "BIGINT"},
		{name: "guarded", source: harness.Counted(nil), column: "BIGINT", unique: true},
	}
	for i := range kinds {
		kinds[i].source.Block = block
	}
	w := newReplicaWorld(t, replicaModes[1], kinds)
	old := w.open(t)
	insert := func(r *replicaWriter, rows int) (failed error) {
		for range rows {
			awaitReplica(t, func() error {
				_, failed = r.one(true)
				if failed != nil && replicaClass(failed) == replicaNoServer {
					return failed
				}
				return nil
			})
			if failed != nil {
				return failed
			}
		}
		return nil
	}
	for _, r := range old {
		if err := insert(r, block/10); err != nil {
			t.Fatal(err)
		}
	}
	w.standby.CatchUp(t)
	w.standby.Cut(t)
	for _, r := range old {
		if err := insert(r, block); err != nil { // the standby does not have its second block
			t.Fatal(err)
		}
	}
	w.primary.Kill(t)
	w.move(t)
	for i, r := range w.open(t) {
		if err := insert(r, block/2); err != nil {
			t.Fatal(err)
		}
		err := insert(old[i], block/2)
		o := w.count(t, r.kind, nil, time.Time{})
		if r.kind.unique {
			if err == nil || replicaClass(err) != replicaIndex || o.twice != 0 {
				t.Errorf("%v, and %d keys are stored twice; want an error of the index", err, o.twice)
			}
			continue
		}
		if err != nil || o.twice == 0 {
			t.Errorf("%v, and %d keys are stored twice: if that is told now, say so in docs/replicas.md", err, o.twice)
		}
	}
}

// TestFailback: an old primary that was killed is taken back as a standby of the promoted
// one, without what only it had, and promoted again when it has everything. Processes go on
// at both moves, and no key is stored twice.
func TestFailback(t *testing.T) {
	t.Parallel()
	mode := testturn.One(t, replicaModes[1:])
	kinds := replicaKinds[:3]
	w := newReplicaWorld(t, mode, kinds)
	writers := w.open(t)
	insert := func(rows int) {
		t.Helper()
		for _, r := range writers {
			for range rows {
				awaitReplica(t, func() error {
					_, err := r.one(true)
					if err != nil && replicaClass(err) != replicaNoServer {
						t.Fatal(err)
					}
					return err
				})
			}
		}
	}
	insert(5)
	w.standby.CatchUp(t)
	w.primary.Kill(t)
	w.move(t)
	insert(30)
	back := w.standby.TakeBack(t)
	insert(5)
	back.CatchUp(t)
	w.standby.Kill(t)
	w.primary, w.standby = w.standby.Server, back
	w.move(t)
	insert(30)
	for i := range kinds {
		o := w.count(t, &kinds[i], nil, time.Time{})
		if n := harness.Count(t, w.raw(t, back.Server), "SELECT COUNT(*) FROM "+o.kind); n != 70 || o.twice != 0 {
			t.Errorf("%s: %d rows, %d keys twice; want 70 and 0", o.kind, n, o.twice)
		}
	}
}

// wrong returns what is not as docs/replicas.md says.
func (o *replicaOutcome) wrong() (all []error) {
	say := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	// A process may use the rest of a block that the promoted server does not know: see
	// TestPromotedBlock.
	if blocks := []string{"sequence", "native", "recycled"}; o.twice != 0 && (o.mode.synchronous || !slices.Contains(blocks, o.kind)) {
		say("%d keys are stored twice", o.twice)
	}
	switch {
	case o.mode.synchronous && (o.lost != 0 || o.again != 0 || o.errors[replicaTold] != 0):
		say("%d rows are lost, %d keys were given twice, %d errors tell of a loss; want none", o.lost, o.again, o.errors[replicaTold])
	case !o.mode.synchronous && o.lost == 0:
		say("no row was lost: the standby had everything")
	case o.again != 0 && (o.kind == "uuidv7" || o.kind == "snowflake"):
		say("%d keys were given twice", o.again)
	}
	for class := range o.errors {
		switch class {
		case replicaTold, replicaNoServer, replicaConflict, replicaIndex:
		default:
			all = append(all, errors.New(class))
		}
	}
	return all
}
