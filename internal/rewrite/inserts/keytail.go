package inserts

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
)

// tails reports whether one of the keys ends in a number that the engine appends (its
// tail).
func (in *State) tails(keys []int) bool {
	return slices.ContainsFunc(keys, func(k int) bool { return in.Target.Keys[k].Tailed() })
}

// appended queues the keys as additional items of each select list of the query.
func appended(p *plans.Draft, in *State, s *selects.Facts, missing []int) {
	for _, end := range s.Lists {
		at := scan.Span{Start: end.At, End: end.At}
		var room [256]byte
		b := room[:0]
		first := len(p.Slots)
		for _, k := range missing {
			b = keyOfRow(p, in, append(b, ", "...), &at, k, p.Dialect.Numbering.PerRow)
		}
		if end.At < len(p.Text) && p.IsPart(p.Text[end.At]) {
			b = append(b, ' ')
		}
		p.Edit(at.End, at.End, string(b))
		for i := first; i < len(p.Slots); i++ {
			p.Slots[i].Before = int32(end.Params)
		}
	}
}

// keyOfRow appends to b the expression for the key of a row. number is the expression for
// the number of the row. For each value in the expression that comes from the key's source,
// keyOfRow queues a slot, which is a place for a key.
func keyOfRow(p *plans.Draft, in *State, b []byte, at *scan.Span, k int, number string) []byte {
	key := &in.Target.Keys[k]
	if !key.Tailed() {
		return append(b, key.Function...)
	}
	in.Query.Tailed = true
	rest := key.Tail
	for {
		before, part, found := strings.Cut(rest, "{")
		if b = append(b, before...); !found {
			return b
		}
		var name string
		if name, rest, _ = strings.Cut(part, "}"); name == "row" {
			b = append(b, number...)
			continue
		}
		p.Slot(at.Start, at.End, string(b), plans.Slot{Key: int32(k)})
		at.Start, b = at.End, b[:0]
	}
}
