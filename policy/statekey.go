package policy

import (
	"fmt"
	"slices"
	"strings"
)

// StateFor returns State with the values of an execution for each {value:x}; value
// returns the value called x, or false if it is missing. The error is an [*Error]: a
// value is missing or empty, State names a schema that is not known, or the result is
// no name that a store can hold. It never holds a value.
func (k RuleKey) StateFor(value func(name string) (string, bool)) (string, error) {
	if k.fault != "" {
		return "", &Error{Msg: k.fault}
	}
	if len(k.Values) == 0 {
		return k.State, nil
	}
	var b strings.Builder
	for _, p := range k.state {
		if p.word != wordValue {
			b.WriteString(p.text)
			continue
		}
		v, ok := value(p.text)
		if !ok || v == "" {
			return "", &Error{section: "value", Msg: fmt.Sprintf("the state %s needs the value %q, which is not given: keyfill.WithValue(ctx, %[2]q, …)",
				showState(k.State), p.text)}
		}
		b.WriteString(v)
	}
	if name := b.String(); (len(k.Scope) > 0 || k.PeriodColumn != "" || !k.Source.Period.isNone()) && strings.HasSuffix(name, "]") && strings.Contains(name, "[") {
		return "", &Error{section: "value", Msg: fmt.Sprintf("the state %s with its values ends as the row of a parent or of a period does, in [ and ]: give values without brackets", showState(k.State))}
	}
	if msg := stateFault(b.String()); msg != "" {
		return "", &Error{Msg: fmt.Sprintf("the state %s with its values: %s", showState(k.State), msg)}
	}
	return b.String(), nil
}

// stateKey is a key of an entry whose state (counter) has no name yet, since the table is
// not known.
type stateKey struct {
	RuleKey

	// name is the template of the state's name; nil if each table and column has its
	// own state.
	name template

	// wide reports whether several tables of a glob may share the state (counter).
	wide bool

	// apart reports whether the state's name contains the table's schema even if the entry
	// names no schema.
	apart bool
}

// stateUse holds the facts about a state (counter) that follow from its name alone.
type stateUse struct {
	source  Source
	columns []ColumnRef // the columns of the entries without wildcards
	isOf    map[ColumnRef]bool
	shared  bool
	maxBits int // the least MaxBits (width of an integer) of the state's keys
}

// namesSchema reports whether the name of a state (counter) of e contains {schema}.
func (e *entry) namesSchema() bool {
	return slices.ContainsFunc(e.keys, func(k stateKey) bool { return k.name.has(wordSchema) })
}

// tells reports whether the name t distinguishes all tables that e matches, so that each has
// a state (counter) of its own.
func (e *entry) tells(t template) bool {
	if !e.isGlob() || t == nil {
		return true
	}
	return t.has(wordTable) && (!e.schema.Wild || t.has(wordSchema))
}

// keysFor returns the keys of e for a table. The schema in full is empty if it is not known.
func (p *Policy) keysFor(e *entry, full tableName) []RuleKey {
	var keys []RuleKey
	for _, k := range e.keys {
		keys = append(keys, p.keyFor(e, k, full))
	}
	return keys
}

func (p *Policy) keyFor(e *entry, k stateKey, full tableName) RuleKey {
	rk, ref := k.RuleKey, p.nameState(e, &k, full)
	if rk.state = k.name; rk.state.has(wordSchema) {
		rk.fault = fmt.Sprintf("the state %s is named after the table's schema, which is not known: say default_schema:, or schema.table in the statement",
			showState(rk.state.String()))
	} else if Stateful(rk.Source) {
		rk.fault = rk.state.fault()
	}
	rk.State, rk.Values = rk.state.String(), rk.state.values()
	rk.Shared, rk.Columns = k.wide, []ColumnRef{ref}
	use := p.states[rk.state.id()]
	switch {
	case use == nil:
	case !use.source.equal(rk.Source), !use.shared && !use.isOf[ref]:
		// A name that belongs to another column occurs only for a table that a glob
		// matches, if the table's name makes the name of its state equal to the name of
		// another column's state. Compile has refused the other cases.
		if Stateful(rk.Source) {
			rk.fault = fmt.Sprintf("the state %s belongs to another column too: say name: in the source of one of them",
				showState(rk.State))
		}
	case use.shared:
		rk.Source, rk.Shared, rk.Columns = use.source, true, use.columns
		rk.MaxBits = min(rk.MaxBits, use.maxBits)
		if !use.isOf[ref] {
			rk.Columns = append(slices.Clone(use.columns), ref)
		}
	default:
		rk.Source = use.source
	}
	return rk
}

// nameState sets the name of the state (counter) of k, a key of e, for a table. It returns
// the key column.
func (p *Policy) nameState(e *entry, k *stateKey, full tableName) ColumnRef {
	n := full
	if e.isBare() && !k.name.has(wordSchema) && !k.apart {
		n.schema = ""
	}
	if k.name == nil {
		k.name = literally(p.names.join(n.schema, n.table, k.Column))
	} else {
		k.name = k.name.of(n)
	}
	return ColumnRef{n.schema, n.table, k.Column}
}
