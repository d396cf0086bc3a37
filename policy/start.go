package policy

var startField = of("start", "The first integer; for a pseudorandom the first seed, for a scatter the first number, for a coprime the number from which the first step is made. Left out, it is 1 for a pseudorandom and a scatter, 0 for a coprime, and elsewhere the integer after the greatest key in the table.",
	judged[int64](0), func(s *Source) *int64 { return &s.Start }).as(1001)

// checkStart checks the first number of the source at p, if the policy gives it.
func checkStart(m *mistakes, p place, s Source) {
	if at := p.in("start"); s.Start < 0 || s.Start == 0 && m.has(at) {
		m.wrong(at, "%d is less than 1", s.Start)
	}
}
