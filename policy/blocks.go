package policy

var blockField = of("block", "How many integers are reserved at a time; for native, by how many the engine's sequence increments. Left out, it is 1 for native, and elsewhere it follows the use between min_block and max_block.",
	atLeast[int64](1), func(s *Source) *int64 { return &s.Block }).as(250)

var minBlockField = of("min_block", "How many integers are reserved at a time at least, where block is left out.",
	atLeast[int64](1), func(s *Source) *int64 { return &s.MinBlock }).byDefault(10).as(50)

var maxBlockField = of("max_block", "How many integers are reserved at a time at most, where block is left out.",
	atLeast[int64](1), func(s *Source) *int64 { return &s.MaxBlock }).byDefault(1_000_000).as(5000)

// checkBlocks checks how many integers the source at p reserves at a time.
// counting.NewSequence has the same rules, but does not know where in the file a mistake
// is.
func checkBlocks(m *mistakes, p place, s Source) {
	for _, f := range []struct {
		name  string
		value int64
	}{{"block", s.Block}, {"min_block", s.MinBlock}, {"max_block", s.MaxBlock}} {
		if f.value < 0 {
			m.wrong(p.in(f.name), "%d is less than 1", f.value)
		}
	}
	switch {
	case s.Block != 0 && s.MinBlock != 0:
		m.wrong(p.in("min_block"), "block already says how many keys are reserved at a time; leave one of the two out")
	case s.Block != 0 && s.MaxBlock != 0:
		m.wrong(p.in("max_block"), "block already says how many keys are reserved at a time; leave one of the two out")
	case s.MaxBlock > 0 && s.MinBlock > s.MaxBlock:
		m.wrong(p.in("max_block"), "%d is less than min_block, %d", s.MaxBlock, s.MinBlock)
	}
}
