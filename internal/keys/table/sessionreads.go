package table

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/policy"
)

// SessionReads returns the parts of a text that ask the session for a number which
// keyfill may have made instead of the engine, such as LAST_INSERT_ID(). Each part is
// returned once, as it is spelled.
func (e *Engine) SessionReads(query string) (reads []string) {
	if !effects.MayReadSession(e.Dialect, query) {
		return nil
	}
	for _, step := range effects.SessionSteps(e.Dialect, query) {
		for _, r := range step.Reads {
			if !slices.Contains(reads, r.Text) && e.mayMake(r) {
				reads = append(reads, r.Text)
			}
		}
	}
	return reads
}

// mayMake reports whether a policy entry may make the number that r asks for. On
// PostgreSQL the name of a sequence is table_column_seq, which shows the column. On other
// engines any entry may be meant.
func (e *Engine) mayMake(r effects.SessionRead) bool {
	p := e.Policy
	switch {
	case r.Of == nil || r.Unknown || !r.Table && e.Dialect.SerialSuffix == "":
		return slices.ContainsFunc(p.Entries(), func(e policy.Entry) bool { return makesInteger(e.Rule, "") })
	case r.Table:
		return makesInteger(ruleOf(p, r.Of), r.Column)
	}
	last := len(r.Of) - 1
	name := strings.TrimSuffix(r.Of[last], e.Dialect.SerialSuffix)
	for i := strings.IndexByte(name, '_'); i >= 0 && i < len(name); i++ {
		if name[i] == '_' && makesInteger(ruleOf(p, append(slices.Clone(r.Of[:last]), name[:i])), name[i+1:]) {
			return true
		}
	}
	return false
}

// ruleOf returns the rule of the policy for a table, nil if there is none.
func ruleOf(p *policy.Policy, name []string) *policy.Rule {
	schema := ""
	if len(name) > 1 {
		schema = name[len(name)-2]
	}
	return p.Match(schema, name[len(name)-1])
}

// makesInteger reports whether a rule makes integers for a column; an empty column
// means any column.
func makesInteger(rule *policy.Rule, column string) bool {
	return rule != nil && !rule.Identity && slices.ContainsFunc(rule.Keys, func(k policy.RuleKey) bool {
		return k.Integer && (column == "" || column == k.Column)
	})
}
