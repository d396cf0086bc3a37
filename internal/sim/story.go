package sim

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is a line of the story of a world (a simulated run from one seed).
type event struct {
	at     time.Duration
	slot   int64
	text   string
	fault  bool    // whether the event is a fault
	keys   []int64 // the keys that are handed out; nil if the event hands out none
	commit *Commit // the commit of the store that the event is; nil if it is another event
}

// note adds a line to the history, and to the story if a story was asked for.
func (w *World) note(e event, format string, args ...any) {
	e.at = w.now()
	w.story.history.Add(mixed(mixed(uint64(e.at), uint64(e.slot)), first(e.keys)))
	if !w.trace {
		return
	}
	e.text = fmt.Sprintf(format, args...)
	w.story.tale.Lock()
	defer w.story.tale.Unlock()
	w.story.events = append(w.story.events, e)
}

// tell adds a line to the story.
func (a actor) tell(format string, args ...any) { a.w.note(event{slot: a.slot}, format, args...) }

// tellFault adds a line about something that goes wrong.
func (a actor) tellFault(format string, args ...any) {
	a.w.note(event{slot: a.slot, fault: true}, format, args...)
}

func first(keys []int64) uint64 {
	if len(keys) == 0 {
		return 0
	}
	return uint64(keys[0])
}

// mixed returns 64 bits that depend on all of a and b.
func mixed(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 1
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// History returns a number that identifies a history: which process did what at which
// nanosecond, and got which keys. The same seed always has the same history.
func (w *World) History() uint64 { return w.story.history.Load() }

// Keys returns how many keys were handed out.
func (w *World) Keys() int {
	n := 0
	for _, i := range w.Issues {
		n += len(i.Keys)
	}
	return n
}

// Story returns the story of a world (a simulated run from one seed) of a trial, for a
// reader who does not know the simulator. If the run has no trace, it consists of the head
// and the end.
func (w *World) Story(trial string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "World %d of the trial %q.\n\n", w.Seed, trial)
	w.head(&b)
	b.WriteByte('\n')
	events := w.sorted()
	for _, e := range events {
		e.print(&b)
	}
	if len(events) > 0 {
		b.WriteByte('\n')
	}
	if len(w.broken) == 0 {
		once := ", none of them twice"
		if w.trial.Void != nil || w.trial.Excuse != nil && w.Server.Lost() > 0 {
			once = "" // a key whose commit was lost may be given again
		}
		fmt.Fprintf(&b, "No law is broken: %s got %s%s.\n",
			counted(len(w.Issues), "statement"), counted(w.Keys(), "key"), once)
	}
	for _, text := range w.broken {
		fmt.Fprintf(&b, "A law is broken. %s\n", text)
		w.about(&b, events, text)
	}
	return b.String()
}

// head writes the properties of the world that the seed has drawn.
func (w *World) head(b *strings.Builder) {
	fmt.Fprintf(b, "%s of %s each draw keys and insert rows with them.\n",
		upper(counted(w.traits.processes, "process")), counted(w.traits.threads, "thread"))
	fmt.Fprintf(b, "A thread waits for %s on average between two statements; a message to the store takes %s.\n",
		w.traits.think.Round(time.Millisecond), w.traits.latency.Round(10*time.Microsecond))
	if w.Server.shared {
		b.WriteString("The table of the rows is in the store's database.\n")
	}
	if len(w.Faults) == 0 {
		b.WriteString("Nothing goes wrong in this world.\n")
	} else {
		var names []string
		for _, f := range w.Faults {
			names = append(names, f.String())
		}
		fmt.Fprintf(b, "For %s these things go wrong: %s.\n", w.calm.Round(time.Millisecond), strings.Join(names, ", "))
		b.WriteString("Then the faults end, and every process has to get keys again.\n")
	}
	b.WriteString("Process 0.2 is the second life of process 0: its first life was ended by a kill.\n")
}

// sorted returns the lines in order of time.
func (w *World) sorted() []event {
	events := slices.Clone(w.story.events)
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.slot, b.slot))
	})
	return events
}

func (e event) print(b *strings.Builder) {
	fmt.Fprintf(b, "%12.6fs  %s\n", e.at.Seconds(), e.text)
}

// keyOf finds the key that a broken law is about.
var keyOf = regexp.MustCompile(`\bkeys? \[?(\d+)`)

// about adds the lines that are about the key of a broken law (a rule that every run must
// obey): which thread got it, which commits reserved it, and what went wrong in between.
func (w *World) about(b *strings.Builder, events []event, broken string) {
	found := keyOf.FindStringSubmatch(broken)
	if found == nil {
		return
	}
	key, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil {
		return
	}
	concerns := func(e event) bool {
		return slices.Contains(e.keys, key) || e.commit != nil && w.reserves(e.commit, key)
	}
	begin := slices.IndexFunc(events, concerns)
	if begin < 0 {
		return
	}
	end := begin
	for i, e := range events {
		if slices.Contains(e.keys, key) {
			end = max(end, i)
		}
	}
	fmt.Fprintf(b, "\nThe lines about the key %d, and about what went wrong in between:\n\n", key)
	for _, e := range events[begin : end+1] {
		if e.fault || concerns(e) {
			e.print(b)
		}
	}
}

// reserves reports whether the commit c has reserved a key.
func (w *World) reserves(c *Commit, key int64) bool {
	if w.trial.Reserves != nil {
		return w.trial.Reserves(w, c, key)
	}
	return c.Row != "" && c.Old <= key && key < c.New
}

// Trace returns what has happened, a line each, in order of time. It is empty unless the
// run has a trace.
func (w *World) Trace() string {
	var b strings.Builder
	for _, e := range w.sorted() {
		e.print(&b)
	}
	return b.String()
}

// life names a life of a process in the story: "process 0.1".
type life struct{ process, number int }

func (l life) String() string { return fmt.Sprintf("process %d.%d", l.process, l.number) }

// life returns the life of the process that has sent a transaction.
func (c *Commit) life() life { return life{c.Process, c.Life} }

// String describes the changes of a transaction.
func (c *Commit) String() string {
	var b strings.Builder
	b.WriteString(c.Note)
	say := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, format, args...)
	}
	if c.Row != "" {
		say("%q goes from %d to %d", c.Row, c.Old, c.New)
	} else if len(c.Changes) == 0 {
		say("the answer is %d", c.Read)
	}
	for _, change := range c.Changes {
		switch now := change.New.(type) {
		case nil:
			say("%q is removed", change.Row)
		case interface{ From(old any) string }:
			say("%q %s", change.Row, now.From(change.Old))
		default:
			say("%q becomes %v", change.Row, now)
		}
	}
	return b.String()
}

// list prints the keys of a statement in the story.
type list []int64

func (l list) String() string {
	for i := range l[1:] {
		if l[i+1] != l[i]+1 {
			return "the keys " + strings.Trim(strings.ReplaceAll(fmt.Sprint([]int64(l)), " ", ", "), "[]")
		}
	}
	if len(l) == 1 {
		return fmt.Sprintf("the key %d", l[0])
	}
	return fmt.Sprintf("the keys %d to %d", l[0], l[len(l)-1])
}

// counted returns a number of things: "1 key", "2 keys".
func counted(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// upper writes the digit at the beginning of a sentence as a word.
func upper(text string) string {
	for _, n := range []struct{ digit, word string }{{"1 ", "One "}, {"2 ", "Two "}, {"3 ", "Three "}, {"4 ", "Four "}} {
		if rest, ok := strings.CutPrefix(text, n.digit); ok {
			return n.word + rest
		}
	}
	return text
}

// way is the direction in which a clock is set.
type way time.Duration

func (d way) String() string {
	if d < 0 {
		return "back by " + (-time.Duration(d)).String()
	}
	return "ahead by " + time.Duration(d).String()
}
