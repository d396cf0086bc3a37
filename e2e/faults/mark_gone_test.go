package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// markSources are the snowflakes whose marks are lost.
var markSources = []struct {
	name string
	set  func(s *policy.Source)
}{
	{"given", func(s *policy.Source) { s.Worker = new(7) }},
	{"leased", func(s *policy.Source) { s.WorkerLease = time.Minute }},
}

// markStores are the stores in which they have them.
var markStores = []string{"PostgreSQL", "MariaDB", "etcd", "Redis"}

// TestMarkGone: the rows of a snowflake are deleted under a process, and a process that starts
// then has the same worker's number at the same time. The claim of the column is left, so the
// new process leaves out the time that the other one may have reserved.
func TestMarkGone(t *testing.T) {
	t.Parallel()
	eachMark(t, func(t *testing.T, p *lossPlace, cfg *policy.Config) {
		open := func() *keyfill.Mount {
			_, m := p.main.Open(t, cfg)
			return m
		}
		var ranges [][2]int64
		draw := func(m *keyfill.Mount, times int) {
			t.Helper()
			const n = 4000 // nearly all of a millisecond
			for range times {
				first, err := m.Reserve(t.Context(), "t", n)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range ranges {
					if first < one[1] && one[0] < first+n {
						t.Fatalf("%d to %d were given twice", max(first, one[0]), min(first+n, one[1])-1)
					}
				}
				ranges = append(ranges, [2]int64{first, first + n})
			}
		}
		running := open()
		draw(running, 1)
		p.remove(t)
		anew := open()
		draw(anew, 50)
		draw(running, 50)
		draw(anew, 50)
	})
}

// TestMarkFresh: a state that is new begins at the present.
func TestMarkFresh(t *testing.T) {
	t.Parallel()
	eachMark(t, func(t *testing.T, p *lossPlace, cfg *policy.Config) {
		_, m := p.main.Open(t, cfg)
		first, err := m.Reserve(t.Context(), "t", 1)
		if err != nil {
			t.Fatal(err)
		}
		of := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(first>>22) * time.Millisecond)
		if now := time.Now(); of.After(now) {
			t.Errorf("the first key is of %v, %v ahead of the clock", of, of.Sub(now))
		}
	})
}

// eachMark runs a test for each source in each store.
func eachMark(t *testing.T, test func(t *testing.T, p *lossPlace, cfg *policy.Config)) {
	t.Helper()
	for _, store := range lossStores {
		if !strings.Contains(strings.Join(markStores, " "), store.name) {
			continue
		}
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			place := store.start(t)
			for _, src := range markSources {
				t.Run(src.name, func(t *testing.T) {
					p := place(t)
					harness.CreateIDs(t, p.main, "t")
					source := policy.Source{Kind: policy.KindSnowflake, EnsureSchema: true}
					src.set(&source)
					if p.stores != nil {
						source.Store = lossStoreName
					}
					cfg := harness.FillID("t", policy.Table{InPlace: &source})
					cfg.Dialect, cfg.Stores, cfg.StoreWait = p.engine.Dialect.Name, p.stores, jobPatience
					test(t, p, cfg)
				})
			}
		})
	}
}
