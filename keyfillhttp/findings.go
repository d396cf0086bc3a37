package keyfillhttp

import (
	"fmt"
	"strings"
	"time"

	"github.com/keyfill/keyfill"
)

// Finding is something that needs an operator's attention.
type Finding struct {
	// Severity is "bad" if INSERTs fail now or keys may come twice, and otherwise
	// "warn".
	Severity string `json:"severity"`
	// Subject is the table, the source, or the entry of the policy.
	Subject string `json:"subject"`
	// Text describes the fault.
	Text string `json:"text"`
	// Remedy is what to do.
	Remedy string `json:"remedy"`
}

// The severities. In alphabetical order the worse one comes first.
const (
	bad  = "bad"
	warn = "warn"
)

// A source that will be exhausted within soon is reported as warn, and within verySoon
// as bad.
const (
	soon     = 30 * 24 * time.Hour
	verySoon = 3 * 24 * time.Hour
)

// findings returns the present faults of a source.
func (s Source) findings(now time.Time) []Finding {
	var found []Finding
	add := func(severity, text, remedy string) {
		found = append(found, Finding{severity, "source " + s.Name, text, remedy})
	}
	if s.LastError != "" && !s.isUsedUp() {
		add(bad, fmt.Sprintf("The last fetch failed %s: %s.", ago(now, s.LastErrorAt), strings.TrimSuffix(s.LastError, ".")),
			"Look whether the store's database answers. INSERTs go on while numbers are in hand.")
	}
	if s.Lease != nil && !s.Lease.Held && s.LastError != "" {
		add(bad, "There is no lease, so that no key is made.", "Look whether the store answers, and whether a worker's number is free.")
	}
	if s.Lease != nil && s.Lease.Lost > 0 && !isOver(now, s.Lease.LostAt) {
		add(warn, "Another process had taken the lease: "+times(s.Lease.Lost)+lastOf(now, s.Lease.LostAt)+".",
			"A process that stands still for longer than its lease loses it. Look at its pauses and its clock.")
	}
	return append(found, s.endings(now)...)
}

// endings returns a finding if a source is near its end, and otherwise none.
func (s Source) endings(now time.Time) []Finding {
	as := func(severity, text, remedy string) []Finding {
		return []Finding{{severity, "source " + s.Name, text, remedy}}
	}
	left := s.Exhausted.Sub(now)
	switch {
	case s.isUsedUp():
		return as(bad, "No number is left: INSERTs fail.", "Give the column a wider type and the source more bits.")
	case s.Exhausted.IsZero() || left > soon:
		return nil
	case left > verySoon:
		return as(warn, "The source will be exhausted "+in(now, s.Exhausted)+" at the present rate.", "Plan a wider column, or another source.")
	}
	return as(bad, "The source will be exhausted "+in(now, s.Exhausted)+" at the present rate.", "Give the column a wider type and the source more bits now.")
}

// isUsedUp reports whether the source has no number left. Its fetches fail then, whatever its
// store does.
func (s Source) isUsedUp() bool { return s.Max > 0 && s.States > 0 && s.Remaining <= 0 }

// isOfKeys reports whether a cause of failures is about making keys, not about the
// INSERT itself.
func isOfKeys(cause string) bool {
	switch keyfill.Cause(cause) {
	case keyfill.CauseStore, keyfill.CauseStoreBack, keyfill.CauseStoreBehind,
		keyfill.CauseExhausted, keyfill.CauseClock, keyfill.CauseWorker, keyfill.CauseOther:
		return true
	}
	return false
}

// findings returns the faults of a table since the mount (keyfill's handle on a database)
// was opened.
func (t Table) findings(now time.Time) []Finding {
	var found []Finding
	add := func(severity, text, remedy string) {
		found = append(found, Finding{severity, "table " + t.Name, text, remedy})
	}
	if t.Suspects > 0 {
		add(bad, fmt.Sprintf("The table had %s of keyfill's keys already%s.", count(t.Suspects), lastOf(now, t.SuspectAt)),
			"Look for another program that fills the column, and whether the store has gone back; run keyfill check.")
	}
	if n, causes := t.withoutKey(); n > 0 && !(t.KeysSince > 0 && isOver(now, t.NoKeyAt)) {
		severity, ending := warn, ""
		switch {
		case t.NoKeyAt.IsZero():
		case t.KeysSince > 0:
			ending = fmt.Sprintf(" It is over: the last one was %s, and %s added since.", ago(now, t.NoKeyAt), keysWere(t.KeysSince))
		default:
			severity, ending = bad, fmt.Sprintf(" The last one was %s, and no key was added since.", ago(now, t.NoKeyAt))
		}
		add(severity, fmt.Sprintf("%s got no key: %s.%s", inserts(n), causes, ending), "Read the errors of the program, which end in the section of docs/errors.md.")
	}
	for _, c := range t.Refused {
		add(warn, fmt.Sprintf("%s could not be filled: %s.", inserts(c.Count), c.Cause), sentence(c.Text))
	}
	if t.Withheld > 0 {
		add(warn, fmt.Sprintf("Sent without a key: %s.", inserts(t.Withheld)),
			"Look at the mode, and at unsupported: in the policy, unless this is a rehearsal.")
	}
	return found
}

// withoutKey returns how many INSERTs got no key, and for which causes.
func (t Table) withoutKey() (n uint64, causes string) {
	var words []string
	for _, c := range t.Failed {
		if isOfKeys(c.Cause) {
			n += c.Count
			words = append(words, c.Cause)
		}
	}
	return n, strings.Join(words, ", ")
}

// told is how long after an event a finding about it is still reported.
const told = time.Hour

// isOver reports whether an event is so long past that it is no longer reported. The
// zero Time means that the time of the event is not known.
func isOver(now, last time.Time) bool { return !last.IsZero() && now.Sub(last) > told }

// lastOf returns text about when something happened last; empty if that is not known.
func lastOf(now, last time.Time) string {
	if last.IsZero() {
		return ""
	}
	return ", last " + ago(now, last)
}

// keysWere returns text such as "1 key was" or "20 keys were".
func keysWere(n uint64) string {
	if n == 1 {
		return "1 key was"
	}
	return count(n) + " keys were"
}

// inserts returns text such as "1 INSERT" or "20 INSERTs".
func inserts(n uint64) string {
	if n == 1 {
		return "1 INSERT"
	}
	return count(n) + " INSERTs"
}

// times returns text about how often something happened, such as "20 times".
func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return count(n) + " times"
}

// sentence returns the text of a reason as a sentence, with a capital letter and a full
// stop.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// enough is how many INSERTs must have been seen before an entry of the policy that matched
// none of them is reported.
const enough = 1000

// unmatched returns findings about the entries of the policy that have matched no INSERT
// although there were at least enough INSERTs.
func unmatched(r Report) []Finding {
	seen := map[string]bool{}
	all := r.Passed
	for _, t := range r.Tables {
		seen[t.Entry] = true
		all += t.Filled + t.Kept + sum(t.Refused)
	}
	if all < enough {
		return nil
	}
	var found []Finding
	for _, s := range r.Sources {
		for _, entry := range s.Tables {
			if seen[entry] {
				continue
			}
			seen[entry] = true
			found = append(found, Finding{warn, "entry " + entry, fmt.Sprintf("None of %s statements was for this entry of the policy.", count(all)),
				"Look whether the name is spelt as the table is, and its schema."})
		}
	}
	return found
}

// in returns text about how long it is until a time, such as "in 3 days".
func in(now, then time.Time) string {
	if !then.After(now) {
		return "now"
	}
	return "in " + span(then.Sub(now))
}

// ago returns text about how long a time is past, such as "3 days ago".
func ago(now, then time.Time) string {
	if then.IsZero() {
		return "before"
	}
	return span(max(now.Sub(then), 0)) + " ago"
}

// span returns a duration as text, in one unit.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"year", 365 * day}, {"day", day}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if d >= 2*unit.length {
			return count(int64(d/unit.length)) + " " + unit.name + "s"
		}
	}
	return count(int64(d/time.Second)) + " s"
}
