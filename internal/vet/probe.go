package vet

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/rewrite"
)

// kind is the kind of a text, by whether it is an INSERT.
type kind int

const (
	isNone    kind = iota // no INSERT
	isInsert              // an INSERT that keyfill can read
	isLoose               // an INSERT that nothing fills, or a sentence about an INSERT
	isMistake             // words of an INSERT, but not a valid one
)

// inserts is what probe finds in a text: the kind of the text, and the tables of its
// INSERTs.
type inserts struct {
	kind       kind
	tables     []table // the tables of the INSERTs, each once; of a mistake only the first table
	configured bool    // whether one of the tables is in the policy
}

// table is a table as a text names it.
type table struct {
	schema, name string // in the form in which the engine compares names
	configured   bool   // whether the policy has a rule by which keyfill makes keys for the table
}

func (t table) String() string {
	if strings.Contains(t.schema+t.name, standIn) {
		return ""
	}
	if t.schema == "" {
		return t.name
	}
	return t.schema + "." + t.name
}

// table returns the name of the first table; empty if it is not known.
func (found inserts) table() string {
	if len(found.tables) == 0 {
		return ""
	}
	return found.tables[0].String()
}

// others returns the names of all tables but the first.
func (found inserts) others() (names []string) {
	for _, t := range found.tables[min(1, len(found.tables)):] {
		names = append(names, t.String())
	}
	return names
}

// passes reports whether all tables are known, and none is in the policy.
func (found inserts) passes() bool {
	return len(found.tables) > 0 && !slices.ContainsFunc(found.tables, func(t table) bool {
		return t.configured || t.String() == ""
	})
}

// probeColumn is the name of a key column that no table has, so that every INSERT lacks it.
const probeColumn = "keyfill probe"

// probe reads a text as if every table were in the policy, so that it finds every INSERT.
func (j *Judge) probe(query string) (found inserts) {
	if words.Concerns(j.dialect, query)&words.ConcernsInsert == 0 {
		return found
	}
	lookup := func(schema, name string) *plans.Target {
		rule := j.policy.Match(schema, name)
		return &plans.Target{
			Table: name, Owner: table{schema, name, rule != nil && !rule.Identity},
			Keys: []plans.Key{{Column: probeColumn, Fill: plans.FillMissing, Integer: true, Counted: true, Type: "bigint"}},
		}
	}
	plan := compile.Query(j.dialect, lookup, query)
	note := func(t *plans.Target) {
		if t == nil {
			return
		}
		one := t.Owner.(table)
		if !slices.Contains(found.tables, one) {
			found.tables = append(found.tables, one)
			found.configured = found.configured || one.configured
		}
	}
	for i := range plan.Inserts {
		note(plan.Inserts[i].Target)
	}
	if plan.Refusal != nil {
		note(plan.Refusal.Target)
		for _, t := range plan.Refusal.Others {
			note(t)
		}
	}
	switch {
	case len(found.tables) == 0:
	case plan.Refusal != nil && errors.Is(plan.Refusal, rewrite.ErrGrammar):
		found.kind = isMistake
	case plan.Refusal != nil && !beginning.MatchString(query):
		found.kind = isLoose
	default:
		found.kind = isInsert
	}
	return found
}

// beginning matches a text that begins as a statement with an INSERT does. It distinguishes
// such a statement from a message, if it is not known whether the text is executed.
var beginning = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:` +
	`(?:insert|replace|merge)\s+(?:\w+\s+){0,4}into\b|` +
	`insert\s+(?:all|first)\s|` +
	`with\s+(?:recursive\s+)?\S+\s*(?:\([^)]*\)\s*)?as\b|` +
	`copy\s+\S+\s*(?:\([^)]*\)\s*)?from\b|` +
	`load\s+(?:data|xml)\b|` +
	`explain\s+(?:\w+\s+)?insert\b)`)
