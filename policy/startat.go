package policy

var startAtField = of("start_at", "The least integer that the sequence gives, instead of start. Another sequence that fills the column goes on below it in processes that still have it: keyfill writes that end into its row, and refuses a start_at that it has passed. Left out, a column has one sequence at a time.",
	judged[int64](leastStartAt), func(s *Source) *int64 { return &s.StartAt }).as(3_000_000_000).
	ruled(fieldRules{check: checkStartAt, upstream: "the integers of upstream belong to this column alone", owns: "the row of one column (start_at)"})

// leastStartAt is the least value of start_at, the first integer of this sequence: with 2,
// the sequence that ends before it has a single integer, 1.
const leastStartAt = 2

// checkStartAt checks the field start_at of the sequence at p.
func checkStartAt(m *mistakes, p place, s Source) {
	at := p.in("start_at")
	if s.StartAt == 0 && !m.has(at) {
		return
	}
	switch {
	case s.StartAt < leastStartAt:
		m.wrong(at, "%d leaves no integer to the sequence before it; give one of at least %d", s.StartAt, leastStartAt)
	case s.Start != 0:
		m.wrong(p.in("start"), "start_at says already where the sequence begins; leave start out")
	}
	m.needless(p, "with start_at the sequence counts through statements in keyfill's own table of the application's database; leave it out",
		givenField{"scope", s.Scope != nil}, givenField{"store", s.Store != ""}, givenField{"table", s.Table != nil}, givenField{"via", s.Via == ViaProcedure})
}
