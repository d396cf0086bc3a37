package policy

var belowField = of("below", "The first integer that the sequence does not give, since the column's own counter (AUTO_INCREMENT, serial, IDENTITY, AUTOINCREMENT) gives the integers from there on. The engine is asked whether its counter stands there. Left out, the column has no such counter.",
	judged[int64](leastBelow), func(s *Source) *int64 { return &s.Below }).as(1_000_000_000).
	ruled(fieldRules{check: checkBelow, suit: namer.suitBelow, upstream: "the column's own counter knows nothing of the store that upstream names"})

// leastBelow is the least value of the field below (the first integer that a sequence does
// not give).
const leastBelow = 2

// checkBelow checks the field below of the sequence at p.
func checkBelow(m *mistakes, p place, s Source) {
	at := p.in("below")
	switch {
	case s.Below == 0 && !m.has(at):
	case s.Below < leastBelow:
		m.wrong(at, "%d leaves no integer; give one of at least %d", s.Below, leastBelow)
	case s.Scope != nil:
		m.wrong(at, "a scoped sequence numbers within each parent, and the column's own counter does not; leave this field out")
	case s.Exclusive:
		m.wrong(at, "exclusive says that only keyfill fills the column, and below says that the column's counter does too; keep one of the two")
	case s.Start >= s.Below:
		m.wrong(p.in("start"), "%d is not below %d, where the sequence ends; give a lower one", s.Start, s.Below)
	case s.StartAt >= s.Below && s.Start == 0:
		m.wrong(p.in("start_at"), "%d is not below %d, where the sequence ends; give a lower one", s.StartAt, s.Below)
	}
}

// suitBelow reports the field below as a mistake if keyfill cannot read the engine's own
// counter, with which it would have to be compared.
func (n namer) suitBelow(m *mistakes, p place, s Source) {
	if s.Below == 0 {
		return
	}
	switch at := p.in("below"); {
	case n.d.UnreadCounter:
		m.wrong(at, "keyfill does not ask %s where the column's own counter stands; leave it out", n.d.Title)
	case n.d.OneWriter && s.Store != "":
		m.wrong(at, "%s shows its counter to the statement's own connection alone, and the state is in a store; leave store out", n.d.Title)
	}
}
