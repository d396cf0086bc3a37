package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/keyfill/keyfill/internal/explain"
)

// maxPlaces is how many places of keys the readable form names.
const maxPlaces = 8

// printExplanation prints the readable form: the facts on labelled lines, and
// last the text that would be sent.
func printExplanation(out io.Writer, query string, ex explain.Explanation) error {
	w := bufio.NewWriter(out)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "%-8s%s\n", label, fmt.Sprintf(format, args...))
	}
	line("action", "%s: %s", coloursOf(out).paint(actionColours[ex.Action], ex.Action), meaning(ex))
	if ex.Table != "" {
		line("table", "%s", ex.Table)
		line("column", "%s", ex.Column)
	}
	if ex.Rows != nil {
		line("rows", "%d", *ex.Rows)
	}
	if ex.Action == "fill" {
		line("keys", "%s", places(ex))
	}
	if ex.End != "" {
		line("until", "keys end on %s", ex.End)
	}
	if ex.Reason != "" {
		line("reason", "%s", ex.Reason)
	}
	if ex.Action == "refuse" {
		line("at", "%s", positionIn(query, ex.Offset))
	}
	if ex.Action == "refuse" && !unfilled(ex) {
		line("sent", "nothing")
		return w.Flush()
	}
	text := strings.TrimSuffix(ex.SQL, "\n")
	if strings.Contains(text, "\n") {
		text = "\n" + text // as it is, so that it can be copied
	}
	line("sent", "%s", text)
	return w.Flush()
}

// actionColours are the colours of actions on a terminal; the others have none.
var actionColours = map[string]colour{"fill": green, "refuse": red}

// unfilled reports whether the policy lets a refused statement go.
func unfilled(ex explain.Explanation) bool {
	return strings.HasPrefix(ex.Reason, "unfilled: ")
}

// meaning says what the action is in a sentence.
func meaning(ex explain.Explanation) string {
	switch {
	case ex.Action == "fill":
		return "the statement gets its keys from keyfill"
	case ex.Action == "keep" && ex.Reason != "":
		return "a placeholder stands in the key's place; its value decides"
	case ex.Action == "keep":
		return "the statement brings its own key"
	case ex.Action == "refuse" && unfilled(ex):
		return "the statement cannot be filled and goes out without a key"
	case ex.Action == "refuse":
		return "the statement is an error, before anything is sent"
	}
	return "no INSERT into a configured table"
}

// places says where the keys travel.
func places(ex explain.Explanation) string {
	if ex.Literal {
		return "in the text; each execution gets new ones"
	}
	var b strings.Builder
	for i, s := range ex.Slots {
		if i == maxPlaces {
			fmt.Fprintf(&b, " and %d more", len(ex.Slots)-i)
			break
		}
		if i > 0 {
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
	return b.String()
}

// positionIn says where a byte stands in a text; columns count bytes.
func positionIn(query string, offset int) string {
	before := query[:min(max(offset, 0), len(query))]
	return fmt.Sprintf("byte %d: line %d, column %d", offset,
		strings.Count(before, "\n")+1, len(before)-strings.LastIndexByte(before, '\n'))
}
