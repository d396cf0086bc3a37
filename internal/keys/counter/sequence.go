package counter

import (
	"cmp"
	"context"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/policy"
)

// widerColumn is the remedy to log for a counter whose numbers are nearly used up.
const widerColumn = "a wider column and max_bits"

func (dr Making) newSequence(ctx context.Context) (*Counter, error) {
	src := dr.Key.Rule.Source
	facts, columns, err := dr.Columns(ctx)
	if err != nil {
		return nil, err
	}
	src.OnBehind = table.OnBehind(src, dr.Tables.AnyEngine().Dialect, facts.Columns[dr.Index].Numbers)
	mapping, last, err := dr.Key.Bounded(dr.State)
	if err != nil {
		return nil, err
	}
	o := SequenceOptions(src)
	o.Max = last
	row := dr.Key.Row(dr.State, facts, columns)
	ranked := mapping == nil && (len(dr.Key.Rule.Values) == 0 || facts.Columns[dr.Index].Alone)
	if dr.Key.IsWithin() {
		return dr.newScoped(ctx, row, facts, &Counter{Unseen: facts.Unseen, Claimer: claimerOf(src, &row), Home: facts.Columns[dr.Index].Home()})
	}
	if texts := dr.Key.Texts(); texts != nil {
		parts, err := texts.Parts(ctx, dr.Table, dr.Index, facts)
		if err != nil {
			return nil, err
		}
		// A column that is not in strict mode would cut a longer text, and change characters.
		holds := numbering.Holds(dr.Tables.AnyEngine().Dialect, facts.Columns[dr.Index].Collation)
		if mapping, err = texts.AtMost(facts.Columns[dr.Index].Length).Holding(holds).Of(parts); err != nil {
			return nil, err
		}
		last = min(mapping.Last(), last)
		o.Max = last
		row.Columns, ranked = texts.In(row.Columns, parts), texts.IsRanked(facts.Columns[dr.Index].Alone)
	}
	row.Bounds.Max = last
	o.EndRemedy = row.Bounds.Remedy()
	table.MapTo(&row, src, mapping)
	c := &Counter{Unseen: facts.Unseen, Mapping: mapping, Claimer: claimerOf(src, &row)}
	if mapping != nil {
		o.EndRemedy = table.EndRemedy(mapping)
	} else {
		c.WarnAt, c.Remedy = table.WarnAt(last), cmp.Or(o.EndRemedy, widerColumn)
	}
	if !dr.Key.Rule.Shared {
		c.Home = facts.Columns[dr.Index].Home()
	}
	if dr.Key.InTransaction {
		_, err := dr.newJoined(ctx, row, ranked, facts.Columns[dr.Index].Schema, c)
		return c, err
	}
	if src.Kind == policy.KindRecycled {
		return dr.newRecycled(src, row, ranked, facts.Columns[dr.Index].Schema, c)
	}
	if row.Upstream, err = dr.upstream(src, row); err != nil {
		return nil, err
	}
	return dr.countThrough(ctx, src, row, ranked, facts.Columns[dr.Index].Schema, o, c)
}

// countThrough completes a counter that counts in a row. ranked reports that the row
// may be compared with the greatest key.
func (dr Making) countThrough(ctx context.Context, src policy.Source, row sequence.Sequence, ranked bool, schema string, o counting.SequenceOptions, c *Counter) (*Counter, error) {
	var at *numbering.ConnRow
	var full *numbering.FullServer
	var ends statestore.EndingState
	if dr.Tables.StatesOnConnection() && src.Store == "" {
		if numbering.IsElsewhere(dr.On, schema) {
			return nil, numbering.ErrElsewhere
		}
		o.OnConnection = true
		d := dr.Tables.Candidates[0].Dialect
		at = &numbering.ConnRow{Dialect: d, Ranked: ranked, Rows: reserver.New(store.On(d, nil), row)}
		ends = at.Rows
		c.Bound = newBoundOn(row, at)
	} else {
		st, err := dr.storeOf(src, &row, c)
		if err != nil {
			return nil, err
		}
		if dr.On.IsAltered() {
			if row, err = dr.On.OpenHere(ctx, st, row, src.OnBehind, ranked); err != nil {
				return nil, err
			}
			ranked = false // the row was compared with the greatest key already
		}
		rows, err := st.Numbers(row)
		if err != nil {
			return nil, err
		}
		o.Reserver, o.MaxKey = rows, rows.MaxKey
		if full = numbering.FullServerOf(dr.Tables.AnyEngine().Dialect, src, rows); full != nil {
			o.Reserver = numbering.Sparing{Reserver: rows, Full: full}
		}
		ends = statestore.EndingOf(rows)
		c.Bound = newBound(row, rows.Bind)
	}
	if ends != nil && row.Table == nil && row.Procedure == "" && row.Upstream == nil {
		o.Raise = ends.RaiseText
	}
	if !ranked {
		// The greatest key may belong to another value in the stored counter's name, such as
		// another tenant. So the counter may begin above it, but need not stay above it,
		// unless the keys are unique over all values.
		o.MaxKey = nil
	}
	source, err := counting.NewSequence(o, dr.Env())
	if err != nil {
		return nil, err
	}
	c.Numbers = &numbering.BlockSequence{Source: source, Row: at, Ends: ends, Upstream: row.Upstream, Full: full, Columns: row.Columns}
	return c, nil
}
