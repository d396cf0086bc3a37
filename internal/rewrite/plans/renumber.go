package plans

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// renumber gives all placeholders of the bound text the numbers of their first use
// in it: the caller's stand in that order already, and those behind a key's go up by
// one for each key. From then on a slot's before is how many different ones of the
// caller's stand in front of it, and the arguments go by their places.
func (pl *Plan) renumber() {
	replaced := map[int]bool{} // where a placeholder begins that a key's takes the place of
	for i := range pl.Edits {
		if e := &pl.Edits[i]; e.Slot >= 0 && e.End > e.Start {
			replaced[e.Start] = true
		}
	}
	numbers := make([]int, 1, pl.Params.Max+1) // by the caller's number
	added, next, used := 0, 0, 0
	keys := func(until int) {
		for ; next < len(pl.Slots) && int(pl.Slots[next].Before) <= until; next++ {
			if s := &pl.Slots[next]; s.Kind != SlotOwn {
				s.Before = int32(len(numbers) - 1)
				added++
			}
		}
	}
	edits := slices.Clone(pl.Edits)
	s := scan.Scanner{Dialect: pl.Dialect, Text: pl.Query}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if t.Kind != scan.Placeholder {
			continue
		}
		keys(used)
		used++
		number := scan.NumberOf(pl.Query[t.Start+1 : t.End])
		if number == len(numbers) {
			numbers = append(numbers, number+added)
		}
		if numbers[number] != number && !replaced[t.Start] {
			edits = append(edits, Edit{Start: t.Start, End: t.End, Text: pl.Spelling.Text(numbers[number]), Slot: -1})
		}
	}
	keys(used)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	pl.BoundEdits = edits
}
