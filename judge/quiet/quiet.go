// Package quiet checks keyfill's answers about harmless texts against a law: if anything in
// a text is unknown, keyfill must not say that the text leaves a session's state unchanged.
package quiet

import (
	"fmt"
	"io"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/wordplaces"
)

// Report counts the texts of a dialect that were judged.
type Report struct {
	Wrong int // the number of texts that break the law

	dialect *dialect.Dialect
	texts   int
	shown   []string
}

// New returns an empty report.
func New(dialectName string) (*Report, error) {
	d, err := dialect.ByName(dialectName)
	if err != nil {
		return nil, err
	}
	return &Report{dialect: d}, nil
}

// Add judges a text with a call of an unknown function instead of each literal, and with an
// unknown word instead of the first word of each statement. It skips a text that defines a
// routine or the like, since only later statements execute the calls in the definition.
func (r *Report) Add(id, text string) {
	d := r.dialect
	statements := wordplaces.UnknownStatements(d, text)
	if len(statements) == 0 {
		return
	}
	for _, answer := range []struct {
		what       string
		leaves     func(*dialect.Dialect, string) bool
		calls      bool // whether changes made by functions matter too
		statements bool
	}{
		{"tables", effects.LeavesTables, d.Numbering.Writing, true},
		{"place", effects.LeavesPlace, d.Family == dialect.FamilyPostgreSQL, true},
		{"settings", session.LeavesSettings, d.Family == dialect.FamilyPostgreSQL, true},
		{"everything", session.IsQuiet, d.Numbering.Writing, true},
		{"transaction", leavesTransaction, false, true},
	} {
		if !answer.leaves(d, text) {
			continue
		}
		var changed []string
		if answer.calls {
			changed = wordplaces.UnknownCalls(d, text)
		}
		if answer.statements {
			changed = append(changed, statements...)
		}
		for _, with := range changed {
			if r.texts++; answer.leaves(d, with) {
				r.Wrong++
				r.shown = append(r.shown, fmt.Sprintf("%s leaves the %s: %s", id, answer.what, with))
			}
		}
	}
}

// leavesTransaction reports whether a text leaves the transaction as it is, or does not
// concern it.
func leavesTransaction(d *dialect.Dialect, text string) bool {
	return words.Concerns(d, text)&words.ConcernsTransaction == 0 || effects.TransactionOf(d, text) == effects.TxUnchanged
}

// Print writes how many texts were judged, and some of those that break the law.
func (r *Report) Print(w io.Writer, examples int) {
	_, _ = fmt.Fprintf(w, "%s: %d texts with what nobody knows, %d of them taken for harmless\n", r.dialect.Name, r.texts, r.Wrong)
	for _, line := range r.shown[:min(examples, len(r.shown))] {
		_, _ = fmt.Fprintf(w, "  %s\n", line)
	}
}
