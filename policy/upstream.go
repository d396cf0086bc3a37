package policy

import "time"

var upstreamField = of("upstream", "The store that the state in the application's own database gets its integers from, in blocks that last while that store is down: the name of an entry of stores. Left out, the state has all integers to itself.",
	text.matching(sourceNamePattern), func(s *Source) *string { return &s.Upstream }).as("central").
	ruled(fieldRules{check: checkUpstream})

var upstreamBlockField = of("upstream_block", "How many integers a block of upstream has. Left out, it follows the use, as upstream_lasts says.",
	atLeast[int64](1), func(s *Source) *int64 { return &s.UpstreamBlock }).as(100_000)

var upstreamLastsField = of("upstream_lasts", "How long a block of upstream is to last, from 1s to 24h: the store may be down for as long.",
	durationShape, func(s *Source) *time.Duration { return &s.UpstreamLasts }).byDefault("1m").as("10m")

// The default and the limits of upstream_lasts (how long one block of integers from the
// upstream store should last).
const (
	defaultUpstreamLasts = time.Minute
	minUpstreamLasts     = time.Second
	maxUpstreamLasts     = 24 * time.Hour
)

// checkUpstream checks the fields of the sequence at p about the store that it gets its
// integers from.
func checkUpstream(m *mistakes, p place, s Source) {
	if s.Upstream == "" {
		for _, name := range given(s, upstreamBlockField, upstreamLastsField) {
			m.wrong(p.in(name), "blocks come from the store of upstream; name that store too, or leave this out")
		}
		return
	}
	switch {
	case s.Upstream == StoreNone:
		m.wrong(p.in("upstream"), "upstream names the store that gives the integers; name a store, or leave upstream out")
	case s.UpstreamBlock < 0:
		m.wrong(p.in("upstream_block"), "%d is less than 1", s.UpstreamBlock)
	case s.UpstreamBlock != 0 && s.UpstreamLasts != 0:
		m.wrong(p.in("upstream_lasts"), "upstream_block already says how many integers a block has; leave one of the two out")
	case s.UpstreamBlock != 0 && s.UpstreamBlock < max(s.Block, s.MinBlock):
		m.wrong(p.in("upstream_block"), "%d is less than the %d integers that a process reserves of it; give a greater one", s.UpstreamBlock, max(s.Block, s.MinBlock))
	case s.UpstreamLasts != 0 && (s.UpstreamLasts < minUpstreamLasts || s.UpstreamLasts > maxUpstreamLasts):
		m.wrong(p.in("upstream_lasts"), "%v is not from %v to %v", s.UpstreamLasts, minUpstreamLasts, maxUpstreamLasts)
	}
	for _, f := range []struct {
		name  string
		given bool
		why   string
	}{
		{"store", s.Store != "", "with upstream the state is in the application's own database, which the blocks are to last in"},
		{"table", s.Table != nil, "with upstream the state is in keyfill's own table, which has a place for the blocks"},
		{"via", s.Via == ViaProcedure, "a procedure knows nothing of the blocks of upstream"},
		{"lock", s.Lock == LockOptimistic, "the blocks of upstream are taken under the lock of one statement"},
		{"transaction", s.Transaction == TransactionJoined, "a joined sequence leaves no gaps, and blocks of upstream do"},
	} {
		if f.given {
			m.wrong(p.in(f.name), "%s; leave one of the two out", f.why)
		}
	}
}

// completeUpstream sets the fields about the upstream store that a sequence leaves out.
func completeUpstream(s *Source) {
	if s.Upstream != "" && s.UpstreamBlock == 0 && s.UpstreamLasts == 0 {
		s.UpstreamLasts = defaultUpstreamLasts
	}
}
