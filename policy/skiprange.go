package policy

import (
	"math"

	"go.yaml.in/yaml/v3"
)

var skipRangeField = of("skip_range", "The first and the last of the integers that the sequence does not give, since a generator outside of keyfill gives them. Keys among them do not count as the greatest key. Left out, the sequence gives all.",
	rangeShape, func(s *Source) *Range { return &s.SkipRange }).as([]int64{2_000_000_000, 2_999_999_999}).
	ruled(fieldRules{check: checkSkipRange, upstream: "the integers of upstream belong to this column alone"})

// rangeShape is the shape (type of a value in the file) of a Range. That First is not
// above Last is checked later, as the value may also come from Go.
var rangeShape = func() shape[Range] {
	one := number[int64]()
	both := list(one)
	return shape[Range]{
		read: func(r *reader, p place, n *yaml.Node) Range {
			before := len(r.list)
			all := both.read(r, p, n)
			if len(r.list) > before {
				return Range{}
			}
			if len(all) != 2 {
				r.misread(positionOf(n), p, "want two whole numbers, the first and the last one, as in [2000, 2999]")
				return Range{}
			}
			return Range{all[0], all[1]}
		},
		schema: schema{"type": "array", "minItems": 2, "maxItems": 2, "items": schema{"type": "integer", "minimum": 1}},
	}
}()

// checkSkipRange checks the field skip_range of the sequence at p.
func checkSkipRange(m *mistakes, p place, s Source) {
	at, skip := p.in("skip_range"), s.SkipRange
	switch {
	case skip == Range{} && !m.has(at):
		return
	case skip.First < 1 || skip.Last < skip.First:
		m.wrong(at, "%d to %d is no range; give the first and the last integer, of at least 1", skip.First, skip.Last)
	case skip.Last == math.MaxInt64, s.Below > 0 && skip.Last >= s.Below-1:
		m.wrong(at, "the sequence gives no integer after %d; end it by below: %d, and leave skip_range out", skip.Last, skip.First)
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"scope", s.Scope != nil}, {"table", s.Table != nil}, {"via", s.Via == ViaProcedure}, {"transaction", s.Transaction == TransactionJoined}} {
		if f.given {
			m.wrong(p.in(f.name), "skip_range leaves gaps, and the sequence has to reserve by statements in keyfill's own table; leave one of the two out")
		}
	}
}
