package explainreport

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// maxPlaces is how many argument positions with a key the text form lists at most.
const maxPlaces = 8

// printer prints explanations for people. Its writer remembers the first error, which Flush
// returns.
type printer struct {
	w       *bufio.Writer
	colours terminal.Colours
	remark  func(table string) string // see Policy.remark
}

// line prints a labelled line.
func (p printer) line(label, format string, args ...any) {
	fmt.Fprintf(p.w, "%-8s%s\n", label, fmt.Sprintf(format, args...))
}

// print prints the readable form: the facts on labelled lines, and last the text that
// would be sent. at is where the statement stands, nil if that need not be printed.
func (p printer) print(query string, at *inputStatement, ex *explain.Explanation, hint string) {
	p.line("action", "%s: %s", p.colours.Paint(terminal.ActionColours[ex.Action], ex.Action), meaning(*ex))
	if len(ex.Inserts) > 0 {
		p.inserts(query, at, ex)
	} else {
		p.facts(query, at, explain.Insert{
			Action: ex.Action, Table: ex.Table, Column: ex.Column, Rows: ex.Rows, Reason: ex.Reason, Offset: ex.Offset, End: ex.End, Made: ex.Made,
		}, ex, 0)
	}
	if ex.Depends != "" {
		p.line("depends", "on %s", ex.Depends)
	}
	if ex.Numbers != "" {
		p.line("numbers", "%s", ex.Numbers)
	}
	if len(ex.Reads) > 0 {
		p.line("reads", "%s, which does not know the integers that keyfill makes: docs/keys.md", strings.Join(ex.Reads, ", "))
	}
	if hint != "" {
		p.line("hint", "%s", hint)
	}
	if ex.Action == plans.Refuse.String() && !unfilled(ex.Reason) {
		p.line("sent", "nothing")
		return
	}
	text := strings.TrimSuffix(ex.SQL, "\n")
	if strings.Contains(text, "\n") {
		text = "\n" + text // begin on a new line and do not indent, so that the text can be copied
	}
	p.line("sent", "%s", text)
}

// inserts prints each of several INSERTs.
func (p printer) inserts(query string, at *inputStatement, ex *explain.Explanation) {
	for i, in := range ex.Inserts {
		p.line("insert", "%d of %d: %s", i+1, len(ex.Inserts), p.colours.Paint(terminal.ActionColours[in.Action], in.Action))
		p.facts(query, at, in, ex, i+1)
	}
}

// facts prints the facts about an INSERT. number is its place among the INSERTs of the
// text, from 1; 0 where it is the only one.
func (p printer) facts(query string, at *inputStatement, in explain.Insert, ex *explain.Explanation, number int) {
	if in.Table != "" {
		p.line("table", "%s", in.Table)
		p.line("column", "%s", in.Column)
	}
	if in.Rows != nil {
		p.line("rows", "%d", *in.Rows)
	}
	if in.Action == plans.Fill.String() {
		p.line("keys", "%s", places(ex, in, number))
	}
	if in.Made != "" {
		p.line("made", "%s: the same values make the same key", in.Made)
	}
	if text := p.remark(in.Table); text != "" && in.Action == plans.Fill.String() {
		p.line("engine", "%s", text)
	}
	if text := p.remark(in.Table); text != "" && in.Action == plans.Fill.String() {
		p.line("engine", "%s", text)
	}
	if in.End != "" {
		p.line("until", "keys end on %s", in.End)
	}
	if in.Reason != "" {
		p.line("reason", "%s", in.Reason)
	}
	if in.Action == plans.Refuse.String() {
		p.line("at", "%s", positionIn(query, in.Offset, at))
	}
}

// unfilled reports whether the reason says that the policy sends the statement without a
// key instead of refusing it.
func unfilled(reason string) bool { return strings.HasPrefix(reason, "unfilled: ") }

// meaning returns a sentence about the action.
func meaning(ex explain.Explanation) string {
	switch {
	case ex.Action == "fill":
		return "the statement gets its keys from keyfill"
	case ex.Action == "keep" && ex.Reason != "":
		return "a placeholder stands in the key's place; its value decides"
	case ex.Action == "keep":
		return "the statement brings its own key"
	case ex.Action == "refuse" && unfilled(ex.Reason):
		return "the statement cannot be filled and goes out without a key"
	case ex.Action == "refuse":
		return "the statement is an error, before anything is sent"
	}
	return "no INSERT into a configured table"
}

// places returns how the keys of an INSERT are sent. number is its place among the
// INSERTs of the text, from 1; 0 if it is the only one.
func places(ex *explain.Explanation, in explain.Insert, number int) string {
	if ex.Literal && in.Made != "" {
		return "in the text"
	}
	if ex.Literal {
		return "in the text; each execution gets new ones"
	}
	var b strings.Builder
	n := 0
	for _, s := range ex.Slots {
		if number > 0 && s.Statement != number {
			continue
		}
		if n++; n > maxPlaces {
			continue
		}
		if n > 1 {
			b.WriteString(", ")
		}
		row := fmt.Sprintf("row %d", s.Row)
		if s.Row == 0 {
			row = "all rows are counted with it"
		}
		fmt.Fprintf(&b, "argument %d (%s", s.Arg, row)
		if s.Column != "" {
			fmt.Fprintf(&b, ", %s", s.Column)
		}
		b.WriteString(")")
	}
	if n > maxPlaces {
		fmt.Fprintf(&b, " and %d more", n-maxPlaces)
	}
	return b.String()
}

// positionIn returns the line and column of a byte of a text; columns count bytes. If the
// text is from a file, it returns the file's name and the line in it.
func positionIn(query string, offset int, at *inputStatement) string {
	before := query[:min(max(offset, 0), len(query))]
	line, column := strings.Count(before, "\n"), len(before)-strings.LastIndexByte(before, '\n')
	if at != nil {
		return fmt.Sprintf("%s:%d, byte %d of the statement", at.file, at.line+line, offset)
	}
	return fmt.Sprintf("byte %d: line %d, column %d", offset, line+1, column)
}
