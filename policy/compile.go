package policy

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/glob"
)

// Compile checks the configuration for a dialect and returns its policy. If d is nil,
// Compile uses the dialect that the configuration names. Compile returns an error if the
// configuration names a dialect other than d.
//
// A key that names no layout has the default layout of the dialect. A ULID is sent as
// text everywhere, on SQL Server and Oracle too, since only a text type holds a ULID as
// such. Integers are sent as int64.
//
// Compile reads neither the environment nor the host's name nor a clock: a missing
// worker's number is noticed when the source is made.
//
// The error is an [*Error], or several of them joined. It has positions if the
// configuration was read from a file.
func (c *Config) Compile(d *dialect.Dialect) (*Policy, error) {
	if c == nil {
		return nil, &Error{Msg: "the options hold no configuration: set Policy"}
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
	k := &compiler{mistakes: m, config: c, names: namer{d}, policy: &Policy{
		names:  namer{d},
		exact:  make(map[tableName]*entry),
		states: make(map[string]*stateUse),
	}}
	k.readSettings(d)
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
		d, _ = dialect.ByName(c.Dialect) // ByName cannot fail, since the name was checked before
	case c.Dialect != "" && c.Dialect != d.Name:
		m.wrong(p, "%q is configured, but the database is %s; leave it out", c.Dialect, d.Title)
	}
	return d
}

// compiler turns a checked configuration into a policy.
type compiler struct {
	*mistakes
	config *Config
	names  namer
	policy *Policy

	named map[string]Source // the sources of the configuration with their defaults, by name
	uses  []keyUse
	added map[sourceID]bool // the sources that the policy already has
}

// keyUse is one key column of an entry of tables:.
type keyUse struct {
	*entry
	i  int   // the index of the key in keys of the entry
	at place // the place of the key in the file
}

func (u keyUse) key() *stateKey { return &u.keys[u.i] }

func (k *compiler) compile() {
	if s := k.config.DefaultSchema; s != "" {
		k.policy.defaultSchema = k.single(place{}.in("default_schema"), s)
		if parts, msg := k.names.parse(s); msg == "" {
			k.policy.defaultSchema = parts[0].Text
		}
	}
	k.named = make(map[string]Source)
	for _, name := range slices.Sorted(maps.Keys(k.config.Sources)) {
		k.named[name] = k.complete(place{}.in("sources").entry(name), k.config.Sources[name])
	}
	tables := place{}.in("tables")
	for _, p := range k.inOrder(tables, slices.Collect(maps.Keys(k.config.Tables))) {
		k.add(p, k.config.Tables[p.name])
	}
	k.compareGlobs(tables)
	k.nameStates()
}

// compareGlobs sorts the globs, the more specific ones first. It reports each glob that is
// as specific as an earlier one and can match the same table. The message names only the
// first such earlier glob, since each of many globs may overlap with all others.
func (k *compiler) compareGlobs(tables place) {
	globs := k.policy.globs
	slices.SortStableFunc(globs, func(a, b *entry) int { return cmp.Compare(b.literals, a.literals) })
	var alike glob.Index // globs earlier in the list with as many literal characters as e
	for i, e := range globs {
		if i > 0 && e.literals != globs[i-1].literals {
			alike = glob.Index{}
		}
		first := i
		for _, list := range alike.Near(e.schema, e.table) {
			if j := slices.IndexFunc(list, func(j int) bool { return e.meets(globs[j]) }); j >= 0 {
				first = min(first, list[j])
			}
		}
		if first < i {
			k.wrong(tables.entry(e.name), "some tables match this pattern and %s, with as many characters besides * and ?; make one pattern more specific",
				show(globs[first].name))
		}
		alike.Add(e.schema, e.table, i)
	}
}

// complete returns the source at p with its defaults, and reports the settings that do
// not suit the dialect.
func (k *compiler) complete(p place, s Source) Source {
	kind := kindByName(s.Kind)
	if k.config.EnsureSchema {
		s = kind.withDefaultSchema(s, p.section == "sources" || s.Name != "")
	}
	s = kind.complete(s, k.names.d)
	kind.suitAll(k.names, k.mistakes, p, s)
	return s
}

// inOrder returns the entries of a section in the order of the file, or by name if there is
// no file. The order decides which of two contradicting entries is reported: the later one.
func (k *compiler) inOrder(section place, names []string) []place {
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
func (k *compiler) add(p place, t Table) {
	k.policy.cased = k.policy.cased || strings.IndexFunc(p.name, func(c rune) bool { return c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' }) >= 0
	parts, msg := k.names.parse(p.name)
	if msg != "" {
		k.wrong(p, "%s", msg)
		return
	}
	n := len(parts)
	e := &entry{name: p.name, table: parts[n-1], line: k.origin.find(p).line}
	if n > 1 {
		e.schema = parts[n-2]
	}
	e.literals = e.schema.Literals() + e.table.Literals()
	uses := k.rule(p, t, e)
	name := tableName{e.schema.Text, e.table.Text}
	if e.isGlob() {
		k.policy.globs = append(k.policy.globs, e)
	} else if other := k.policy.exact[name]; other != nil {
		k.wrong(p, "the same table as %s; leave one of the two", show(other.name))
		return
	} else {
		e.rule.Table, e.rule.Schema, e.rule.Name = k.names.join(name.schema, name.table), name.schema, name.table
		k.policy.exact[name] = e
		k.policy.inOrder = append(k.policy.inOrder, e)
	}
	k.uses = append(k.uses, uses...)
}

// rule sets the rule of e, the entry of the table at p, except for its name and its
// states. It returns the key columns of e.
func (k *compiler) rule(p place, t Table, e *entry) []keyUse {
	r := Rule{
		Entry:       e.name,
		Columns:     k.columns(p.in("columns"), t),
		Mode:        MoreCautious(k.config.Mode, t.Mode),
		Unsupported: cmp.Or(t.Unsupported, k.config.Unsupported, Refuse),
	}
	var uses []keyUse
	seen := make(map[string]bool)
	keys, places := t.keys(p)
	for i, key := range keys {
		at := places[i].in("column")
		column := k.single(at, key.Column)
		if column == "" {
			continue
		}
		if seen[column] {
			k.wrong(at, "another key of the table has the column %s too; leave one of the two", show(key.Column))
		}
		seen[column] = true
		if r.Columns != nil && !slices.Contains(r.Columns, column) {
			k.wrong(p.in("columns"), "the key column %s is not among them; add it", show(key.Column))
		}
		if sk, filled := k.key(places[i], key, column, t.Fill); filled {
			uses = append(uses, keyUse{e, len(e.keys), places[i]})
			e.keys = append(e.keys, sk)
			e.lines = append(e.lines, k.origin.linesOf(places[i]))
		} else {
			e.identity = append(e.identity, IdentityKey{Column: column, Line: k.origin.linesOf(places[i]).Source})
		}
	}
	for _, u := range uses {
		k.checkScopeOf(u.at, &u.key().RuleKey, r.Columns)
		k.checkFromOf(u.at, &u.key().RuleKey, r.Columns)
	}
	k.checkLearnt(uses)
	r.Identity = len(e.keys) == 0
	e.rule = r
	return uses
}

// columns returns the columns of the table, which are listed at p, folded as the engine
// compares names; or nil if one of them cannot be read.
func (k *compiler) columns(p place, t Table) []string {
	var columns []string
	seen := make(map[string]bool)
	for i, name := range t.Columns {
		column := k.single(p.element(i), name)
		if column == "" {
			return nil
		}
		if seen[column] {
			k.wrong(p.element(i), "%s twice; leave one of the two", show(name))
		}
		seen[column] = true
		columns = append(columns, column)
	}
	return columns
}

// key returns the rule for the key at p, whose folded column is given, in a table whose
// field fill is fill. It returns false if the engine makes the key.
func (k *compiler) key(p place, key Key, column string, fill Fill) (sk stateKey, filled bool) {
	c := k.config
	source, _ := c.resolve(key)
	kind := kindOf(source)
	if kind.isIdentity() {
		return sk, false
	}
	rk := RuleKey{
		Column:  column,
		Layout:  kind.layoutFor(k.names.d, key.Layout),
		Integer: kind.integer,
	}
	name := source.Name
	if _, named := c.Sources[key.Source]; named && key.InPlace == nil {
		rk.Source = k.named[key.Source]
		name = cmp.Or(name, key.Source)
	} else {
		rk.Source = k.complete(p.in("source"), source)
	}
	if key.Layout == "" {
		rk.Prefix = rk.Source.Prefix
	}
	rk.Joined = rk.Source.Kind == KindMaxPlusOne || rk.Source.joined()
	rk.Scope = k.names.foldScope(rk.Source.scope())
	rk.From = k.names.foldScope(rk.Source.from())
	rk.Contiguous = rk.Scope == nil && kind.integer && slices.Contains(contiguousKinds, rk.Source.Kind)
	if column := rk.Source.Period.Column; column != "" {
		rk.PeriodColumn, _ = k.names.single(column)
	}
	rk.Fill = cmp.Or(key.Fill, fill, c.Fill, kind.fillFor(k.names.d, rk.Layout, k.config.zeroIsKey()))
	rk.LastInsertID = k.lastInsertID(p, key, &rk)
	rk.SaysLastInsertID = key.LastInsertID != ""
	if kind.integer {
		rk.MaxBits = cmp.Or(key.MaxBits, 63)
		k.checkWidth(p, &rk)
	}
	rk.Own = name == ""
	sk.RuleKey = rk
	if name != "" {
		sk.name, _ = parseTemplate(name) // a wrong name was reported before
	}
	return sk, true
}

// contiguousKinds are the kinds of sources that answer a request with consecutive
// keys, however many are asked for.
var contiguousKinds = []string{KindSequence, KindNative, KindRecycled, KindSnowflake}

// checkWidth checks that the integers of the key at p can fit its max_bits.
func (k *compiler) checkWidth(p place, rk *RuleKey) {
	at, limit := p.in("max_bits"), int64(math.MaxInt64)>>(63-rk.MaxBits)
	switch s := rk.Source; {
	case s.Kind == KindSnowflake:
		width := s.SnowflakeOptions().Bits.Width()
		switch {
		case width <= rk.MaxBits:
		case rk.MaxBits < 53:
			k.wrong(at, "the source's keys have %d bits, more than %d; leave max_bits out, or take a sequence", width, rk.MaxBits)
		default:
			k.wrong(at, "the source's keys have %d bits, more than %d; say bits: 53 in the source, or leave max_bits out", width, rk.MaxBits)
		}
	case s.Start > limit:
		k.wrong(at, "the source's start, %d, is beyond the last integer, %d; give a lower one", s.Start, limit)
	case s.Series > limit:
		k.wrong(at, "the source's series has %d integers, more than there are, %d; give fewer", s.Series, limit)
	}
}

// single returns the folded form of a name of one part, which is at p. If the name cannot
// be read, single reports the mistake and returns an empty name.
func (k *compiler) single(p place, name string) string {
	folded, msg := k.names.single(name)
	if msg != "" {
		k.wrong(p, "%s", msg)
	}
	return folded
}
