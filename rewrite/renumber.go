package rewrite

import (
	"cmp"
	"slices"
)

// renumber gives all placeholders of the bound text the numbers of their first use
// in it: the caller's stand in that order already, and those behind a key's go up by
// one for each key. From then on a slot's before is how many different ones of the
// caller's stand in front of it, and the arguments go by their places.
func (pl *Plan) renumber() {
	replaced := map[int]bool{} // where a placeholder begins that a key's takes the place of
	for i := range pl.edits {
		if e := &pl.edits[i]; e.slot >= 0 && e.end > e.start {
			replaced[e.start] = true
		}
	}
	numbers := make([]int, 1, pl.params.max+1) // by the caller's number
	added, next, used := 0, 0, 0
	keys := func(until int) {
		for ; next < len(pl.slots) && int(pl.slots[next].before) <= until; next++ {
			if s := &pl.slots[next]; s.kind != slotOwn {
				s.before = int32(len(numbers) - 1)
				added++
			}
		}
	}
	edits := slices.Clone(pl.edits)
	s := scanner{d: pl.Dialect, q: pl.query}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind != tokParam {
			continue
		}
		keys(used)
		used++
		number := numberOf(pl.query[t.start+1 : t.end])
		if number == len(numbers) {
			numbers = append(numbers, number+added)
		}
		if numbers[number] != number && !replaced[t.start] {
			edits = append(edits, edit{start: t.start, end: t.end, text: pl.spell.text(numbers[number]), slot: -1})
		}
	}
	keys(used)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	pl.boundEdits = edits
}
