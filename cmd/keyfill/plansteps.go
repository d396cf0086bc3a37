package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// planStep is one step of a plan.
type planStep struct {
	Title string `json:"title"`

	// SQL are statements to run in this order, on one connection.
	SQL []string `json:"sql,omitempty"`

	// Again says when they are to be run again.
	Again string `json:"again,omitempty"`

	// Policy is what stands in the policy from this step on, under tables.
	Policy string `json:"policy,omitempty"`

	// Check is a query whose answer is to be compared with Look.
	Check string `json:"check,omitempty"`
	Look  string `json:"look,omitempty"`
}

// planKinds are the plans there are.
var planKinds = []string{"there", "handback", "change", "bigint", "uuid"}

// planOptions say what a plan is for.
type planOptions struct {
	table, column string
	config        string // the policy file, "" for none
	name          string // of a new state
	gap           int64
	stopped       bool // of there: old programs do not go on
}

// makePlan returns the steps of a plan, and the figures that it is made of for people. The
// kind is one of planKinds.
func makePlan(ctx context.Context, db *sql.DB, d *dialect.Dialect, kind string, o *planOptions) (summary string, steps []planStep, err error) {
	f, err := readFigures(ctx, db, d, o)
	if err != nil {
		return "", nil, err
	}
	switch kind {
	case "there":
		steps, err = planThere(f)
	case "handback":
		steps, err = planHandback(f)
	case "change":
		steps, err = planChange(f)
	case "bigint":
		steps, err = planBigint(f)
	default:
		steps, err = planUUID(f)
	}
	return f.summary(), steps, err
}

// print writes a step for people.
func (s *planStep) print(out *bufio.Writer, number int) {
	fmt.Fprintf(out, "\n%d. %s\n", number, s.Title)
	for _, query := range s.SQL {
		fmt.Fprintf(out, "\n     %s;\n", strings.TrimSuffix(query, ";")) // a block of Oracle ends in one
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
