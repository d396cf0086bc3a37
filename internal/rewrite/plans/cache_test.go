package plans_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// plan compiles a query for MySQL, into a table whose keys have a function.
func plan(query string) *plans.Plan {
	return compile.Query(dialect.MySQL(), func(_, table string) *plans.Target {
		if table != "customers" {
			return nil
		}
		return &plans.Target{Table: "customers", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing | plans.FillNull | plans.FillDefault}}}
	}, query)
}

func TestCache(t *testing.T) {
	c := plans.NewCache(10, 1<<20)
	const q = "INSERT INTO customers (name) VALUES (?)"
	if p, ok := c.Get(q); p != nil || ok {
		t.Fatalf("Get of an empty cache = %v, %v", p, ok)
	}
	first := plan(q)
	c.Put(q, first)
	c.Put(q, plan(q))
	if p, ok := c.Get(q); p != first || !ok {
		t.Errorf("Get = %p, %v, want the first plan %p", p, ok, first)
	}
	if n := c.Len(); n != 1 {
		t.Errorf("Len = %d, want 1", n)
	}
}

func TestCacheKeepsNothing(t *testing.T) {
	const q = "INSERT INTO customers (name) VALUES (?)"
	for _, c := range []*plans.Cache{
		plans.NewCache(0, 1<<20), plans.NewCache(10, 0), plans.NewCache(-1, -1),
	} {
		c.Put(q, plan(q))
		if _, ok := c.Get(q); ok {
			t.Error("a cache without room keeps a plan")
		}
	}
}

// Texts that take more than a share of the bytes are not kept: one of them
// would drive out many others.
func TestCacheShare(t *testing.T) {
	const bytes = 1 << 16
	c := plans.NewCache(100, bytes)
	long := "INSERT INTO customers (name) VALUES ('" + strings.Repeat("x", bytes/16) + "')"
	c.Put(long, plan(long))
	if _, ok := c.Get(long); ok {
		t.Errorf("a text of %d bytes is kept in a cache of %d", len(long), bytes)
	}
}

func TestCacheBounds(t *testing.T) {
	const entries, bytes = 50, 1 << 16
	c := plans.NewCache(entries, bytes)
	for i := range 1000 {
		q := fmt.Sprintf("INSERT INTO customers (name) VALUES ('%s')", strings.Repeat("x", i))
		c.Put(q, plan(q))
		if n, size := c.Len(), c.Size(); n > entries || size > bytes || n == 0 {
			t.Fatalf("after %d texts the cache holds %d plans and %d bytes", i+1, n, size)
		}
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// A plan that was used survives any number of texts that come only once, be it
// used meanwhile or not, and the bounds hold.
func TestCacheFlood(t *testing.T) {
	const entries, bytes, flood = 1000, 1 << 20, 1_000_000
	for name, every := range map[string]int{"idle": 0, "in use": 5000} {
		t.Run(name, func(t *testing.T) {
			c := plans.NewCache(entries, bytes)
			const hot = "INSERT INTO customers (name) VALUES (?)"
			c.Put(hot, plan(hot))
			c.Get(hot)
			p := plan("INSERT INTO customers (name) VALUES ('x')")
			for i := range flood {
				c.Put(fmt.Sprintf("INSERT INTO customers (name) VALUES ('%d')", i), p)
				if every > 0 && i%every == 0 {
					if _, ok := c.Get(hot); !ok {
						t.Fatalf("the hot plan is gone after %d texts", i)
					}
				}
				if i%1000 == 0 && (c.Len() > entries || c.Size() > bytes) {
					t.Fatalf("after %d texts the cache holds %d plans and %d bytes", i, c.Len(), c.Size())
				}
			}
			if _, ok := c.Get(hot); !ok {
				t.Errorf("the hot plan is gone after %d texts", flood)
			}
			if err := c.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A plan that is not used any more leaves in the end.
func TestCacheForgets(t *testing.T) {
	c := plans.NewCache(10, 1<<20)
	query := func(i int) string { return fmt.Sprintf("INSERT INTO customers (name) VALUES (%d)", i) }
	for i := range 10 {
		c.Put(query(i), plan(query(i)))
		c.Get(query(i))
	}
	for i := 10; i < 40; i++ {
		c.Put(query(i), plan(query(i)))
		c.Put(query(i), plan(query(i))) // the cache is full
		c.Get(query(i))
	}
	for i := range 10 {
		if _, ok := c.Get(query(i)); ok {
			t.Errorf("plan %d is still there", i)
		}
	}
}

// A full cache takes a plan whose text comes again, and none that comes once.
func TestCacheSecondTime(t *testing.T) {
	c := plans.NewCache(10, 1<<20)
	query := func(i int) string { return fmt.Sprintf("INSERT INTO customers (name) VALUES (%d)", i) }
	for i := range 11 {
		c.Put(query(i), plan(query(i)))
	}
	if _, ok := c.Get(query(10)); !ok {
		t.Error("the plan that has found the cache full is not there")
	}
	for _, want := range []bool{false, true} {
		c.Put(query(11), plan(query(11)))
		if _, ok := c.Get(query(11)); ok != want {
			t.Errorf("the plan is there: %v, want %v", ok, want)
		}
	}
	for i := range 100_000 {
		c.Put(query(100+i), plan("INSERT INTO customers (name) VALUES (?)"))
	}
	if _, ok := c.Get(query(11)); !ok {
		t.Error("texts that came once have driven out a plan")
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// The caller's string may be a piece of a file: the cache must not hold that.
func TestCacheDoesNotPin(t *testing.T) {
	const n, size = 20, 8 << 20
	c := plans.NewCache(100, 1<<20)
	for i := range n {
		q := fmt.Sprintf("INSERT INTO customers (name) VALUES (?, %d)", i)
		file := q + strings.Repeat(" ", size)
		c.Put(file[:len(q)], plan(file[:len(q)]))
		pass := fmt.Sprintf("INSERT INTO others (name) VALUES (?, %d)", i)
		file = pass + strings.Repeat(" ", size)
		c.Put(file[:len(pass)], plan(file[:len(pass)]))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > n*size {
		t.Errorf("with %d small plans of large texts the heap holds %d bytes", 2*n, m.HeapAlloc)
	}
	runtime.KeepAlive(c)
}

func TestCacheConcurrent(t *testing.T) {
	c := plans.NewCache(20, 1<<20)
	p := plan("INSERT INTO customers (name) VALUES (?)")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 5000 {
				q := fmt.Sprintf("query %d", (i*7+g)%40)
				if got, ok := c.Get(q); ok && got != p {
					t.Errorf("Get(%q) = %p, want %p", q, got, p)
				}
				c.Put(q, p)
			}
		})
	}
	wg.Wait()
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

func TestCacheHitAllocates(t *testing.T) {
	const q = "INSERT INTO customers (name) VALUES (?)"
	c := plans.NewCache(10, 1<<20)
	c.Put(q, plan(q))
	if n := testing.AllocsPerRun(1000, func() { c.Get(q) }); n != 0 {
		t.Errorf("a hit allocates %v times, want 0", n)
	}
}
