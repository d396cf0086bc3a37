package draft

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// Draft is a first policy. Its text changes with the notes that are added.
type Draft struct {
	// Remarks stand at the head of the text, each a sentence or more.
	Remarks []string

	// Way is the command that prints the steps to keys of keyfill in a table that the
	// engine numbers, without the table's name.
	Way string

	// EnsureSchema reports whether the policy lets keyfill make its tables, which the
	// user of the database must be allowed to. Otherwise the entries let it make only the
	// rows of their states.
	EnsureSchema bool

	d     *dialect.Dialect
	items []*item       // in the order of the tables
	left  map[int]*item // by their lines in the text of Left
}

// entry returns the line of an item as the file has it, whose head says ensure_schema or
// does not.
func (f *Draft) entry(i *item) string {
	line := i.entry()
	if !f.EnsureSchema {
		return strings.ReplaceAll(line, ", ensure_schema: true", ", create: true")
	}
	line = strings.ReplaceAll(line, ", ensure_schema: true", "")
	return strings.ReplaceAll(line, "source: {kind: sequence}", "source: sequence")
}

// Of returns a first policy for the tables of a database, whose user may make tables.
func Of(d *dialect.Dialect, over *catalog.Overview) *Draft {
	x := &decider{d, over}
	f := &Draft{d: d, Way: "keyfill plan there", EnsureSchema: true}
	for _, t := range over.Tables {
		if i := x.decide(t); i != nil {
			f.items = append(f.items, i)
		}
	}
	f.joinTables(over)
	return f
}

// IsEmpty reports whether the text says nothing of any table.
func (f *Draft) IsEmpty() bool { return len(f.items) == 0 }

// Filled returns how many tables have an entry.
func (f *Draft) Filled() int { return f.count(filled) }

// Numbered returns how many tables are left to the engine.
func (f *Draft) Numbered() int { return f.count(numbered) }

// Undecided returns how many tables wait for a person's decision.
func (f *Draft) Undecided() int { return f.count(undecided) }

func (f *Draft) count(v verdict) (n int) {
	for _, i := range f.items {
		if i.verdict == v {
			n += len(i.names)
		}
	}
	return n
}

// at returns the item whose entry is on a line of the last text, nil if there is none.
func (f *Draft) at(line int) *item {
	n := slices.IndexFunc(f.items, func(i *item) bool { return i.line > 0 && i.line == line })
	if n < 0 {
		return nil
	}
	return f.items[n]
}

// Note adds a sentence to the entry on a line of the text that [Draft.Text] has returned
// last. It reports whether there is one.
func (f *Draft) Note(line int, text string) bool {
	i := f.at(line)
	if i != nil && !slices.Contains(i.notes, text) {
		i.notes = append(i.notes, text)
	}
	return i != nil
}

// NoteTable adds a sentence to the text about a table, by the name that a policy has for
// it. It reports whether the text mentions the table.
func (f *Draft) NoteTable(table, text string) bool {
	n := slices.IndexFunc(f.items, func(i *item) bool { return i.table == table })
	if n >= 0 && !slices.Contains(f.items[n].notes, text) {
		f.items[n].notes = append(f.items[n].notes, text)
	}
	return n >= 0
}

// Candidates returns a policy of the entries, and of the lines that wait for a person's
// decision.
func (f *Draft) Candidates() string {
	text := "version: 1\ndialect: " + f.d.Name + "\ntables:\n"
	for _, i := range f.items {
		if entry := i.entry(); entry != "" && (i.verdict == filled || i.verdict == undecided) {
			text += "  " + entry + "\n"
		}
	}
	return text
}

// Left returns a policy of the lines that stand in comments, except those whose numbers
// are still to be printed; empty if there are none. [Draft.NoteLeft] refers to them by
// their lines in this text.
func (f *Draft) Left() string {
	text := "version: 1\ndialect: " + f.d.Name + "\n"
	if f.EnsureSchema {
		text += "ensure_schema: true\n"
	}
	text += "tables:\n"
	f.left = map[int]*item{}
	for _, i := range f.items {
		if entry := f.entry(i); entry != "" && i.verdict != filled && !strings.Contains(entry, toBePrinted) {
			text += "  " + entry + "\n"
			f.left[strings.Count(text, "\n")] = i
		}
	}
	if len(f.left) == 0 {
		return ""
	}
	return text
}

// NoteLeft adds a sentence to the comment that has the line of the text of [Draft.Left].
func (f *Draft) NoteLeft(line int, text string) {
	if i := f.left[line]; i != nil && !slices.Contains(i.notes, text) {
		i.notes = append(i.notes, text)
	}
}

// toBePrinted is in a line that has letters instead of numbers, which keyfill plan there
// prints.
const toBePrinted = "start: S, below: B"

// Withdraw makes a comment of the entry on a line of the text that [Draft.Text] has
// returned last, and says why. It reports whether there is one.
func (f *Draft) Withdraw(line int, why string) bool {
	i := f.at(line)
	if i == nil {
		return false
	}
	i.verdict = undecided
	if !slices.Contains(i.notes, why) {
		i.notes = append(i.notes, why)
	}
	return true
}

// Names reports whether the text says something of a table, by its name as found.
func (f *Draft) Names(table string) bool {
	return slices.ContainsFunc(f.items, func(i *item) bool {
		return slices.Contains(i.names, shown(table))
	})
}

// ClearNotes takes away what [Draft.Note] has added.
func (f *Draft) ClearNotes() {
	for _, i := range f.items {
		if i.verdict == filled {
			i.notes = nil
		}
	}
}
