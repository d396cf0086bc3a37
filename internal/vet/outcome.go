package vet

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/policy"
)

// Outcome is how keyfill treats a text with an INSERT in it.
type Outcome struct {
	Action  string   `json:"action"`            // fill, keep, pass, refuse or dynamic: the most serious action for an INSERT of the text; empty if the finding is no INSERT
	Table   string   `json:"table"`             // the table, as the policy or the text names it; empty if it is not known
	Column  string   `json:"column"`            // the key column; empty for pass and dynamic
	Reason  string   `json:"reason"`            // why the INSERT is refused or dynamic, or why a bound value decides whether its key is kept
	Depends string   `json:"depends,omitempty"` // the facts of the database that decide
	Offset  int      `json:"-"`                 // the byte offset in the text that the reason is about
	Others  []string `json:"-"`                 // the tables of the other INSERTs of the text, each once
}

// unfilledPrefix begins the reason of an INSERT that cannot be filled and is sent anyway,
// because the policy says unsupported: unfilled.
const unfilledPrefix = "unfilled: "

// Unfilled reports whether a refused INSERT is sent without a key.
func (o *Outcome) Unfilled() bool { return strings.HasPrefix(o.Reason, unfilledPrefix) }

// Statement returns the outcome of a text that is known as a whole. It reports false if the
// text has no INSERT.
func (j *Judge) Statement(query string) (Outcome, bool) {
	found := j.probe(query)
	if found.kind == isNone || found.kind == isMistake && !found.configured {
		return Outcome{}, false
	}
	ex, err := j.explainer.Explain(query)
	if err != nil {
		// A source that makes a literal key has failed. That is not the fault of the text,
		// so the INSERT counts as filled.
		return Outcome{Action: Fill, Table: found.table(), Reason: err.Error()}, true
	}
	return Outcome{
		Action: ex.Action, Table: cmp.Or(ex.Table, found.table()), Column: ex.Column,
		Reason: ex.Reason, Depends: ex.Depends, Offset: ex.Offset, Others: found.others(),
	}, true
}

// Reads returns a finding if a text asks the session for a number that keyfill makes
// instead of the engine. It reports false if the text does not.
func (j *Judge) Reads(query string) (Finding, bool) {
	if !effects.MayReadSession(j.dialect, query) {
		return Finding{}, false
	}
	ex, err := j.explainer.Explain(query)
	if err != nil || len(ex.Reads) == 0 {
		return Finding{}, false
	}
	return Finding{Rule: RuleSessionReads, Text: query, Message: strings.Join(ex.Reads, ", ") +
		" does not know the integers that keyfill makes, and answers with another row's: take the key from RETURNING, OUTPUT or keyfill.Record"}, true
}

// Text returns the outcome of a text of Go source. It reports false if no INSERT is in it.
// A text that is not known to be executed, and that is not a whole INSERT, may be the first
// part of an INSERT.
func (j *Judge) Text(t *gosql.Text) (Outcome, bool) {
	if template := j.template(t); template != nil {
		return j.partial(template)
	}
	if t.Known() && !t.Piece {
		query := t.SQL()
		found := j.probe(query)
		switch {
		case found.kind == isNone:
			return Outcome{}, false
		case found.kind == isInsert || t.Sent:
			return j.Statement(j.bound(query))
		case found.kind == isMistake && listed.MatchString(query):
			return j.notWhole(found, reasonNotWhole), true
		}
	}
	return j.partial(t)
}

// listed matches an INSERT that has a table and a list of columns, which no sentence has.
// The text may have a placeholder of the program instead of the rows, or be for another
// engine.
var listed = regexp.MustCompile("(?is)^(?:\\s|--[^\n]*\n|/\\*.*?\\*/)*(?:insert|replace)\\s+(?:\\w+\\s+){0,4}into\\s+[^\\s(]+\\s*" +
	"\\(\\s*[\\w\"`.]+(?:\\s*,\\s*[\\w\"`.]+)*\\s*\\)\\s*(?:values?\\b|[^\\s\\w])")

// reasonNotWhole is the reason for a dynamic text that is not a whole INSERT.
const reasonNotWhole = "as it stands the text is no INSERT of the engine"

// reasonGoesOn is the reason for a dynamic text in which every part is known.
const reasonGoesOn = "the text goes on elsewhere"

// partial returns the outcome of a text of which only parts are known.
func (j *Judge) partial(t *gosql.Text) (Outcome, bool) {
	found, ok := j.complete(t)
	if !ok {
		return Outcome{}, false
	}
	reason := reasonGoesOn
	var unknown []string
	for _, p := range t.Parts {
		if p.Unknown != "" {
			unknown = append(unknown, p.Unknown)
		}
	}
	if len(unknown) > 0 {
		reason = "known when the program runs: " + strings.Join(unknown, "; ")
	}
	return j.notWhole(found, reason), true
}

// notWhole returns the outcome of a text that is only a part of an INSERT, or is not known
// as a whole.
func (j *Judge) notWhole(found inserts, reason string) Outcome {
	if found.passes() {
		return Outcome{Action: Pass, Table: found.table(), Others: found.others()}
	}
	return Outcome{Action: Dynamic, Table: found.table(), Reason: reason, Others: found.others()}
}

// Built returns the outcome of an INSERT that a query builder makes.
func (j *Judge) Built(b *gosql.Built) Outcome {
	o := Outcome{Action: Dynamic, Reason: "made by " + b.Package + " when the program runs"}
	schema, name, err := j.policy.ParseName(b.Table)
	if b.Table == "" || err != nil {
		return o
	}
	o.Table = table{schema: schema, name: name}.String()
	if rule := j.policy.Match(schema, name); rule == nil || rule.Identity {
		o.Action, o.Reason = Pass, ""
	}
	return o
}

// ruleOf returns the policy's rule for the table of an outcome; nil if there is none.
func (j *Judge) ruleOf(name string) *policy.Rule {
	schema, table, ok := strings.Cut(name, ".")
	if !ok {
		schema, table = "", name
	}
	return j.policy.Match(schema, table)
}
