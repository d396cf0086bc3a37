package keys

import (
	"cmp"
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// widerColumn is the remedy for a counter whose numbers are used up.
const widerColumn = "a wider column and max_bits"

func (dr making) newSequence(ctx context.Context) (*counter, error) {
	src := dr.key.Rule.Source
	facts, columns, err := dr.columns(ctx)
	if err != nil {
		return nil, err
	}
	src.OnBehind = onBehind(src, dr.tables.AnyEngine().Dialect, facts.Columns[dr.index].numbers)
	mapping, last, err := dr.key.bounded(dr.state)
	if err != nil {
		return nil, err
	}
	o := src.SequenceOptions()
	o.Max = last
	if src.Below > 0 {
		o.EndRemedy = store.BelowRemedy
	}
	row := dr.key.row(dr.state, facts, columns)
	row.Max = last
	mapTo(&row, src, mapping)
	ranked := mapping == nil && (len(dr.key.Rule.Values) == 0 || facts.Columns[dr.index].alone)
	c := &counter{unseen: facts.unseen, mapping: mapping, claimer: claimerOf(src, &row)}
	if mapping != nil {
		o.EndRemedy = keysource.EndRemedy(mapping)
	} else {
		c.warnAt, c.remedy = warnAt(last), cmp.Or(o.EndRemedy, widerColumn)
	}
	if !dr.key.Rule.Shared {
		c.home = facts.Columns[dr.index].home()
	}
	if len(dr.key.Rule.Scope) > 0 {
		return dr.newScoped(ctx, row, c)
	}
	if dr.key.InTransaction {
		_, err := dr.newJoined(ctx, row, ranked, facts.Columns[dr.index].schema, c)
		return c, err
	}
	if src.Kind == policy.KindRecycled {
		return dr.newRecycled(src, row, ranked, facts.Columns[dr.index].schema, c)
	}
	if row.Upstream, err = dr.upstream(src, row); err != nil {
		return nil, err
	}
	return dr.countThrough(ctx, src, row, ranked, facts.Columns[dr.index].schema, o, c)
}

// countThrough completes a counter that counts in a row. ranked says that the row may be
// compared with the greatest key.
func (dr making) countThrough(ctx context.Context, src policy.Source, row sequence.Sequence, ranked bool, schema string, o keysource.SequenceOptions, c *counter) (*counter, error) {
	var at *connRow
	var full *fullServer
	if dr.tables.StatesOnConnection() && src.Store == "" {
		if isElsewhere(dr.on, schema) {
			return nil, errElsewhere
		}
		o.OnConnection = true
		d := dr.tables.Candidates[0].Dialect
		at = &connRow{dialect: d, ranked: ranked, rows: reserver.New(store.On(d, nil), row)}
		c.bound = newBoundOn(row, at)
	} else {
		st, err := dr.storeOf(src, &row, c)
		if err != nil {
			return nil, err
		}
		if dr.on.isAltered() {
			if row, err = dr.on.openHere(ctx, st, row, src.OnBehind, ranked); err != nil {
				return nil, err
			}
			ranked = false // it was compared
		}
		rows, err := st.numbers(row)
		if err != nil {
			return nil, err
		}
		o.Reserver, o.MaxKey = rows, rows.MaxKey
		if full = fullServerOf(src, rows); full != nil {
			o.Reserver = sparing{Reserver: rows, full: full}
		}
		c.ends = endingOf(rows)
		c.bound = newBound(row, rows.Bind)
	}
	if !ranked {
		// The greatest key belongs to any of the values: the state may begin above it,
		// but is not behind because of it, unless the keys are unique over all values.
		o.MaxKey = nil
	}
	source, err := keysource.NewSequence(o, dr.env())
	if err != nil {
		return nil, err
	}
	c.numbers = &blockSequence{source: source, row: at, ends: c.ends, upstream: row.Upstream, full: full, columns: row.Columns}
	return c, nil
}
