package plans

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// renumber numbers all placeholders of the text with keys by their first use: the caller's
// placeholders are in that order already, and each key adds 1 to the numbers after it.
// Before of a slot (a place for a key) is then the number of different placeholders of the
// caller that precede the slot, and the arguments are in the order of the numbers.
func (pl *Plan) renumber() {
	replaced := map[int]bool{} // the offsets of the caller's placeholders that a key's placeholder replaces
	for i := range pl.Changes.Edits {
		if e := &pl.Changes.Edits[i]; e.Slot >= 0 && e.End > e.Start {
			replaced[e.Start] = true
		}
	}
	numbers := make([]int, 1, pl.Changes.Params.Max+1) // the new number for each number of the caller's placeholders
	added, next, used := 0, 0, 0
	keys := func(until int) {
		for ; next < len(pl.Changes.Slots) && int(pl.Changes.Slots[next].Before) <= until; next++ {
			if s := &pl.Changes.Slots[next]; s.Kind != SlotOwn {
				s.Before = int32(len(numbers) - 1)
				added++
			}
		}
	}
	edits := slices.Clone(pl.Changes.Edits)
	s := scan.Scanner{Dialect: pl.Dialect, Text: pl.Changes.Query}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if t.Kind != scan.Placeholder {
			continue
		}
		keys(used)
		used++
		number := scan.NumberOf(pl.Changes.Query[t.Start+1 : t.End])
		if number == len(numbers) {
			numbers = append(numbers, number+added)
		}
		if numbers[number] != number && !replaced[t.Start] {
			edits = append(edits, Edit{Start: t.Start, End: t.End, Text: pl.Changes.Spelling.Text(numbers[number]), Slot: -1})
		}
	}
	keys(used)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	pl.Changes.seldom().BoundEdits = edits
}
