package faults_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// upstreamBlock is how many integers a shard takes from the central store at a time, and
// upstreamRows how many statements of one row the tests insert where nothing is wrong.
const (
	upstreamBlock = 200
	upstreamRows  = 500
)

// lossPatience is how long an INSERT waits that finds no integer left while the central
// store is lost.
const lossPatience = 15 * time.Second

// centralOf returns a new database of another engine, through a gate, as the store of a
// policy, and its raw pool.
func centralOf(t *testing.T, e harness.Engine) (policy.Store, *gate, *harness.Scratch) {
	t.Helper()
	other := harness.MySQLDefault
	if e.Name == other.Name {
		other = harness.PgxDefault
	}
	dsn := other.DSN(t)
	g := newGate(t, other.Server.Addr())
	through := strings.Replace(dsn, other.Server.Addr(), g.addr(), 1)
	if through == dsn {
		t.Fatalf("the DSN does not name %s", other.Server.Addr())
	}
	return policy.Store{Driver: other.Driver, DSN: through}, g,
		&harness.Scratch{Engine: other, Raw: harness.Open(t, other.Driver, dsn)}
}

// upstreamSource is a sequence whose integers come from the store central.
func upstreamSource() policy.Source {
	return policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Upstream: "central", UpstreamBlock: upstreamBlock, Block: 10}
}

// shard is one of several databases whose keys come from one store.
type shard struct {
	*harness.Scratch
	*inserter
	mount  *keyfill.Mount
	policy *policy.Config
}

func newShard(t *testing.T, e harness.Engine, central policy.Store, source policy.Source) *shard {
	t.Helper()
	s := e.Scratch(t)
	for _, query := range bulkTable {
		harness.Exec(t, s.Raw, query)
	}
	cfg := harness.FillID("t", policy.Table{InPlace: &source})
	cfg.Stores = map[string]policy.Store{"central": central}
	db, mount := s.OpenWith(t, keyfill.Options{Policy: cfg})
	return &shard{s, newInserter(e, db, 1), mount, cfg}
}

// keysOfAll returns the keys of all shards, in order, and fails where one is there twice.
func keysOfAll(t *testing.T, shards ...*shard) []int64 {
	t.Helper()
	var all []int64
	for _, s := range shards {
		keys := harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE id IS NOT NULL")
		if len(keys) != s.stored {
			t.Errorf("%d keys in a shard, want %d", len(keys), s.stored)
		}
		all = append(all, keys...)
	}
	slices.Sort(all)
	for i, key := range all[1:] {
		if key == all[i] {
			t.Fatalf("the key %d is there twice", key)
		}
	}
	return all
}

// TestFaultUpstream: two shards have their keys from one store, which is lost. Both
// insert while their blocks last; then the error names the store; and when the store is
// back, they go on.
func TestFaultUpstream(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, faultEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			central, g, at := centralOf(t, e)
			shards := []*shard{newShard(t, e, central, upstreamSource()), newShard(t, e, central, upstreamSource())}
			for range upstreamRows {
				for _, s := range shards {
					s.many(t, 1)
				}
			}
			keysOfAll(t, shards...)
			for _, s := range shards {
				awaitSpare(t, s)
			}
			g.shut()
			awaitAlone(t, at) // a fetch that the gate has cut off may still commit
			had := at.Next(t, "t.id")
			var wg sync.WaitGroup
			for _, s := range shards {
				wg.Go(func() { untilUsedUp(t, s) })
			}
			wg.Wait()
			if now := at.Next(t, "t.id"); now != had {
				t.Errorf("the central store went from %d to %d while it was lost", had, now)
			}
			g.unshut()
			for _, s := range shards {
				harness.Eventually(t, func() error { return s.insert(jobPatience) })
				s.many(t, upstreamRows)
			}
			all := keysOfAll(t, shards...)
			// A shard has two blocks that are not used up at most.
			blocks := int64(at.Next(t, "t.id")-1) / upstreamBlock
			if most := int64(len(all))/upstreamBlock + 6*int64(len(shards)); blocks > most {
				t.Errorf("%d blocks were taken for %d keys, want %d at most", blocks, len(all), most)
			}
		})
	}
}

// awaitAlone waits until the server has ended all sessions of a database but our own.
func awaitAlone(t *testing.T, s *harness.Scratch) {
	t.Helper()
	s.Raw.SetMaxOpenConns(1)
	query := "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
	if s.IsPostgres() {
		query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
	}
	harness.Eventually(t, func() error {
		if n := harness.Count(t, s.Raw, query); n > 0 {
			return fmt.Errorf("%d sessions of the central store have not ended", n)
		}
		return nil
	})
}

// TestFaultUpstreamUndone: on SQLite the next block is stored by the transaction of an INSERT.
// Where that is rolled back, another one is fetched while the block in use lasts.
func TestFaultUpstreamUndone(t *testing.T) {
	t.Parallel()
	central, g, _ := centralOf(t, harness.SQLiteFile)
	s := newShard(t, harness.SQLiteFile, central, upstreamSource())
	stored := func() bool { return s.mount.Sources()[0].UpstreamLeft >= upstreamBlock }
	s.many(t, 1)
	g.shut()
	for stored() { // the block was fetched before the first INSERT had ended
		s.many(t, 1)
	}
	err := harness.InTx(s.db, func(tx *sql.Tx) error {
		g.unshut()
		began := time.Now()
		for i := int64(0); time.Since(began) < harness.Limit; i++ {
			if stored() {
				return errUndone
			}
			if _, err := tx.Exec(s.form.insertRows(s.engine, 1), s.form.rowArgs(-1-i, 1)...); err != nil {
				return err
			}
			time.Sleep(time.Millisecond) // for the fetch
		}
		return nil
	})
	if !errors.Is(err, errUndone) {
		t.Fatalf("the transaction has stored no block: %v", err)
	}
	fetched := s.mount.Sources()[0].UpstreamFetches
	s.many(t, upstreamBlock/4) // it looks at each eighth of a block
	awaitFetches(t, s, fetched+1)
	g.shut()
	untilUsedUp(t, s)
	keysOfAll(t, s)
}

// awaitFetches waits until a shard has fetched some blocks.
func awaitFetches(t *testing.T, s *shard, blocks uint64) {
	t.Helper()
	harness.Eventually(t, func() error {
		if n := s.mount.Sources()[0].UpstreamFetches; n < blocks {
			return fmt.Errorf("%d blocks were fetched, want %d", n, blocks)
		}
		return nil
	})
}

var errUndone = errors.New("it is rolled back")

// awaitSpare waits until a shard has a whole block besides the one in use.
func awaitSpare(t *testing.T, s *shard) {
	t.Helper()
	harness.Eventually(t, func() error {
		for _, st := range s.mount.Sources() {
			if st.UpstreamLeft >= upstreamBlock {
				return nil
			}
		}
		// On SQLite the next INSERT after the fetch stores the block.
		if err := s.insert(jobPatience); err != nil {
			return err
		}
		return errors.New("the shard has no block besides the one in use")
	})
}

// untilUsedUp inserts until there is an error, which has to come when a whole block was
// used, and to say what is lost. There may be three blocks: the one in use, the next one,
// and one that was fetched while another goroutine stored that.
func untilUsedUp(t *testing.T, s *shard) {
	t.Helper()
	before := s.stored
	var err error
	for err == nil && s.stored < before+4*upstreamBlock {
		err = s.insert(lossPatience)
	}
	if n := s.stored - before; n < upstreamBlock || n > 3*upstreamBlock+20 {
		t.Errorf("%d rows were inserted without the store, want %d to %d", n, upstreamBlock, 3*upstreamBlock)
	}
	if !errors.Is(err, keysource.ErrStoreDown) || !strings.Contains(fmt.Sprint(err), `store "central"`) {
		t.Errorf("then: %v, want %v, and the name of the store", err, keysource.ErrStoreDown)
	}
	for _, st := range s.mount.Sources() {
		if st.Upstream != "central" || st.UpstreamLeft != 0 || st.UpstreamError == "" || st.UpstreamFetches == 0 {
			t.Errorf("statistics: %+v", st)
		}
	}
}

// TestFaultUpstreamLasts: the central store is lost for two seconds, with make soak for
// thirty, and the blocks are to last for longer. Every INSERT succeeds, and the size of the
// blocks has followed the use.
func TestFaultUpstreamLasts(t *testing.T) {
	t.Parallel()
	lost, engines := 2*time.Second, faultEngines[2:]
	if harness.Soaking() {
		lost, engines = 30*time.Second, faultEngines
	}
	for _, e := range harness.ByTurns(t, engines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			central, g, _ := centralOf(t, e)
			source := upstreamSource()
			source.UpstreamBlock, source.UpstreamLasts = 0, 3*lost
			s := newShard(t, e, central, source)
			const pace = 4 * time.Millisecond
			enough := int64(lost / pace * 3 / 2)
			insert := func() {
				s.many(t, 1)
				time.Sleep(pace)
			}
			for s.mount.Sources()[0].UpstreamLeft < enough || s.stored < 1000 {
				insert()
			}
			g.shut()
			before := s.stored
			for began := time.Now(); time.Since(began) < lost; {
				insert()
			}
			t.Logf("%d INSERTs in %v without the store, and %d integers are left", s.stored-before, lost, s.mount.Sources()[0].UpstreamLeft)
			g.unshut()
			for s.mount.Sources()[0].UpstreamLeft < enough {
				insert()
			}
			keysOfAll(t, s)
		})
	}
}

// TestFaultUpstreamKill: the processes of two shards, which have their keys from one store,
// are killed again and again.
func TestFaultUpstreamKill(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, faultEngines) {
		t.Run(e.Name, func(t *testing.T) {
			central, _, _ := centralOf(t, e)
			var shards []*swarm
			for range 2 {
				w := newSwarm(t, e, faultTable).leisurely()
				source := upstreamSource()
				source.UpstreamBlock = 50
				w.use(source)
				w.job.Stores = map[string]policy.Store{"central": central}
				w.tolerable = isDeadlock
				shards = append(shards, w)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				shards[1].rage(2, raging(t, time.Second/2), between(100*time.Millisecond, 500*time.Millisecond))
			}()
			shards[0].rage(2, raging(t, time.Second/2), between(100*time.Millisecond, 500*time.Millisecond))
			<-done
			seen := map[int64]bool{}
			for _, w := range shards {
				w.check()
				for _, key := range harness.IntegersOf(t, w.raw, "SELECT id FROM t WHERE id IS NOT NULL") {
					if seen[key] {
						t.Fatalf("the key %d is in both shards", key)
					}
					seen[key] = true
				}
			}
		})
	}
}
