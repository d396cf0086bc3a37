package plans

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// Cache holds the plans of queries, bounded in their number and in bytes. It is safe for
// concurrent use; a hit allocates nothing and waits for no other hit.
//
// A stream of texts that come only once, such as SQL with literals, does not evict the
// plans in use: a plan is evicted only if it was not used between two passes of the hand,
// the pointer that looks for a plan to evict (SIEVE, Zhang et al., NSDI 2024). New plans
// enter at one end; the hand moves from the other end towards them.
//
// A full cache stores a plan when its text comes for the second time. So such a stream
// costs a hash of each text, and evicts no plan.
type Cache struct {
	entries, bytes int // the bounds

	seed maphash.Seed
	door atomic.Pointer[[doorPlaces]atomic.Uint64] // hashes of the texts that were put last; nil until the cache is full

	mu     sync.RWMutex
	plans  map[string]*cached
	size   int     // the bytes of all plans
	newest *cached // the plan that was stored last
	oldest *cached
	hand   *cached // the next candidate for eviction; nil for the oldest
}

// cached is a plan in a Cache, linked into the list from newest to oldest.
type cached struct {
	plan         *Plan
	query        string
	size         int
	used         atomic.Bool // whether the plan was used since the hand (see Cache) passed it
	newer, older *cached
}

// largestShare bounds the size of a single plan: a plan that takes more than this fraction
// of the cache's bytes, one sixteenth, is not stored.
const largestShare = 16

// doorPlaces is how many texts that came only once a full cache remembers.
const doorPlaces = 1 << 12

// NewCache returns a cache for at most that many plans and bytes, the bytes of the texts
// included. If either bound is 0, the cache stores nothing.
func NewCache(entries, bytes int) *Cache {
	return &Cache{entries: entries, bytes: bytes, seed: maphash.MakeSeed(), plans: map[string]*cached{}}
}

// Get returns the plan of a query, and reports whether the cache has it.
func (c *Cache) Get(query string) (*Plan, bool) {
	c.mu.RLock()
	e := c.plans[query]
	c.mu.RUnlock()
	if e == nil {
		return nil, false
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.plan, true
}

// Put stores the plan of a query; in a full cache only if the query was put before. It does
// not replace a plan, and does not store a plan that is too large: see largestShare.
func (c *Cache) Put(query string, p *Plan) {
	size := p.size(len(query))
	if c.entries <= 0 || size > c.bytes/largestShare || c.isFirst(query) {
		return
	}
	// The caller's string may be a small piece of a large one, which the cache must not
	// retain; the plan has its own copy.
	key := p.Changes.Query
	if key != query {
		key = strings.Clone(query)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans[key] != nil {
		return
	}
	for len(c.plans) >= c.entries || c.size+size > c.bytes {
		if c.door.Load() == nil {
			c.door.Store(new([doorPlaces]atomic.Uint64))
		}
		c.evict()
	}
	e := &cached{plan: p, query: key, size: size, older: c.newest}
	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
	c.plans[key] = e
	c.size += size
}

// isFirst reports whether the cache is full and the text is new to it, and remembers the
// text. It may be true for a text that came long ago and was forgotten.
func (c *Cache) isFirst(query string) bool {
	door := c.door.Load()
	if door == nil {
		return false
	}
	hash := maphash.String(c.seed, query) | 1 // never zero, since a zero in door is an empty place
	return door[hash>>1%doorPlaces].Swap(hash) != hash
}

// evict removes a plan: the first one, from the hand on, that was not used since the hand
// last passed it.
func (c *Cache) evict() {
	e := c.hand
	if e == nil {
		e = c.oldest
	}
	for e.used.Load() {
		e.used.Store(false)
		if e = e.newer; e == nil {
			e = c.oldest
		}
	}
	c.hand = e.newer
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		c.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		c.oldest = e.newer
	}
	delete(c.plans, e.query)
	c.size -= e.size
}

// size estimates the bytes that a plan retains, with the texts that are written from it.
func (pl *Plan) size(query int) int {
	const plan, perEdit, perSlot, perInsert, perDraw, perListed = 730, 64, 112, 64, 16, 72
	n := plan + query + perEdit*len(pl.Changes.Edits) + perSlot*len(pl.Changes.Slots) + perInsert*len(pl.Inserts) + perDraw*len(pl.Draws)
	if len(pl.Changes.Edits) > 0 {
		n += query
	}
	if pl.Session {
		n += query + perListed*len(pl.Changes.Rare().Listed)
	}
	if pl.Proof != nil {
		n += 2*query + perEdit*len(pl.Proof.Edits)
	}
	for _, e := range pl.Changes.Edits {
		n += 2 * len(e.Text)
	}
	for _, r := range pl.Readings {
		n += r.Plan.size(query)
	}
	return n
}
