package firstpolicy

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/vetreport"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/draft"
	"github.com/keyfill/keyfill/internal/vet"
	"github.com/keyfill/keyfill/policy"
)

// TellCode writes into the comments of a policy what the INSERTs in the source of an
// application show: which tables get no key from them today, and which INSERTs would be
// refused. Entries that are commented out, since the user has to decide about them, are
// judged too.
func TellCode(ctx context.Context, first *draft.Draft, patterns []string) error {
	cfg, err := policy.Parse([]byte(first.Candidates()))
	if err != nil {
		return err // an error would be a bug in keyfill, since each line was parsed before
	}
	judge, err := vet.NewJudge(cfg)
	if err != nil {
		return err
	}
	v, err := vetreport.Read(ctx, judge, patterns, false)
	if err != nil {
		return err
	}
	v.Sort()
	written, err := writtenNames(cfg)
	if err != nil {
		return err
	}
	sum := vet.Summarize(v.Findings)
	for _, table := range sum.Tables {
		if name := written[table.Table]; name != "" {
			first.NoteTable(name, codeNote(table.Actions))
		}
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; !f.Ignored && f.Rule != "" && f.Rule != vet.RuleDynamic && f.Rule != vet.RuleIgnore {
			text := fmt.Sprintf("%s:%d: %s.", f.At.Filename, f.At.Line, f.Message)
			if name := written[f.Table]; name == "" || !first.NoteTable(name, text) {
				first.Remarks = append(first.Remarks, text)
			}
		}
	}
	first.Remarks = append(first.Remarks, fmt.Sprintf("INSERTs in the Go code: %d. Without a key: %d; with the key column: %d; refused: %d; into other tables: %d; put together when the program runs: %d. keyfill vet --all lists them.",
		sum.Inserts, sum.Actions[vet.Fill], sum.Actions[vet.Keep], sum.Actions[vet.Refuse], sum.Actions[vet.Pass], sum.Actions[vet.Dynamic]))
	if note := v.ORMs(); note != "" {
		first.Remarks = append(first.Remarks, note)
	}
	for _, fault := range v.Faults {
		first.Remarks = append(first.Remarks, fmt.Sprintf("Not all of the code was read: %v.", fault))
	}
	return nil
}

// writtenNames maps the names of tables in outcomes to the names that the policy writes.
func writtenNames(cfg *policy.Config) (map[string]string, error) {
	d, err := dialect.ByName(cfg.Dialect)
	if err != nil {
		return nil, err
	}
	p, err := cfg.Compile(d)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, entry := range p.Entries() {
		names[entry.Rule.Table] = entry.Name
	}
	return names, nil
}

// codeNote returns a sentence that says how many INSERTs into a table have a key, as far as
// the code shows.
func codeNote(actions map[string]int) string {
	all := 0
	for _, n := range actions {
		all += n
	}
	filled, kept := actions[vet.Fill], actions[vet.Keep]
	text := fmt.Sprintf("INSERTs into it in the code: %d. ", all)
	switch {
	case kept == all:
		return text + "Each names the key column."
	case filled == all:
		return text + "None brings a key."
	}
	return text + fmt.Sprintf("Without a key: %d; with the key column: %d; refused: %d; put together when the program runs: %d.",
		filled, kept, actions[vet.Refuse], actions[vet.Dynamic])
}
