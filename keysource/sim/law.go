package sim

import (
	"cmp"
	"slices"
	"time"
)

// Issue is what one call of Next has given.
type Issue struct {
	Process, Life, Thread int
	Begin, End            time.Duration
	Keys                  []int64
}

// SameLife reports whether both were given by one source.
func (i Issue) SameLife(j Issue) bool { return i.Process == j.Process && i.Life == j.Life }

// Drop is a call of [Suspect].Drop.
type Drop struct {
	Process, Life int
	At            time.Duration
}

// Follow is a call of [Follower].Advance.
type Follow struct {
	Process, Life int
	Begin, End    time.Duration
	To            int64
	Err           error
}

// judge checks the laws that are the same for all sources, and then the
// trial's.
func (w *World) judge() {
	slices.SortFunc(w.Issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Thread, b.Thread))
	})
	w.judgeUnique()
	if w.trial.Contiguous {
		w.judgeContiguous()
	}
	if w.trial.Ordered {
		w.judgeOrdered()
	}
	if w.trial.Check != nil {
		w.trial.Check(w)
	}
}

func (w *World) judgeUnique() {
	first := map[int64]int{}
	for i, b := range w.Issues {
		for _, key := range b.Keys {
			at, ok := first[key]
			if !ok {
				first[key] = i
				continue
			}
			a := w.Issues[at]
			if a.SameLife(b) || w.trial.Excuse == nil || !w.trial.Excuse(w, a, b, key) {
				w.Failf("unique: key %d went to process %d.%d at %s and to process %d.%d at %s",
					key, a.Process, a.Life, a.End, b.Process, b.Life, b.End)
				return
			}
		}
	}
}

func (w *World) judgeContiguous() {
	for _, i := range w.Issues {
		for k := range i.Keys[1:] {
			if i.Keys[k+1] != i.Keys[k]+1 {
				w.Failf("contiguous: process %d.%d got keys %v at %s", i.Process, i.Life, i.Keys, i.End)
				return
			}
		}
	}
}

// judgeOrdered finds an issue that began after another one of its process had
// ended and has a lower key.
func (w *World) judgeOrdered() {
	type life struct{ process, life int }
	lives := map[life][]Issue{}
	for _, i := range w.Issues {
		l := life{i.Process, i.Life}
		lives[l] = append(lives[l], i)
	}
	for _, byEnd := range lives {
		byBegin := slices.Clone(byEnd)
		slices.SortStableFunc(byBegin, func(a, b Issue) int { return cmp.Compare(a.Begin, b.Begin) })
		var ended int
		var most int64 // the greatest key of those that had ended
		for _, i := range byBegin {
			for ; ended < len(byEnd) && byEnd[ended].End < i.Begin; ended++ {
				most = max(most, slices.Max(byEnd[ended].Keys))
			}
			if slices.Min(i.Keys) <= most {
				w.Failf("ordered: process %d.%d got keys %v at %s, after %d", i.Process, i.Life, i.Keys, i.End, most)
				return
			}
		}
	}
}
