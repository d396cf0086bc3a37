// Package plan makes the steps that bring keyfill into a table in use, and out of it, for
// keyfill plan. Each plan has a file of its own; figures.go reads their input.
package plan

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Step is one step of a plan.
type Step struct {
	Title string `json:"title"`

	// SQL are statements to run in this order, on one connection.
	SQL []string `json:"sql,omitempty"`

	// Again says when, and from where, the user has to run the statements again.
	Again string `json:"again,omitempty"`

	// Policy is the table's entry in the policy from this step on.
	Policy string `json:"policy,omitempty"`

	// Check is a query. Look says what its result has to be.
	Check string `json:"check,omitempty"`
	Look  string `json:"look,omitempty"`
}

// Kinds are the names of the plans.
var Kinds = []string{"there", "handback", "change", "bigint", "uuid"}

// Options say which table and column a plan is for.
type Options struct {
	Table, Column string
	Config        string // the policy file; may be empty
	Name          string // the name for a new counter; empty if none is wanted
	Gap           int64
	Stopped       bool // for the plan there: programs without keyfill are stopped
}

// Make returns the steps of a plan, and a readable summary of the facts that they are made
// from. The kind is one of Kinds.
func Make(ctx context.Context, db *sql.DB, d *dialect.Dialect, kind string, o *Options) (summary string, steps []Step, err error) {
	f, err := readFigures(ctx, db, d, kind, o)
	if err != nil {
		return "", nil, err
	}
	switch kind {
	case "there":
		steps, err = there(f)
	case "handback":
		steps, err = handback(f)
	case "change":
		steps, err = change(f)
	case "bigint":
		steps, err = bigint(f)
	default:
		steps, err = uuidBeside(f)
	}
	return f.summary(), steps, err
}

// Print writes a step for people.
func (s *Step) Print(out *bufio.Writer, number int) {
	fmt.Fprintf(out, "\n%d. %s\n", number, s.Title)
	for _, query := range s.SQL {
		fmt.Fprintf(out, "\n     %s;\n", strings.TrimSuffix(query, ";")) // a PL/SQL block ends in a semicolon already
	}
	if s.Policy != "" {
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
