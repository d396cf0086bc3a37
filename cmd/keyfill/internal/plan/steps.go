// Package plan makes the steps that bring keyfill into tables in use, and out of them, for
// keyfill plan. Each plan has a file of its own; figures.go reads their input.
package plan

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	storeengine "github.com/keyfill/keyfill/internal/store/engine"
)

// Step is one step of a plan.
type Step struct {
	Title string `json:"title"`

	// Name says what SQL does, as a part of the name of a file.
	Name string `json:"-"`

	// File is the file that holds SQL or Policy; empty if the plan is written to no folder.
	File string `json:"file,omitempty"`

	// SQL are statements to run in this order, on one connection.
	SQL []string `json:"sql,omitempty"`

	// Run are commands to run in a shell.
	Run []string `json:"run,omitempty"`

	// Again says when, and from where, the user has to run the statements again.
	Again string `json:"again,omitempty"`

	// Policy has the entries of the tables in the policy from this step on, a line each.
	Policy string `json:"policy,omitempty"`

	// Check is a query. Look says what its result has to be.
	Check string `json:"check,omitempty"`
	Look  string `json:"look,omitempty"`
}

// Kinds are the names of the plans.
var Kinds = []string{"there", "handback", "change", "bigint", "uuid"}

// Options say which tables and column a plan is for.
type Options struct {
	Tables []string
	All    bool // all tables of the database that can be planned, instead of Tables
	Column string
	Config string // the policy file; may be empty
	Name   string // the name for a new counter; empty if none is wanted
	Gap    int64
	Layout string // the layout of the plan uuid's keys; empty for the column's usual one

	Stopped bool // for the plan there: programs without keyfill are stopped

	Flags  string // the flags of the database, as the commands in a plan repeat them
	Folder string // the folder to which the plan is written; empty if it is printed only
}

// Make returns the steps of a plan, and a readable summary of the facts that they are made
// from. The kind is one of Kinds.
func Make(ctx context.Context, db *sql.DB, d *dialect.Dialect, kind string, o *Options) (summary string, steps []Step, err error) {
	names := o.Tables
	if o.All {
		if names, err = allTables(ctx, db, d); err != nil {
			return "", nil, err
		}
	}
	var tables []*figures
	left := map[string]string{} // why a table is not planned
	for _, name := range names {
		f, err := readFigures(ctx, db, d, kind, o, name)
		if err != nil && !o.All {
			return "", nil, err
		} else if err != nil {
			left[name] = err.Error()
			continue
		}
		tables = append(tables, f)
	}
	if kind == "uuid" && tables != nil {
		p, err := uuid(ctx, db, tables)
		if err != nil {
			return "", nil, err
		}
		p.leave(names, left)
		steps, err = p.steps(ctx)
		return p.summary(), steps, err
	}
	var planned []tableSteps
	var facts []string
	for _, f := range tables {
		one, err := f.stepsOf(kind)
		if err != nil && !o.All {
			return "", nil, err
		} else if err != nil {
			left[f.written] = err.Error()
			continue
		}
		planned = append(planned, tableSteps{f, one})
		facts = append(facts, f.summary())
	}
	if planned == nil {
		return "", nil, fmt.Errorf("no table of the database can be planned%s", leftLines(names, left))
	}
	summary = strings.Join(facts, "\n")
	if len(left) > 0 {
		summary += "\nLeft as they are:" + leftLines(names, left) + "\n"
	}
	return summary, merge(planned), nil
}

// leftLines returns a line for each table that is not planned.
func leftLines(names []string, left map[string]string) string {
	text := ""
	for _, name := range names {
		if left[name] != "" {
			text += "\n  " + left[name]
		}
	}
	return text
}

// stepsOf returns the steps of a plan other than uuid for one table.
func (f *figures) stepsOf(kind string) ([]Step, error) {
	switch kind {
	case "there":
		return there(f)
	case "handback":
		return handback(f)
	case "change":
		return change(f)
	default:
		return bigint(f)
	}
}

// allTables returns the names of the tables that a name without schema finds, except
// keyfill's own.
func allTables(ctx context.Context, db *sql.DB, d *dialect.Dialect) (names []string, _ error) {
	over, err := catalog.List(ctx, d, catalog.DB(db), nil)
	if err != nil {
		return nil, err
	}
	if !over.IsComplete() {
		return nil, fmt.Errorf("keyfill lists no tables of %s: name each in --table", d.Title)
	}
	for _, t := range over.Tables {
		if t.Visible && !t.View && !t.Partition && !slices.Contains(storeengine.Tables[:], t.Name) {
			names = append(names, catalog.PolicyTable(d, "", t.Name))
		}
	}
	if names == nil {
		return nil, errors.New("the database has no tables: name one in --table, or take another --dsn")
	}
	return names, nil
}

// tableSteps are the steps of a plan for one table.
type tableSteps struct {
	table *figures
	steps []Step
}

// merge returns the steps of several tables as one plan: up to a policy the steps of one
// table after the other, then one policy with the entries of all tables.
func merge(tables []tableSteps) (merged []Step) {
	if len(tables) == 1 {
		return tables[0].steps
	}
	for {
		var policies []tableSteps
		for i := range tables {
			t := &tables[i]
			for len(t.steps) > 0 && t.steps[0].Policy == "" {
				one := t.steps[0]
				one.Title = t.table.written + ": " + one.Title
				one.Name += "-" + t.table.found.Name
				merged, t.steps = append(merged, one), t.steps[1:]
			}
			if len(t.steps) > 0 {
				policies = append(policies, tableSteps{t.table, t.steps[:1]})
				t.steps = t.steps[1:]
			}
		}
		if policies == nil {
			return merged
		}
		merged = append(merged, mergePolicies(policies))
	}
}

// mergePolicies returns one step for the steps with the policies of several tables.
func mergePolicies(tables []tableSteps) Step {
	all := tables[0].steps[0]
	for _, t := range tables[1:] {
		one := t.steps[0]
		if !strings.Contains(all.Title, one.Title) {
			all.Title += "\n   " + t.table.written + ": " + one.Title
		}
		all.SQL = append(all.SQL, one.SQL...)
		all.Policy += "\n" + one.Policy
		all.Check = strings.TrimPrefix(all.Check+"; "+one.Check, "; ")
		if !strings.Contains(all.Look, one.Look) {
			all.Look = strings.TrimSpace(all.Look + " " + one.Look)
		}
	}
	return all
}

// Print writes a step for people.
func (s *Step) Print(out *bufio.Writer, number int) {
	fmt.Fprintf(out, "\n%d. %s\n", number, s.Title)
	if s.File != "" {
		fmt.Fprintf(out, "\n     %s\n", s.File)
	} else {
		for _, query := range s.SQL {
			fmt.Fprintf(out, "\n     %s\n", ended(query))
		}
	}
	if s.Run != nil {
		fmt.Fprintf(out, "\n     %s\n", strings.Join(s.Run, "\n     "))
	}
	if s.File == "" && s.Policy != "" {
		fmt.Fprintf(out, "\n     tables:\n       %s\n", strings.ReplaceAll(s.Policy, "\n", "\n       "))
	}
	if s.Again != "" {
		fmt.Fprintf(out, "\n   %s\n", s.Again)
	}
	if s.Check != "" {
		fmt.Fprintf(out, "\n   Check: %s;\n", s.Check)
	}
	if s.Look != "" {
		fmt.Fprintf(out, "   Look at: %s\n", s.Look)
	}
}

// ended returns a statement with its semicolon, which a PL/SQL block has already.
func ended(query string) string { return strings.TrimSuffix(query, ";") + ";" }
