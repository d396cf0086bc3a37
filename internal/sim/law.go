package sim

import (
	"cmp"
	"slices"
	"time"
)

// Issue is the result of one call of Next: the keys that a source has handed out.
type Issue struct {
	Process, Life, Thread int
	Begin, End            time.Duration
	Keys                  []int64
	Transaction           *Transaction // the transaction on a [Session] in which the keys were drawn; nil if there was none
}

// SameLife reports whether i and j were handed out by the same source in the same life of a
// process.
func (i Issue) SameLife(j Issue) bool { return i.Process == j.Process && i.Life == j.Life }

// Drop is a call of [Suspect].Drop, or of [Process.NoteDrop].
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
	Transaction   *Transaction // the transaction of the call; nil if there was none
}

// judge checks the laws (the rules that every run must obey): first the laws that apply to
// all sources, and then the laws of the trial.
//
//row:laws | unique | No key is handed out twice. A key whose reservation was lost in a failover or a restore is left out where [guarantees.md](guarantees.md) says so, but never within one process.
//row:laws | contiguous | The keys of one statement are consecutive, where the source promises that.
//row:laws | ordered | Later keys of a process are greater, where the source promises that.
//row:laws | progress | After the faults every process gets keys again, within a time that the trial names.
//row:laws | errors | A statement fails only while there is a cause.
//row:laws | goroutines | No goroutine waits for ever, neither while a process runs nor after its end.
func (w *World) judge() {
	slices.SortFunc(w.Issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Thread, b.Thread))
	})
	kept := slices.Clone(w.Issues)
	if w.trial.Void != nil {
		kept = slices.DeleteFunc(kept, func(i Issue) bool { return w.trial.Void(w, i) })
	}
	w.judgeUnique(kept)
	if w.trial.Contiguous {
		w.judgeContiguous()
	}
	if w.trial.Ordered {
		w.judgeOrdered(kept)
	}
	if w.trial.Check != nil {
		w.trial.Check(w)
	}
}

func (w *World) judgeUnique(issues []Issue) {
	first := map[int64]int{}
	for i, b := range issues {
		for _, key := range b.Keys {
			at, ok := first[key]
			if !ok {
				first[key] = i
				continue
			}
			a := issues[at]
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

// judgeOrdered checks the order of the keys in each life of a process, from its start to
// its end.
func (w *World) judgeOrdered(all []Issue) {
	type life struct{ process, life int }
	lives := map[life][]Issue{}
	for _, i := range all {
		l := life{i.Process, i.Life}
		lives[l] = append(lives[l], i)
	}
	for _, issues := range lives {
		w.CheckOrdered(issues)
	}
}

// CheckOrdered reports an issue (keys handed out by one call) that began after another
// issue had ended but has a lower key. The issues have to be in the order of their ends.
func (w *World) CheckOrdered(issues []Issue) {
	byBegin := slices.Clone(issues)
	slices.SortStableFunc(byBegin, func(a, b Issue) int { return cmp.Compare(a.Begin, b.Begin) })
	var ended int
	var most int64 // the greatest key of the issues that had ended
	for _, i := range byBegin {
		for ; ended < len(issues) && issues[ended].End < i.Begin; ended++ {
			most = max(most, slices.Max(issues[ended].Keys))
		}
		if slices.Min(i.Keys) <= most {
			w.Failf("ordered: process %d.%d got keys %v at %s, after %d", i.Process, i.Life, i.Keys, i.End, most)
			return
		}
	}
}
