package policy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// Compile checks the configuration against a dialect and returns its policy;
// with d nil, the dialect is the one that the configuration names. A dialect
// other than that one is an error.
//
// The layout of a key that names none is that of the dialect, but for ulid: it
// is string everywhere, on SQL Server and Oracle too, since no type but text
// holds a ULID as such.
//
// The error is an [*Error] or several joined; it has positions where the
// configuration was read from a file.
func (c *Config) Compile(d *dialect.Dialect) (*Policy, error) {
	if c == nil {
		return nil, &Error{Msg: "there is no configuration"}
	}
	m := &mistakes{origin: c.origin}
	checker{m, c}.check()
	if err := m.err(); err != nil {
		return nil, err
	}
	d = c.chooseDialect(m, d)
	if err := m.err(); err != nil {
		return nil, err
	}
	k := compiler{mistakes: m, config: c, names: namer{d}, policy: &Policy{
		names: namer{d},
		exact: make(map[tableName]*entry),
	}}
	k.compile()
	if err := m.err(); err != nil {
		return nil, err
	}
	return k.policy, nil
}

// chooseDialect returns d, or the configuration's dialect if d is nil.
func (c *Config) chooseDialect(m *mistakes, d *dialect.Dialect) *dialect.Dialect {
	p := place{}.in("dialect")
	switch {
	case d == nil && c.Dialect == "":
		m.wrong(p, "the dialect is not known; there are %s", dialect.Names())
	case d == nil:
		d, _ = dialect.ByName(c.Dialect) // which was checked
	case c.Dialect != "" && c.Dialect != d.Name:
		m.wrong(p, "%q is configured, but the database is %s", c.Dialect, d.Title)
	}
	return d
}

// compiler turns a configuration that was checked into a policy.
type compiler struct {
	*mistakes
	config *Config
	names  namer
	policy *Policy
}

func (k compiler) compile() {
	if s := k.config.DefaultSchema; s != "" {
		k.policy.defaultSchema = k.single(place{}.in("default_schema"), s)
	}
	tables := place{}.in("tables")
	for _, p := range k.inOrder(tables, slices.Collect(maps.Keys(k.config.Tables))) {
		k.add(p, k.config.Tables[p.name])
	}
	globs := k.policy.globs
	slices.SortStableFunc(globs, func(a, b *entry) int { return cmp.Compare(b.literals, a.literals) })
	for i, e := range globs {
		for _, f := range globs[i+1:] {
			if f.literals != e.literals {
				break
			}
			if e.meets(f) {
				k.wrong(tables.entry(f.name), "some tables match this and %s, with as many characters besides * and ?; make one more specific", show(e.name))
			}
		}
	}
}

// inOrder returns the entries of a section as they stand in the file, or by
// name, so that of two that clash the later is reported.
func (k compiler) inOrder(section place, names []string) []place {
	var places []place
	for _, name := range names {
		places = append(places, section.entry(name))
	}
	slices.SortFunc(places, func(a, b place) int {
		x, y := k.origin.find(a), k.origin.find(b)
		return cmp.Or(cmp.Compare(x.line, y.line), cmp.Compare(x.column, y.column), cmp.Compare(a.name, b.name))
	})
	return places
}

// add adds the entry at p to the policy.
func (k compiler) add(p place, t Table) {
	parts, msg := k.names.parse(p.name)
	if msg != "" {
		k.wrong(p, "%s", msg)
		return
	}
	n := len(parts)
	e := &entry{name: p.name, table: parts[n-1], rule: k.rule(p, t)}
	if n > 1 {
		e.schema = parts[n-2]
	}
	e.literals = e.schema.literals() + e.table.literals()
	if e.isGlob() {
		k.policy.globs = append(k.policy.globs, e)
		return
	}
	name := tableName{e.schema.text, e.table.text}
	if other := k.policy.exact[name]; other != nil {
		k.wrong(p, "the same table as %s", show(other.name))
		return
	}
	e.rule.Table = k.names.join(name.schema, name.table)
	e.rule.Keys = k.names.keysFor(e.rule.Keys, name)
	k.policy.exact[name] = e
}

// rule returns the rule for the table at p but for its name and those of its
// states.
func (k compiler) rule(p place, t Table) Rule {
	r := Rule{
		Columns:     k.columns(p.in("columns"), t),
		Mode:        MoreCautious(k.config.Mode, t.Mode),
		Unsupported: cmp.Or(t.Unsupported, k.config.Unsupported, Refuse),
	}
	seen := make(map[string]bool)
	keys, places := t.keys(p)
	for i, key := range keys {
		at := places[i].in("column")
		column := k.single(at, key.Column)
		if column == "" {
			continue
		}
		if seen[column] {
			k.wrong(at, "%s twice", show(key.Column))
		}
		seen[column] = true
		if r.Columns != nil && !slices.Contains(r.Columns, column) {
			k.wrong(p.in("columns"), "the key column %s is not among them", show(key.Column))
		}
		if rk, filled := k.key(key, column, t.Fill); filled {
			r.Keys = append(r.Keys, rk)
		}
	}
	r.Identity = len(r.Keys) == 0
	return r
}

// columns returns the folded columns of the table, which are listed at p, or
// nil when one is not understood.
func (k compiler) columns(p place, t Table) []string {
	var columns []string
	seen := make(map[string]bool)
	for i, name := range t.Columns {
		column := k.single(p.element(i), name)
		if column == "" {
			return nil
		}
		if seen[column] {
			k.wrong(p.element(i), "%s twice", show(name))
		}
		seen[column] = true
		columns = append(columns, column)
	}
	return columns
}

// key returns the rule for a key, whose folded column is given, in a table with
// a fill; false when the engine makes it.
func (k compiler) key(key Key, column string, fill Fill) (rk RuleKey, filled bool) {
	c := k.config
	source, _ := c.resolve(key)
	kind := kindByName(source.Kind)
	if kind.isIdentity() {
		return rk, false
	}
	rk = RuleKey{
		Column: column,
		Source: kind.complete(source),
		Layout: kind.layoutFor(k.names.d, key.Layout),
		Fill:   cmp.Or(key.Fill, fill, c.Fill, fillAll),
		own:    true,
	}
	if _, named := c.Sources[key.Source]; named && key.InPlace == nil {
		rk.State, rk.own = key.Source, false
	}
	return rk, true
}

// single returns the folded form of a name of one part, which stands at p, or
// "" when it is not understood.
func (k compiler) single(p place, name string) string {
	folded, msg := k.names.single(name)
	if msg != "" {
		k.wrong(p, "%s", msg)
	}
	return folded
}
