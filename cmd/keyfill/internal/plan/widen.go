package plan

import (
	"fmt"
	"strings"
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
		Name:  "widen",
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
