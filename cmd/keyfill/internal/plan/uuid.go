package plan

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// uuidPlan is the plan uuid of one or several tables.
type uuidPlan struct {
	tables []*figures // the tables whose keys become UUIDs
	swap   *swap      // nil if the plan ends with a column beside the key
	left   []string   // why tables or the swap are left out of the plan
}

// uuid returns the steps from integer keys to UUIDs. If the keys cannot be swapped, the
// steps of a single table end with a UUID column beside its key.
func uuid(ctx context.Context, db *sql.DB, tables []*figures) (*uuidPlan, error) {
	p := &uuidPlan{tables: tables}
	if tables[0].engine.swap == nil {
		if len(tables) > 1 || tables[0].All {
			return nil, fmt.Errorf("keyfill plans no swap of keys on %s: name one --table, for a UUID column beside its key", tables[0].dialect.Title)
		}
		return p, nil
	}
	s, err := newSwap(ctx, db, tables)
	if err != nil {
		return nil, err
	}
	problems, err := s.convert(ctx)
	if err != nil {
		return nil, err
	}
	p.swap = s
	switch {
	case len(problems) == 0:
	case len(tables) == 1 && !tables[0].All:
		p.swap = nil
		for _, one := range problems {
			p.left = append(p.left, one.text)
		}
	case !tables[0].All:
		var texts []string
		for _, one := range problems {
			texts = append(texts, one.text)
		}
		return nil, fmt.Errorf("no plan for these tables:\n  %s", strings.Join(texts, "\n  "))
	}
	for len(problems) > 0 && p.swap != nil { // with --all, the other tables are planned without the tables that have problems
		for _, one := range problems {
			if !slices.Contains(p.left, one.text) {
				p.left = append(p.left, one.text)
			}
			p.tables = slices.DeleteFunc(p.tables, func(f *figures) bool { return f == one.of })
		}
		if len(p.tables) == 0 {
			return nil, fmt.Errorf("no key of the database can be planned:\n  %s", strings.Join(p.left, "\n  "))
		}
		if p.swap, err = newSwap(ctx, db, p.tables); err != nil {
			return nil, err
		}
		if problems, err = p.swap.convert(ctx); err != nil {
			return nil, err
		}
	}
	if p.swap != nil {
		p.tables = p.swap.roots()
	}
	return p, nil
}

// leave adds why tables are not planned, except those whose columns refer to keys.
func (p *uuidPlan) leave(names []string, left map[string]string) {
	for _, name := range names {
		isPlanned := p.swap != nil && slices.ContainsFunc(p.swap.tables, func(t *swapTable) bool {
			return catalog.PolicyTable(t.dialect, t.written(), t.name) == name
		})
		if text := left[name]; text != "" && !isPlanned {
			p.left = append(p.left, text)
		}
	}
}

// summary returns which columns become UUIDs, and what is left out.
func (p *uuidPlan) summary() string {
	var b strings.Builder
	if len(p.tables) == 1 {
		b.WriteString(p.tables[0].summary())
	}
	if p.swap != nil && (len(p.tables) > 1 || len(p.swap.columns()) > 1) {
		b.WriteString("Columns that become UUIDs:\n")
		for _, c := range p.swap.columns() {
			fmt.Fprintf(&b, "  %s", c)
			if c.root != c {
				fmt.Fprintf(&b, ", which refers to %s", c.root)
			}
			b.WriteString("\n")
		}
	}
	if p.left != nil && p.swap != nil {
		fmt.Fprintf(&b, "Left as they are:\n  %s\n", strings.Join(p.left, "\n  "))
	}
	return b.String()
}

// steps returns the steps of the plan.
func (p *uuidPlan) steps(ctx context.Context) ([]Step, error) {
	if p.swap != nil {
		if err := p.swap.nameIndexes(ctx); err != nil {
			return nil, err
		}
	}
	var add, done, notNull, beside, after []string
	said := ""
	fill := Step{Title: "Give keys to the rows that have none: run the commands while programs go on, and once more when the last program without keyfill has ended."}
	for _, f := range p.tables {
		one, err := f.uuidColumn()
		if err != nil {
			return nil, err
		}
		add, done, beside = append(add, one.add...), append(done, one.missing), append(beside, one.beside)
		said = cmp.Or(said, one.said)
		if one.notNull != "" {
			notNull = append(notNull, one.notNull)
		}
		after = append(after, one.after)
		fill.Run = append(fill.Run, one.backfill)
	}
	first := Step{Title: "Add the column, which old programs do not see, and its index." + said, Name: "add-columns"}
	if p.swap != nil {
		if len(p.swap.columns()) > 1 {
			first.Title = "Add the columns, which old programs do not see, and their indexes." + said
		}
		if add = append(add, p.swap.addReferences()...); p.swap.rules.atomic != nil {
			add = p.swap.rules.atomic(add)
		}
	}
	first.SQL = add
	check := strings.Join(done, "; ")
	fill.Check, fill.Look = check, "it is 0."
	steps := []Step{first, {
		Title:  "Let keyfill fill it for new rows, beside the key, which keeps its own source. Add the entry of the key itself where keyfill fills that too.",
		Policy: strings.Join(beside, "\n"),
	}, fill}
	if notNull != nil {
		steps = append(steps, Step{Title: "Let the engine refuse rows without it, when every program that inserts has keyfill.", Name: "not-null", SQL: notNull, Check: check, Look: "it is 0."})
	}
	if p.swap == nil {
		last := Step{Title: "Let readers use the new column, and the tables that refer to this one: each gets a column of its own in the same way, filled by a join over the old key."}
		if p.left != nil {
			last.Title += " This plan does not swap the keys: " + strings.Join(p.left, ". ") + "."
		}
		return append(steps, last), nil
	}
	rest, err := p.swap.steps(ctx, fill.Run, after)
	return append(steps, rest...), err
}

// uuidColumn holds the parts of the plan about the key of one table.
type uuidColumn struct {
	add           []string // the statements that add the column and its index
	said          string   // what the user has to expect of the index
	missing       string   // the query that counts rows without a UUID
	notNull       string   // may be empty
	backfill      string   // the command that fills the column
	beside, after string   // the entry in the policy before and after the swap
}

// uuidColumn returns the parts of the plan about the table's key.
func (f *figures) uuidColumn() (*uuidColumn, error) {
	name := f.uuidName()
	if f.found.Column(f.dialect, f.dialect.Fold(name, true)) != nil {
		return nil, fmt.Errorf("%s has a column %s already: rename it", f.found.Name, name)
	}
	column, written := f.dialect.QuoteIdent(name), catalog.PolicyColumn(f.dialect, name)
	fill := func(text string, pairs ...string) string {
		return f.sql(text, append([]string{"{index}", f.dialect.QuoteIdent(f.uuidIndex()), "{new}", column, "{uuid}", f.uuidType()}, pairs...)...)
	}
	c := &uuidColumn{missing: fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s IS NULL", f.table, column)}
	index := f.engine.index
	if !f.split.CanBeUnique([]string{name}) {
		c.said, index = f.engine.otherIndex, cmp.Or(f.engine.looseIndex, index)
	}
	indexes := []string{fill(index)}
	if c.said != "" && f.engine.partIndex != "" {
		indexes = nil
		for _, part := range f.split.Parts {
			quote := f.dialect.QuoteIdent
			partIndex := f.dialect.QuoteIdent(fitName(f.dialect, part.Name+"_"+f.column.Name, "_uuid"))
			indexes = append(indexes, f.sql(f.engine.partIndex, "{new}", column, "{part}", quote(part.Schema)+"."+quote(part.Name), "{index}", partIndex))
		}
	}
	c.add = append([]string{fill(f.engine.add)}, indexes...)
	if f.index != "" {
		c.add = f.engine.swap.again(f.place(), name, f.index, c.add)
	}
	if f.engine.notNull != "" {
		c.notNull = fill(f.engine.notNull)
	}
	file := "FILE"
	if f.Folder != "" {
		file = shellWord(fileName(f.Folder, 2, policyFileName))
	}
	c.backfill = fmt.Sprintf("keyfill backfill --config %s %s --table %s --column %s", file, f.Flags, shellWord(f.written), shellWord(written))
	layout := ""
	if f.Layout != "" {
		layout = ", layout: " + f.Layout
	}
	key := fmt.Sprintf("{column: %s, source: uuidv7%s}", catalog.YAMLString(written), layout)
	c.beside = "{keys: [" + key + "]}"
	c.after = fmt.Sprintf("{column: %s, source: uuidv7%s}", catalog.YAMLString(f.keyWritten), layout)
	if f.entry != nil {
		c.beside = f.entry.plus(key)
		c.after = f.entry.uuid(f.column.Name, f.Layout, c.after)
	}
	c.beside, c.after = catalog.YAMLString(f.written)+": "+c.beside, catalog.YAMLString(f.written)+": "+c.after
	return c, nil
}

// uuidName returns the name of the column that the plan adds beside the key.
func (f *figures) uuidName() string { return fitName(f.dialect, f.column.Name, "_uuid") }

// uuidIndex returns the name of the new column's unique index.
func (f *figures) uuidIndex() string {
	return cmp.Or(f.index, fitName(f.dialect, f.found.Name+"_"+f.column.Name, "_uuid"))
}

// uuidType returns the SQL type of the columns of UUIDs.
func (f *figures) uuidType() string {
	if f.Layout == LayoutBinary {
		return f.engine.binary
	}
	return f.engine.uuid
}

// LayoutBinary is the value of --layout for UUIDs that are stored as 16 bytes.
const LayoutBinary = "binary"
