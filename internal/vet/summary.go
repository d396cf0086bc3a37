package vet

import (
	"cmp"
	"maps"
	"slices"
)

// Summary counts findings.
type Summary struct {
	Inserts int
	Actions map[string]int
	Unknown int // calls that execute a text of which nothing is known
	Tables  []TableCount
	Reasons []ReasonCount
	Rules   map[string]int // for each rule, the findings that no comment turns off
	Ignored int
}

// TableCount counts the INSERTs into one table. The name of a table that is not known is
// empty.
type TableCount struct {
	Table   string
	Actions map[string]int
}

// ReasonCount counts the INSERTs that are refused for one reason.
type ReasonCount struct {
	Reason string
	Count  int
	First  string // the position of the first INSERT with this reason
}

// Summarize counts findings. Tables and reasons are sorted by their counts, the greatest
// count first.
func Summarize(findings []Finding) Summary {
	s := Summary{Actions: map[string]int{}, Rules: map[string]int{}}
	tables, reasons := map[string]*TableCount{}, map[string]*ReasonCount{}
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Ignored:
			s.Ignored++
		case f.Rule != "":
			s.Rules[f.Rule]++
		}
		if !f.Insert() {
			if f.Rule == RuleDynamic {
				s.Unknown++
			}
			continue
		}
		s.Inserts++
		s.Actions[f.Action]++
		if tables[f.Table] == nil {
			tables[f.Table] = &TableCount{Table: f.Table, Actions: map[string]int{}}
		}
		tables[f.Table].Actions[f.Action]++
		if f.Action == Refuse {
			if reasons[f.Reason] == nil {
				reasons[f.Reason] = &ReasonCount{Reason: f.Reason, First: f.At.String()}
			}
			reasons[f.Reason].Count++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		s.Tables = append(s.Tables, *tables[name])
	}
	slices.SortStableFunc(s.Tables, func(a, b TableCount) int { return cmp.Compare(b.total(), a.total()) })
	for _, text := range slices.Sorted(maps.Keys(reasons)) {
		s.Reasons = append(s.Reasons, *reasons[text])
	}
	slices.SortStableFunc(s.Reasons, func(a, b ReasonCount) int { return cmp.Compare(b.Count, a.Count) })
	return s
}

func (t *TableCount) total() (n int) {
	for _, count := range t.Actions {
		n += count
	}
	return n
}
