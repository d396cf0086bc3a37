package executor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// Dependence names the facts of the database on which the treatment of a statement
// depends, if its plan was made from the text and the policy alone: see
// [explain.Explanation]. The server's version is named only if it is not known (two
// zeros).
func Dependence(p *plans.Plan, server [2]int) string {
	var on []string
	switch {
	case p.Action == plans.Fill:
		if server == [2]int{} {
			on = append(on, versionOf(p))
		}
		on = append(on, numbersOf(p)...)
		if slices.ContainsFunc(p.Inserts, func(in plans.Insert) bool { return in.Query != nil && in.Query.SetRow }) {
			on = append(on, "the table, since the INSERT is refused if it has a rule, or a composite column here")
		}
	case p.Action != plans.Refuse:
	case execution.Unlisted(p) != nil:
		on = append(on, "the columns of the table")
	case p.Refusal.Reason == rewrite.ErrSettings:
		on = append(on, "the setting by which the session reads text")
	}
	return strings.Join(slices.DeleteFunc(on, func(one string) bool { return one == "" }), "; ")
}

// versionOf describes how the keys of a query's rows depend on the version of the
// server.
func versionOf(p *plans.Plan) string {
	d := p.Dialect
	n := &d.Numbering
	for i := range p.Inserts {
		in := &p.Inserts[i]
		for k := range in.Target.Keys {
			if f := table.Of(in).KeyColumns[k].EngineFunction(d); in.Query != nil && in.Target.Keys[k].Function != "" && p.ByFunction() {
				return version(d, f.Text+" makes the keys", f.Major, f.Minor)
			}
		}
	}
	switch {
	case CallsLater(p):
		return version(d, "keys of 16 bytes are made", n.Tails.Major, n.Tails.Minor)
	case p.Counts():
		return version(d, "rows are numbered", n.Major, n.Minor)
	}
	return ""
}

// version returns a text that says since which version the engine can do something; it
// is empty if every version can.
func version(d *dialect.Dialect, can string, major, minor int) string {
	if major == 0 {
		return ""
	}
	return fmt.Sprintf("the version of the server (%s from %s %d.%d on)", can, d.Title, major, minor)
}

// numbersOf describes the facts, except the server's version, on which the numbering of a
// query's rows depends.
func numbersOf(p *plans.Plan) (on []string) {
	n := &p.Dialect.Numbering
	if !n.Carries || !p.Counts() && !p.Tails() {
		return nil
	}
	on = append(on, "the server's binlog_format, where it has a log")
	switch {
	case !p.Counts():
	case p.NotNumbered() != nil && p.TakesFirst():
		on = append(on, "the table, since the INSERT is refused unless the key has AUTO_INCREMENT or the types of the selected values suit")
	case p.NotNumbered() != nil && p.Doubts(0) != nil:
		on = append(on, "the table, since the INSERT is refused unless the types of the selected values suit")
	}
	return on
}
