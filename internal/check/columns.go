package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/policy"
)

// lookAtColumns compares the key columns with the keys that their sources make.
func (c *checker) lookAtColumns() error {
	for _, t := range c.targets {
		for i := range t.table.KeyColumns {
			k := &t.table.KeyColumns[i]
			col := t.found.Column(c.d, k.Name)
			if t.isHandedBack(col) {
				continue
			}
			c.lookAtProblems(t, i, col)
			if col == nil {
				continue
			}
			c.lookAtScope(t, i, col)
			c.lookAtCase(t, i, col)
			c.lookAtNull(t, i, col)
			c.lookAtUnique(t, i, col)
			c.lookAtTrigger(t, i, col)
			c.lookAtDefault(t, i, col)
			if f, found := unordered(c.d, t, i, col); found {
				c.add(f)
			}
		}
	}
	return nil
}

// unordered returns a finding if the layout undoes the order that the source promises.
func unordered(d *dialect.Dialect, t *target, i int, col *catalog.Column) (f Finding, found bool) {
	k := &t.table.KeyColumns[i]
	g, ok := policy.Guarantees(k.Rule.Source, d)
	if !ok || g.In(k.Layout).Ordered == g.Ordered {
		return f, false
	}
	return Finding{Severity: Warning, Rule: ruleUnordered, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Layout, Class: Later,
		Message: fmt.Sprintf("keys of %s are not ordered in the layout %s, so that rows land all over the index, and no range of keys is a range of time", k.Rule.Source.Kind, k.Layout),
		Remedy:  "in the policy, for table " + t.entry.Name + ": layout: binary; leave it if the table has keys of UUID_TO_BIN(uuid, 1)"}, true
}

// ruleOf maps the errors of catalog.Table.Problems to the rules of the findings.
var ruleOf = []struct {
	err  error
	rule string
}{
	{catalog.ErrNoColumn, ruleNoColumn},
	{catalog.ErrGenerated, ruleGenerated},
	{catalog.ErrIdentityAlways, ruleIdentityAlways},
	{catalog.ErrType, ruleType},
	{catalog.ErrCOMB, ruleCOMB},
	{catalog.ErrCollation, ruleCollation},
	{catalog.ErrView, ruleSecondName},
	{catalog.ErrPartition, ruleSecondName},
	{catalog.ErrChild, ruleSecondName},
	{catalog.ErrAttached, ruleSecondName},
	{catalog.ErrNarrow, ruleNarrow},
	{catalog.ErrLive, ruleEngineFills},
}

// lookAtProblems adds a finding for each reason for which keyfill refuses the column when
// it fills an INSERT.
func (c *checker) lookAtProblems(t *target, i int, col *catalog.Column) {
	k := &t.table.KeyColumns[i]
	for _, err := range t.found.Problems(c.d, k.Wanted()) {
		f := Finding{Severity: Error, Table: t.found.Name, Column: k.Name, Line: t.lines(i).Column}
		for _, one := range ruleOf {
			if errors.Is(err, one.err) {
				f.Rule = one.rule
			}
		}
		if col != nil {
			f.Column = col.Name
		}
		var e *catalog.Error
		if errors.As(err, &e) {
			f.Message = e.Err.Error() + ": " + e.Detail
		}
		switch f.Rule {
		case ruleType:
			f.Line = t.lines(i).Layout
		case ruleNarrow, ruleEngineFills, ruleIdentityAlways:
			f.Line = t.lines(i).Source
		}
		if f.Rule == ruleType && keepsBytes(c.d, k, col) {
			f.Severity, f.Class = Warning, Later
			f.Message = fmt.Sprintf("the column takes the text of a key as bytes: %s holds 36 bytes where 16 would do: say layout: binary and make it BINARY(16), or make it a text column", col.Type)
		}
		f.Remedy = c.cure(t, k, col, f.Rule)
		if f.Class == "" {
			f.Class = c.classOfProblem(t, k, col, err)
		}
		c.add(f)
	}
}

// keepsBytes reports whether a column of bytes of MySQL or MariaDB stores the text of a key
// unchanged. keyfill does not refuse such a column when it fills an INSERT.
func keepsBytes(d *dialect.Dialect, k *table.Column, col *catalog.Column) bool {
	wanted := k.Wanted()
	return d.BytesAreText && col != nil && col.Binary && !wanted.State &&
		wanted.Layout == dialect.SequentialAsString && (col.Length == 0 || col.Length >= wanted.Length) &&
		(!strings.HasPrefix(col.Type, "binary(") || col.Length == wanted.Length)
}

// cure returns the remedy for a finding about a column.
func (c *checker) cure(t *target, k *table.Column, col *catalog.Column, rule string) string {
	wanted := k.Wanted()
	inPolicy := func(text string) string { return "in the policy, for table " + t.entry.Name + ": " + text }
	switch rule {
	case ruleNoColumn:
		var names []string
		for _, column := range t.found.Columns {
			names = append(names, column.Name)
		}
		if near := nearest.Names(k.Name, names); len(near) > 0 {
			return inPolicy("column: "+catalog.YAMLString(catalog.PolicyColumn(c.d, near[0]))) + c.orGrant(t, k.Name)
		}
		return inPolicy("column: with a name that the table has") + c.orGrant(t, k.Name)
	case ruleGenerated:
		return inPolicy("source: identity, or another column")
	case ruleIdentityAlways:
		if text := c.engine.alters.byDefault; text != "" {
			return c.onColumn(text, t.found, col)
		}
		return inPolicy("source: identity")
	case ruleEngineFills:
		if strings.Contains(col.Identity, "BY DEFAULT") || col.Identity == "nextval default" {
			if wanted.Integer && wanted.Layout == "" {
				return inPolicy("source: native")
			}
		}
		return inPolicy("source: identity")
	case ruleSecondName:
		return inPolicy("the name of the whole table instead of this one, or exclusive: true in its source")
	case ruleNarrow:
		return c.cureNarrow(t, col, inPolicy)
	case ruleCollation:
		if text := c.alterCollation(t.found, col); text != "" {
			return text
		}
		return inPolicy("alphabet: base32")
	case ruleCOMB:
		return inPolicy("source: uuidv7")
	}
	return c.cureType(t, k, col, inPolicy)
}

// orGrant returns a text with the GRANT that lets the user see a column of MySQL or
// MariaDB, and an empty text for other engines.
func (c *checker) orGrant(t *target, column string) string {
	if c.d.Family != dialect.FamilyMySQL || c.o.Overview != nil {
		return ""
	}
	column = c.d.QuoteIdent(column)
	return "; or, if the table has it and this user no right to it, run: " +
		strings.TrimSuffix(c.grantOn([]string{"SELECT (" + column + ")", "INSERT (" + column + ")"}, tableName(c.d, t.found)), ";")
}

// cureNarrow returns the remedy for a column that is too narrow.
func (c *checker) cureNarrow(t *target, col *catalog.Column, inPolicy func(string) string) string {
	if text := c.alterType(t.found, col, "BIGINT"); text != "" && col.Bits < 53 {
		return text
	}
	for _, bits := range []int{53, 31} {
		if col.Bits >= bits {
			return inPolicy(fmt.Sprintf("max_bits: %d", bits))
		}
	}
	return "make the column one of 8 bytes"
}

// cureType returns the remedy for a column whose type does not suit the keys.
func (c *checker) cureType(t *target, k *table.Column, col *catalog.Column, inPolicy func(string) string) string {
	wanted := k.Wanted()
	isUUID := !wanted.Integer && !wanted.State
	switch {
	case wanted.Prefixed && col.UUID:
		return inPolicy("layout: " + string(c.d.DefaultLayout))
	case isUUID && !wanted.Layout.Bytes() && col.Binary && !col.Text && (col.Length == 0 || col.Length == 16):
		return inPolicy("layout: binary")
	case isUUID && wanted.Layout.Bytes() && (col.UUID || col.Text && (col.Length == 0 || col.Length >= 36)):
		return inPolicy("layout: string")
	case isUUID && !wanted.Prefixed && k.Rule.From == nil && col.Integer && !col.Text && col.Bits >= 63:
		return inPolicy("source: {kind: sequence, ensure_schema: true}")
	case wanted.Integer && wanted.Layout == "" && col.Text && (col.Length == 0 || col.Length >= 19):
		return inPolicy("layout: string")
	case wanted.Integer && wanted.Layout != "" && col.Integer && !col.Text:
		return inPolicy("no layout")
	case wanted.Integer && (col.UUID || col.Binary):
		return inPolicy("source: uuidv7")
	}
	if text := c.alterType(t.found, col, typeFor(c.engine.types, wanted, col)); text != "" {
		return text
	}
	return "make the column one that takes the keys: " + typeFor(c.engine.types, wanted, col)
}

// lookAtNull adds a finding if a row may be stored without a key.
func (c *checker) lookAtNull(t *target, i int, col *catalog.Column) {
	// SQLite accepts NULL in a text column that is a primary key without NOT NULL. There is
	// no finding about that.
	if !t.found.Nullable[col.Name] || slices.Contains(t.found.Primary, col.Name) {
		return
	}
	c.add(Finding{Severity: Warning, Rule: ruleNullable, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Column,
		Message: "the key column may be NULL, so that a row that does not come through keyfill may have no key",
		Remedy:  c.alterNotNull(t.found, col)})
}

// lookAtUnique adds a finding if nothing prevents that a key is stored twice.
func (c *checker) lookAtUnique(t *target, i int, col *catalog.Column) {
	if col.Indexes.UniqueAlone || t.found.View {
		return
	}
	k := &t.table.KeyColumns[i]
	f := Finding{Severity: Warning, Rule: ruleNotUnique, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Column,
		Message: "no unique index is on the key column alone, so that nothing keeps a key from being stored twice"}
	index := []string{col.Name}
	switch {
	case k.Rule.Source.Kind == policy.KindMaxPlusOne:
		f.Severity, f.Message = Error, strings.TrimPrefix(keys.ErrNotUnique.Error(), "keyfill: ")
	case !hasScope(c.d, t, i):
		return // a finding about the scope (the columns of the parent) exists: an index of the remaining columns would refuse rows of a second parent
	case k.IsWithin():
		var within []string
		for _, rc := range k.Rule.Scope {
			if parent := t.found.Column(c.d, rc.Column); parent != nil {
				within = append(within, parent.Name)
			}
		}
		within = append(within, col.Name)
		if t.found.IsUniqueWith(col.Name, within) {
			return
		}
		if texts := k.Texts(); texts != nil && texts.AreApart() == nil {
			break // the text shows all that distinguishes numberings
		}
		index = within
		f.Message = "no unique index is on the key column and the columns that it is numbered within, so that nothing keeps a number from being stored twice"
	case (len(k.StateValues()) > 0 || t.found.Partition || t.found.Split && !c.listsParts()) && t.found.IsInUnique(col.Name):
		return // the index is enough: its other columns separate the rows of each state (stored counter), or of each partition
	}
	if k.Rule.Source.Kind != policy.KindMaxPlusOne && len(k.Rule.Scope) == 0 && t.found.Split && t.found.IsInUnique(col.Name) {
		f.Severity = Info // the index has the partitioning columns too, so that only rows of different partitions can have the same key
	}
	remedy, whole := c.uniqueOf(t.found, index)
	switch {
	case whole:
		f.Remedy = remedy
	case k.Rule.Source.Kind == policy.KindMaxPlusOne:
		f.Remedy = "in the policy, for table " + t.entry.Name + ": another source: " + noIndexOverAll
	case remedy == "":
		return // each partition has its own index, and the engine offers none over the whole table
	default:
		f.Remedy = remedy
		f.Message += ". " + strings.ToUpper(noIndexOverAll[:1]) + noIndexOverAll[1:]
		if f.IsSQL() {
			f.Message += ": one of each partition keeps two rows of a partition apart, and each new partition needs its own"
		}
	}
	c.add(f)
}

// lookAtDefault adds a finding if the engine makes keys of its own for an INSERT that
// keyfill does not see.
func (c *checker) lookAtDefault(t *target, i int, col *catalog.Column) {
	if col.Identity != "" || col.Generated || !t.found.MakesDefault(col.Name) {
		return
	}
	c.add(Finding{Severity: Info, Rule: ruleDefaultFills, Table: t.found.Name, Column: col.Name, Line: t.lines(i).Column,
		Message: "the column has a default that makes a key where an INSERT does not come through keyfill: such keys are of another kind",
		Remedy:  c.dropDefault(t.found, col)})
}
