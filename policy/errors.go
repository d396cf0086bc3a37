package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// Error is one mistake in a configuration. [Load], [LoadFS], [Parse] and [Config.Compile]
// return one, or several joined in the order of their positions. errors.As finds the first.
type Error struct {
	File   string // the path that was given to Load or LoadFS; empty without a file
	Line   int    // the line of the mistake, from 1; 0 if it is not known
	Column int    // the column of the mistake, from 1, in characters; 0 if it is not known
	Table  string // the table's name as written; empty if the mistake concerns no table
	Msg    string // the mistake, and what to write instead; without DSNs, and without values that could be one

	section string // the section of docs/errors.md that the text names; empty means policy, and noSection means that the text names none
}

// noSection marks an error that is joined with later errors in one text. Only the last
// error of the text names a section of docs/errors.md.
const noSection = "-"

// Error returns the mistake as keyfill.yaml:7:14: table "orders": … [docs/errors.md#policy].
// If several are joined, only the last one names the section of docs/errors.md.
func (e *Error) Error() string {
	where, line, column := e.File, ":%d", ":%d"
	if where == "" {
		where, line, column = "policy", ": line %d", ", column %d"
	}
	if e.Line > 0 {
		where += fmt.Sprintf(line, e.Line)
	}
	if e.Column > 0 {
		where += fmt.Sprintf(column, e.Column)
	}
	if e.Table != "" {
		where += ": table " + show(e.Table)
	}
	text := where + ": " + e.Msg
	if e.section == noSection {
		return text
	}
	return anchor.Mark(text, cmp.Or(e.section, "policy"))
}

// maxErrors is how many mistakes are reported at once.
const maxErrors = 10

// mistakes collects errors: first the errors of reading a file, then the errors of its
// meaning.
type mistakes struct {
	origin *origin // nil for a configuration built in Go
	list   []*Error

	// unread are the places, as returned by top, that could not be read completely.
	// Mistakes that may only follow from the unread part are not reported: a table with a
	// misspelt field column is not also reported as having no column.
	unread map[place]bool
}

// isRead reports whether m belongs to a file that is being read. Otherwise a program
// may have changed the configuration.
func (m *mistakes) isRead() bool { return m.unread != nil }

// has reports whether a file that is being read has the field p, even if its value is
// the zero value.
func (m *mistakes) has(p place) bool {
	if !m.isRead() {
		return false
	}
	_, ok := m.origin.at[p]
	return ok
}

// misread adds a mistake of reading the value at p, which is at pos in the file.
func (m *mistakes) misread(pos position, p place, msg string) {
	m.unread[p.top()] = true
	m.add(pos, p, msg)
}

// misreadField is misread for a message that already names the field p.
func (m *mistakes) misreadField(pos position, p place, msg string) {
	m.unread[p.top()] = true
	m.add(pos, p.parent(), msg)
}

// wrong adds a mistake about the value at p, unless that value could not be read.
func (m *mistakes) wrong(p place, format string, args ...any) {
	if !m.unread[p.top()] {
		m.add(m.origin.find(p), p, fmt.Sprintf(format, args...))
	}
}

// needless adds the mistake msg for each of the fields at p that is given.
func (m *mistakes) needless(p place, msg string, fields ...givenField) {
	for _, f := range fields {
		if f.given {
			m.wrong(p.in(f.name), "%s", msg)
		}
	}
}

// givenField is a field, and whether it is given.
type givenField struct {
	name  string
	given bool
}

// wrongField is wrong for a message that already names the field p.
func (m *mistakes) wrongField(p place, msg string) {
	if !m.unread[p.top()] {
		m.add(m.origin.find(p), p.parent(), msg)
	}
}

// add adds a mistake at p, which is at pos in the file.
func (m *mistakes) add(pos position, p place, msg string) {
	e := &Error{Line: pos.line, Column: pos.column, Msg: p.label() + msg}
	if m.origin != nil {
		e.File = m.origin.file
	}
	if p.section == "tables" {
		e.Table = p.name
	}
	m.list = append(m.list, e)
}

// err returns the collected errors joined, or nil if there are none.
func (m *mistakes) err() error {
	if len(m.list) == 0 {
		return nil
	}
	slices.SortStableFunc(m.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(m.list) == 1 {
		return m.list[0]
	}
	told := slices.Clone(m.list[:min(len(m.list), maxErrors)])
	if more := len(m.list) - maxErrors; more > 0 {
		told = append(told, &Error{File: m.list[0].File, Msg: fmt.Sprintf("and %d more", more)})
	}
	errs := make([]error, len(told))
	for i, e := range told {
		if i < len(told)-1 {
			e.section = noSection
		}
		errs[i] = e
	}
	return errors.Join(errs...)
}

// reason returns the text of err, which wraps keysource.ErrOptions, without the text of
// keysource.ErrOptions.
func reason(err error) string {
	return strings.TrimPrefix(anchor.Plain(err.Error()), anchor.Plain(keysource.ErrOptions.Error())+": ")
}
