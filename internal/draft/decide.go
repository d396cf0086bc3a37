package draft

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// verdict is the decision about a table.
type verdict uint8

const (
	filled    verdict = iota // keyfill fills the table's keys: it has an entry
	numbered                 // the engine makes the table's keys
	empty                    // the table has no key to fill
	undecided                // a person has to decide
)

// item is one table of the draft, or several tables that share an entry.
type item struct {
	verdict verdict
	found   *catalog.Listed // the table, or the first of the tables
	names   []string        // the names of the tables, for comments
	table   string          // the table's name in a policy
	column  string          // the column's name in a policy; empty if there is no line to write
	rest    string          // the rest of the entry after the column
	why     []string        // the reasons for the decision, as sentences
	notes   []string        // the notes that keyfill check adds
	line    int             // the line of the entry in the text, from 1; zero if it has none
}

// entry returns the line to write, which may be empty.
func (i *item) entry() string {
	if i.column == "" {
		return ""
	}
	return fmt.Sprintf("%s: {column: %s%s}", catalog.YAMLString(i.table), catalog.YAMLString(i.column), i.rest)
}

// isOwn reports whether a table is one of keyfill's own tables.
func isOwn(name string) bool {
	switch strings.ToLower(name) {
	case "keyfill_sequences", "keyfill_workers", "keyfill_series":
		return true
	}
	return false
}

// decider decides about the tables of one database.
type decider struct {
	d    *dialect.Dialect
	over *catalog.Overview
}

// decide returns the decision about a table. It returns nil for a table into which no
// application inserts by name: a view, a partition, one of keyfill's own.
func (x *decider) decide(t *catalog.Listed) *item {
	if t.View || t.Partition || isOwn(t.Name) {
		return nil
	}
	schema := ""
	if !t.Visible {
		schema = t.Schema
	}
	i := &item{verdict: undecided, names: []string{shownTable(t)}, found: t, table: catalog.PolicyTable(x.d, schema, t.Name)}
	switch {
	case !utf8.ValidString(t.Name + t.Schema):
		i.table = strings.ToValidUTF8(i.table, "\uFFFD")
		i.say("Its name is not UTF-8, and a policy cannot hold it.")
		return i
	case t.Child:
		i.say("It inherits from another table, which shows its rows: one source has to fill both.")
		return i
	}
	switch len(t.Primary) {
	case 0:
		x.withoutPrimary(i)
	case 1:
		x.decideColumn(i, t.Primary[0], true)
	default:
		x.decideSeveral(i)
	}
	x.sayBeside(i)
	x.mustCompile(i)
	return i
}

func (i *item) say(format string, args ...any) {
	i.why = append(i.why, fmt.Sprintf(format, args...))
}

// columnOf returns the column with the given name, spelled as in the catalog; nil if there
// is none.
func columnOf(t *catalog.Listed, name string) *catalog.Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// decideColumn decides about a table whose key is one column. isKey says that the column
// alone is the primary key.
func (x *decider) decideColumn(i *item, name string, isKey bool) {
	col := columnOf(i.found, name)
	if col == nil {
		i.say("Its key is %s, which is no column that an INSERT names.", shown(name))
		return
	}
	parents := x.over.Parents(i.found, name)
	trigger := i.found.TriggerOn(name)
	switch {
	case col.Generated:
		i.verdict = empty
		i.say("%s is computed by the engine.", shown(name))
		return
	case col.Identity != "" || col.RowID:
		x.decideNumbered(i, col)
		return
	case len(parents) > 0:
		i.verdict = empty
		i.say("%s is the key of %s.", shown(name), shownTable(parents[0]))
		return
	case trigger != nil && (!trigger.SetsOnlyNull(name) || col.Integer):
		i.verdict = numbered
		i.say("The trigger %s sets %s: drop it before keyfill fills the column.", shown(trigger.Name), shown(name))
		x.propose(i, col)
		return
	case i.found.MakesDefault(name) && !isUUIDDefault(i.found.Default[name]):
		i.verdict = numbered
		i.say("The default of %s makes its keys, and a source makes others: drop the default before keyfill fills the column.", shown(name))
		x.propose(i, col)
		return
	}
	fits := x.propose(i, col)
	meant := x.meantTable(i.found, name)
	switch {
	case !fits:
		i.say("%s is %s%s, which no source suits: the application brings the key.", shown(name), typeOf(col), collationOf(col))
	case meant != nil:
		i.say("%s is called as the key of %s is: the application brings that.", shown(name), shownTable(meant))
	case isConstant(i.found.Default[name]):
		i.say("%s has the default %s, so that the table may be one of a single row, or the application brings the key.", shown(name), shown(i.found.Default[name]))
	case col.Integer && !col.Text && !col.Indexes.LeadsIndex:
		i.say("No index begins with %s, so that keyfill cannot ask for its greatest value: say start: in the source, or make an index.", shown(name))
	case !col.UUID && !IsKeyName(i.found.Name, name):
		i.say("%s may have a meaning of its own, which the application brings.", shown(name))
		x.sayNumbers(i, col)
	default:
		i.verdict = filled
		x.explain(i, col, isKey)
	}
}

// sayNumbers adds that keyfill can number a column of text, as INV-2026-00042, if its name
// is a usual one for a number. The catalog does not show whether the texts count, and by what, so that
// no format is proposed.
func (x *decider) sayNumbers(i *item, col *catalog.Column) {
	if col.Text && !col.UUID && isCountName(col.Name) {
		i.say("If %s counts, as INV-2026-00042 does, docs/numbers.md has the source.", shown(col.Name))
	}
}

// sayBeside adds what sayNumbers says of columns beside the key on which a unique index is.
func (x *decider) sayBeside(i *item) {
	for _, index := range i.found.Unique {
		if len(index) == 0 {
			continue
		}
		name := index[len(index)-1]
		if col := columnOf(i.found, name); col != nil && !slices.Contains(i.found.Primary, name) && !col.Generated && len(x.over.Parents(i.found, name)) == 0 {
			x.sayNumbers(i, col)
		}
	}
}

// propose sets the item's line to the source that suits a column, and reports whether there
// is such a source.
func (x *decider) propose(i *item, col *catalog.Column) bool {
	fit, ok := FitOf(x.d, col)
	if ok {
		i.column, i.rest = catalog.PolicyColumn(x.d, col.Name), fit.Rest
	}
	return ok
}

// explain adds the reasons for an entry to the item.
func (x *decider) explain(i *item, col *catalog.Column, isKey bool) {
	fit, _ := FitOf(x.d, col)
	i.say("%s is %s%s: %s. %s", shown(col.Name), typeOf(col), collationOf(col), fit.Why, fit.Instead)
	if col.Integer && !col.Text && isStreamName(i.found.Name) {
		i.say("Is it read by %s > last? Then take {kind: sequence, transaction: joined}.", shown(col.Name))
	}
	if !isKey {
		i.say("%s is not the primary key alone.", shown(col.Name))
	}
}

// decideNumbered decides about a column that the engine numbers.
func (x *decider) decideNumbered(i *item, col *catalog.Column) {
	i.verdict = numbered
	by := col.Identity
	if by == "" {
		by = "the rowid"
	}
	i.say("%s is %s, %s.", shown(col.Name), shown(col.Type), by)
	switch {
	case col.Integer && !col.Text && col.Bits < 31:
		i.say("Sources of integers give 31 bits or more.")
		return
	case col.IdentityAlways && col.Identity == "IDENTITY":
		i.say("Make it a column without IDENTITY first.")
		return
	case col.IdentityAlways:
		i.say("Make it GENERATED BY DEFAULT first.")
	}
	i.column = catalog.PolicyColumn(x.d, col.Name)
	bits := ""
	if col.Integer && col.Bits < 63 {
		bits = ", max_bits: 31"
		if col.Bits >= 53 {
			bits = ", max_bits: 53"
		}
	}
	switch {
	case x.draws(col):
		i.rest = bits + ", source: native"
	case col.RowID && col.Identity == "":
		i.rest = bits + sequence
		i.say("SQLite has no counter that could be raised: stop programs without keyfill first.")
	case col.Identity == "AUTO_INCREMENT" && !col.Indexes.LeadsIndex:
		i.column = ""
		i.say("The counter counts within the columns before it in the index.")
	default:
		i.rest = bits + ", source: {kind: sequence, ensure_schema: true, " + toBePrinted + "}"
	}
}

// draws reports whether a source of kind native can draw from the sequence that fills a
// column.
func (x *decider) draws(col *catalog.Column) bool {
	return col.Identity != "AUTO_INCREMENT" && col.Identity != "AUTOINCREMENT" && !col.RowID
}

// isConstant reports whether a column's default is a value that is the same for each row.
func isConstant(expr string) bool {
	return expr != "" && !strings.HasPrefix(strings.ToLower(expr), "null") && !strings.Contains(expr, "(")
}

// isUUIDDefault reports whether a default makes UUIDs.
func isUUIDDefault(expr string) bool {
	expr = strings.ToLower(expr)
	return strings.Contains(expr, "uuid") || strings.Contains(expr, "newid") || strings.Contains(expr, "newsequentialid") || strings.Contains(expr, "sys_guid")
}

// meantTable returns the table whose key the column's name seems to mean, as user_id means
// the key of users even if no foreign key says so; nil if there is none.
func (x *decider) meantTable(t *catalog.Listed, column string) *catalog.Listed {
	if IsKeyName(t.Name, column) {
		return nil
	}
	for _, other := range x.over.Tables {
		name := strings.ToLower(column)
		if other == t || other.View || other.Schema != t.Schema || !strings.HasSuffix(name, "id") {
			continue
		}
		for _, one := range singulars(strings.ToLower(other.Name)) {
			if name == one+"_id" || name == one+"id" {
				return other
			}
		}
	}
	return nil
}

// withoutPrimary decides about a table without a primary key.
func (x *decider) withoutPrimary(i *item) {
	for _, index := range i.found.Unique {
		if len(index) == 1 && index[0] != "" && IsKeyName(i.found.Name, index[0]) {
			x.decideColumn(i, index[0], false)
			return
		}
	}
	i.say("It has no primary key.")
	for n := range i.found.Columns {
		col := &i.found.Columns[n]
		if IsKeyName(i.found.Name, col.Name) && !col.Generated && col.Identity == "" && len(x.over.Parents(i.found, col.Name)) == 0 && x.propose(i, col) {
			i.say("Nothing keeps two rows from having the same %s.", shown(col.Name))
			return
		}
	}
	i.verdict = empty
}

// mustCompile removes the line of an item if a policy does not accept the line, and says
// so.
func (x *decider) mustCompile(i *item) {
	text := i.entry()
	if text == "" || strings.Contains(text, toBePrinted) {
		return
	}
	cfg, err := policy.Parse([]byte("version: 1\ntables:\n  " + text + "\n"))
	if err == nil {
		_, err = cfg.Compile(x.d)
	}
	if err == nil {
		return
	}
	i.column = ""
	if i.verdict == filled {
		i.verdict = undecided
	}
	i.say("A policy cannot hold a line for it.")
}

// shown returns a name or a type in a form that is safe in a comment.
func shown(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(text), `"`), `"`)
}

// shownTable returns the name of a table in a form that is safe in a comment.
func shownTable(t *catalog.Listed) string {
	if t.Visible {
		return shown(t.Name)
	}
	return shown(t.Schema) + "." + shown(t.Name)
}

// typeOf returns the type of a column for a comment. In SQLite it may be missing.
func typeOf(col *catalog.Column) string {
	if col.Type == "" {
		return "of no type"
	}
	return shown(col.Type)
}

// collationOf returns words about a collation under which keys may compare differently from
// what a reader expects; empty for a usual one.
func collationOf(col *catalog.Column) string {
	if !col.Text || col.Collation == "" || slices.Contains([]string{"BINARY", "default"}, col.Collation) {
		return ""
	}
	return " with the collation " + shown(col.Collation)
}
