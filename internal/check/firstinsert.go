package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/policy"
)

// classOfProblem returns the class of a finding about a column that does not suit its keys.
// For keys that are numbered by a stored counter, keyfill reads the catalog before the
// first key and refuses the column. Other keys are sent to the engine, which decides.
func (c *checker) classOfProblem(t *target, k *table.Column, col *catalog.Column, problem error) string {
	switch {
	case t.table.AsksCatalog, col == nil, col.Generated, col.IdentityAlways:
		return FirstInsert
	case errors.Is(problem, catalog.ErrType) && c.refusesType(t.found, k, col):
		return FirstInsert
	}
	return SomeInserts
}

// refusesType reports whether the engine refuses a key because of its type or length, and
// does not store it as something else.
func (c *checker) refusesType(t *catalog.Listed, k *table.Column, col *catalog.Column) bool {
	e := c.engine
	if e.refusesType == nil {
		return true
	}
	return e.refusesType(c, t, k.Wanted(), col, c.mode())
}

// mode returns the session's setting that decides whether the engine refuses a value that does
// not fit; empty if the engine has none, or the setting cannot be read.
func (c *checker) mode() string {
	query := c.engine.mode
	if query == "" {
		return ""
	}
	mode, err := c.text(query)
	if err != nil {
		return ""
	}
	return mode
}

// strict begins a word of sql_mode under which the server refuses values that do not fit.
const strict = "STRICT_"

// refusesTypeSQLite returns true for the rowid and for STRICT tables: any other column
// accepts every value.
func refusesTypeSQLite(c *checker, t *catalog.Listed, _ catalog.Key, col *catalog.Column, _ string) bool {
	return col.RowID || c.isStrict(t)
}

// refusesTypePostgreSQL returns false if the engine converts the key: bytes are stored as
// the text \x…, and text as the bytes of its characters.
func refusesTypePostgreSQL(_ *checker, _ *catalog.Listed, wanted catalog.Key, col *catalog.Column, _ string) bool {
	const hexLength = 34
	isBinary := wanted.Layout.Bytes()
	return !(isBinary && col.Text && (col.Length == 0 || col.Length >= hexLength) || !isBinary && col.Binary)
}

// refusesTypeMySQL returns false if the engine cuts the key or stores it as a number, as
// it does unless sql_mode has a word that begins with STRICT_.
func refusesTypeMySQL(_ *checker, _ *catalog.Listed, wanted catalog.Key, col *catalog.Column, mode string) bool {
	isBinary := wanted.Layout.Bytes()
	switch {
	case !strings.Contains(mode, strict), isBinary && col.UUID:
		return false
	case isBinary && col.Text && (col.Length == 0 || col.Length >= 16):
		// In most character sets of one byte, any byte is a character, so that the engine
		// accepts a key of bytes. In utf8 and ascii it refuses some.
		return strings.HasPrefix(col.Collation, "utf8") || strings.HasPrefix(col.Collation, "ascii")
	}
	return true
}

// isStrict reports whether a table of SQLite is STRICT, so that it accepts only values of
// its columns' types. Before 3.37 there is neither such a table nor the pragma.
func (c *checker) isStrict(t *catalog.Listed) bool {
	strict, err := c.text("SELECT strict FROM pragma_table_list WHERE schema = '" + strings.ReplaceAll(t.Schema, "'", "''") +
		"' AND name = '" + strings.ReplaceAll(t.Name, "'", "''") + "'")
	return err == nil && strict == "1"
}

// lookAtIdentity adds a finding for each column whose keys the policy leaves to the engine,
// and which the engine does not fill.
func (c *checker) lookAtIdentity(found *catalog.Listed, entry policy.Entry) {
	for _, key := range entry.Identity {
		col := found.Column(c.d, key.Column)
		if found.View || col == nil || col.RowID || col.Identity != "" || col.Generated || found.Default[col.Name] != "" || col.Default != "" || found.InsertTriggers == catalog.Yes {
			continue
		}
		class := SomeInserts
		if c.refusesNull(found, col) {
			class = FirstInsert
		}
		triggers := "the table has no trigger"
		if c.hidesTriggers(found) {
			class, triggers = Unknown, "whether the table has a trigger is not shown without the right TRIGGER on it"
		}
		// This is only a warning, since the program may send all keys itself.
		c.add(Finding{Severity: Warning, Rule: ruleNoDefault, Table: found.Name, Column: col.Name, Line: key.Line, Class: class,
			Message: fmt.Sprintf("the policy leaves the keys to the engine (source: identity), which does not fill the column: %s has no default and no counter, and %s", col.Type, triggers),
			Remedy:  "in the policy, for table " + entry.Name + ": another source; or have the program bring each key, or the engine fill the column"})
	}
}

// hidesTriggers reports whether the server may hide the triggers of a table from the user:
// MySQL shows them only with the right TRIGGER, MariaDB to all users of the table.
func (c *checker) hidesTriggers(t *catalog.Listed) bool {
	if c.d.Name != dialect.MySQL().Name || c.o.Overview != nil {
		return false
	}
	read, err := catalog.Read(c.ctx, c.d, c.q, c.d.Fold(t.Schema, true), c.d.FoldTable(t.Name, true))
	return err != nil || read.InsertTriggers == catalog.Unknown
}

// refusesNull reports whether the engine refuses a row that has no value for a column without
// a default.
func (c *checker) refusesNull(t *catalog.Listed, col *catalog.Column) bool {
	if t.Nullable[col.Name] {
		return false
	}
	if c.engine.mode == "" {
		return true
	}
	return slices.ContainsFunc(strings.Split(c.mode(), ","), func(word string) bool { return strings.HasPrefix(word, strict) })
}
