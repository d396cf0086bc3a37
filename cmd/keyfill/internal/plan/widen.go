package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// bigint returns the steps that change an integer column to 64 bits.
func bigint(f *figures) ([]Step, error) {
	switch {
	case !f.column.Integer:
		return nil, fmt.Errorf("%s is %s: a plan bigint needs an integer column", f.ref, f.column.Type)
	case f.engine.widen == "" || f.column.Bits >= 63:
		return []Step{{Title: fmt.Sprintf("Leave the column as it is: %s holds 63 bits.", f.column.Type)}}, nil
	}
	widen := Step{
		Title: "Make the column wider. The server writes the whole table again, and statements on it wait: measure it on a copy, and take an hour with little load." + f.engine.widened,
		SQL:   []string{f.sql(f.engine.widen, "{definition}", f.wideDefinition())},
	}
	if f.definition != nil && strings.Contains(widen.SQL[0], `\`) {
		// The server wrote the definition with backslashes as escapes, so it must be read
		// in a session where backslashes are escapes.
		widen.SQL = append([]string{"SET sql_mode = REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')"}, widen.SQL...)
	}
	if f.counter.Sequence != "" {
		widen.SQL = append(widen.SQL, fmt.Sprintf("ALTER SEQUENCE %s AS bigint", f.counter.Sequence))
	}
	return []Step{{
		Title: "Find the columns that refer to it. Make each of them wider first: on MySQL and MariaDB drop the foreign key, widen both columns, and add the key again.",
		Check: f.sql(f.engine.referring),
		Look:  "every row names a foreign key. Where there is none, go on.",
	}, {
		Title: "See that the programs read the column into 64 bits, also in the middle of a batch: int32 in Go, int in Java and C# and Number beyond 2^53 in JavaScript do not hold it.",
		Check: fmt.Sprintf("SELECT MAX(%s) FROM %s", f.key, f.table),
		Look:  "how much of 31 bits, 2147483647, is used.",
	}, widen, {
		Title: "Take max_bits: 31 out of the policy, in all processes, before a key is beyond 31 bits.",
	}}, nil
}

// wideDefinition returns the definition of the column with a type of 64 bits. It is empty
// if the statement does not have to repeat the definition.
func (f *figures) wideDefinition() string {
	if f.definition == nil {
		return ""
	}
	kind := "BIGINT"
	for _, word := range []string{"unsigned", "zerofill"} {
		if strings.Contains(strings.ToLower(f.definition.Type), " "+word) {
			kind += " " + strings.ToUpper(word)
		}
	}
	return f.definition.With(kind).String()
}

// uuidBeside returns the steps by which a table gets a UUID column beside its key.
func uuidBeside(f *figures) ([]Step, error) {
	name := f.column.Name + "_uuid"
	if f.found.Column(f.dialect, f.dialect.Fold(name, true)) != nil {
		return nil, fmt.Errorf("%s has a column %s already: rename it", f.found.Name, name)
	}
	column, written := f.dialect.QuoteIdent(name), catalog.PolicyColumn(f.dialect, name)
	fill := func(text string, pairs ...string) string {
		return f.sql(text, append(pairs, "{new}", column, "{uuid}", f.engine.uuid, "{index}", f.dialect.QuoteIdent(f.found.Name+"_"+name))...)
	}
	said, index := "", f.engine.index
	if !f.split.CanBeUnique([]string{name}) {
		said, index = f.engine.otherIndex, cmp.Or(f.engine.looseIndex, index)
	}
	indexes := []string{fill(index)}
	if said != "" && f.engine.partIndex != "" {
		indexes = nil
		for _, part := range f.split.Parts {
			quote := f.dialect.QuoteIdent
			indexes = append(indexes, fill(f.engine.partIndex, "{part}", quote(part.Schema)+"."+quote(part.Name), "{index}", quote(part.Name+"_"+name)))
		}
	}
	done := fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s IS NULL", f.table, column)
	steps := []Step{{
		Title: "Add the column, which old programs do not see, and its index." + said,
		SQL:   append([]string{fill(f.engine.add)}, indexes...),
	}, {
		Title:  "Let keyfill fill it for new rows, beside the key, which keeps its own source. Add the entry of the key itself where keyfill fills that too.",
		Policy: fmt.Sprintf("%s: {keys: [{column: %s, source: uuidv7}]}", catalog.YAMLString(f.written), catalog.YAMLString(written)),
	}, {
		Title: fmt.Sprintf("Give keys to the rows that have none: keyfill backfill --table %s --column %s --config FILE, with the flags of this database. Run it once more when the last program without keyfill has ended.", shellWord(f.written), shellWord(written)),
		Check: done,
		Look:  "it is 0.",
	}}
	if f.engine.notNull != "" {
		steps = append(steps, Step{Title: "Let the engine refuse rows without it, when every program that inserts has keyfill.", SQL: []string{fill(f.engine.notNull)}, Check: done, Look: "it is 0."})
	}
	return append(steps, Step{
		Title: "Let readers use the new column, and the tables that refer to this one: each gets a column of its own in the same way, filled by a join over the old key.",
	}), nil
}
