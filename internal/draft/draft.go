package draft

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// Draft is a first policy for the tables of a database.
type Draft struct {
	// Remarks are written at the head of the text, each a sentence or more.
	Remarks []string

	// Way is the command, without the table's name, that prints how to change a table which
	// the engine numbers to keys of keyfill.
	Way string

	// EnsureSchema is true if the policy lets keyfill create its own tables, for which the
	// user of the database needs the right. If it is false, the entries only let keyfill
	// create the rows of their states (stored counters) in these tables.
	EnsureSchema bool

	d     *dialect.Dialect
	items []*item       // in the order of the tables
	left  map[int]*item // the items in the text of Left, by their lines
}

// entry returns the line of an item as the file has it. It depends on whether the head of
// the file says ensure_schema.
func (f *Draft) entry(i *item) string {
	line := i.entry()
	if !f.EnsureSchema {
		return strings.ReplaceAll(line, ", ensure_schema: true", ", create: true")
	}
	line = strings.ReplaceAll(line, ", ensure_schema: true", "")
	return strings.ReplaceAll(line, "source: {kind: sequence}", "source: sequence")
}

// Of returns a first policy for the tables of a database. It assumes that the user of the
// database may create tables.
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

// IsEmpty reports whether the text is about no table.
func (f *Draft) IsEmpty() bool { return len(f.items) == 0 }

// Filled returns how many tables have an entry.
func (f *Draft) Filled() int { return f.count(filled) }

// Numbered returns how many tables keep the keys of the engine.
func (f *Draft) Numbered() int { return f.count(numbered) }

// Undecided returns about how many tables a person has to decide.
func (f *Draft) Undecided() int { return f.count(undecided) }

func (f *Draft) count(v verdict) (n int) {
	for _, i := range f.items {
		if i.verdict == v {
			n += len(i.names)
		}
	}
	return n
}

// at returns the item whose entry was written to a line by the last [Draft.Text]; nil if
// there is none.
func (f *Draft) at(line int) *item {
	n := slices.IndexFunc(f.items, func(i *item) bool { return i.line > 0 && i.line == line })
	if n < 0 {
		return nil
	}
	return f.items[n]
}

// Note adds a sentence to an entry, given by its line in the text that [Draft.Text] has
// returned last. It reports whether the line has an entry.
func (f *Draft) Note(line int, text string) bool {
	i := f.at(line)
	if i != nil && !slices.Contains(i.notes, text) {
		i.notes = append(i.notes, text)
	}
	return i != nil
}

// NoteTable adds a sentence to the text about a table, given by the table's name in the
// policy. It reports whether the text mentions the table.
func (f *Draft) NoteTable(table, text string) bool {
	n := slices.IndexFunc(f.items, func(i *item) bool { return i.table == table })
	if n >= 0 && !slices.Contains(f.items[n].notes, text) {
		f.items[n].notes = append(f.items[n].notes, text)
	}
	return n >= 0
}

// Candidates returns the text of a policy that has the draft's entries, and the lines about
// which a person has to decide.
func (f *Draft) Candidates() string {
	text := "version: 1\ndialect: " + f.d.Name + "\ntables:\n"
	for _, i := range f.items {
		if entry := i.entry(); entry != "" && (i.verdict == filled || i.verdict == undecided) {
			text += "  " + entry + "\n"
		}
	}
	return text
}

// Left returns a policy of the lines that are in comments, except those that need numbers
// from another command; empty if there are none. [Draft.NoteLeft] refers to these lines by
// their place in this text.
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

// NoteLeft adds a sentence to a comment, given by the line that the comment's policy line
// has in the text of [Draft.Left].
func (f *Draft) NoteLeft(line int, text string) {
	if i := f.left[line]; i != nil && !slices.Contains(i.notes, text) {
		i.notes = append(i.notes, text)
	}
}

// toBePrinted is the part of a line that has letters instead of numbers. The command
// keyfill plan there prints the numbers.
const toBePrinted = "start: S, below: B"

// Withdraw turns an entry into a comment, and says why. The entry is given by its line in
// the text that [Draft.Text] has returned last. Withdraw reports whether the line has an
// entry.
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

// Names reports whether the text says something about a table, given by its name in the
// catalog.
func (f *Draft) Names(table string) bool {
	return slices.ContainsFunc(f.items, func(i *item) bool {
		return slices.Contains(i.names, shown(table))
	})
}

// ClearNotes removes the sentences that [Draft.Note] has added.
func (f *Draft) ClearNotes() {
	for _, i := range f.items {
		if i.verdict == filled {
			i.notes = nil
		}
	}
}
