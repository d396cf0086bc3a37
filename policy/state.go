package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

var nameField = of("name", "The name of the state, which may hold {schema}, {table} and {value:x}. Left out, it is the name of the entry of sources; for a source in place it is table.column.",
	text, func(s *Source) *string { return &s.Name }).as("{table}.{value:tenant}")

var exclusiveField = of("exclusive", "Whether nothing else fills the column, although another source, a default or a counter of the column could.",
	boolean, func(s *Source) *bool { return &s.Exclusive }).byDefault(false).as(true)

// maxState is how many characters the name of a state (counter) may have: as many as the
// tables of a store hold.
const maxState = 190

// ColumnRef identifies a key column. Its names are folded.
type ColumnRef struct {
	Schema string // the schema of the table; empty if it is not known
	Table  string
	Column string
}

// showState is [show] for the name of a state (counter): the colon of {value:x} is no sign
// of a DSN.
func showState(name string) string {
	if shown := show(strings.ReplaceAll(name, "{value:", "{")); shown == hidden {
		return hidden
	}
	return fmt.Sprintf("%q", name)
}

// stateFault returns why a store cannot hold a state (counter) of this name, or an empty
// text if it can. A name that ends in a space is a fault, since MySQL and SQL Server treat
// "a" and "a " as equal.
func stateFault(name string) string {
	switch {
	case name == "":
		return "the name of a state is empty"
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return "the name of a state is text in UTF-8, without NUL"
	case strings.TrimSpace(name) != name:
		return "the name of a state neither begins nor ends with a space"
	case utf8.RuneCountInString(name) > maxState:
		return fmt.Sprintf("the name of a state has at most %d characters", maxState)
	}
	return ""
}

// checkState checks the name that the source at p gives to its state (counter).
func checkState(m *mistakes, p place, s Source) {
	if s.Name == "" {
		return
	}
	t, msg := parseTemplate(s.Name)
	if msg == "" {
		msg = t.fault()
	}
	if msg != "" {
		m.wrong(p.in("name"), "%s", msg)
	}
}

// fault returns the result of stateFault for the parts of t that are known in advance.
// Words in braces, which are replaced later, count as one character.
func (t template) fault() string {
	var b strings.Builder
	for _, p := range t {
		if p.word == wordText {
			b.WriteString(p.text)
		} else {
			b.WriteString("x")
		}
	}
	return stateFault(b.String())
}
