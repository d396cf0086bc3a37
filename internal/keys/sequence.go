package keys

import (
	"cmp"
	"context"
	"errors"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// blockSequence gives the numbers of a row in a store, which are reserved block by block.
type blockSequence struct {
	source *keysource.Sequence
	row    *connRow // where the row lives on the connection of each statement; nil elsewhere

	// ends is a row with a connection of its own; nil for one that never has an end, or is
	// elsewhere.
	ends endingState

	upstream *upstream.Upstream // that the row gets blocks from; nil for none

	full *fullServer // of a row in the application's own database; nil for others

	columns []store.Column // whose greatest key the source may ask for
}

// reserveApart reserves on a connection of our own: see apart.
func reserveApart(ctx context.Context, g *Session, s *keysource.Sequence, columns []store.Column, n int64) (first int64, err error) {
	if n > 0 {
		if first, ok := s.Take(n); ok {
			return first, nil
		}
	}
	err = apart(ctx, g, columns, func(ctx context.Context) error {
		first, err = s.Reserve(ctx, n)
		return err
	})
	return first, err
}

// reserveApart reserves on a connection of our own, or on that of g where the server has none
// left for that.
func (s *blockSequence) reserveApart(ctx context.Context, g *Session, n int64) (int64, error) {
	if s.full != nil && g != nil && n > 0 {
		if first, ok := s.source.Take(n); ok {
			return first, nil
		}
		if session.IsAsOpened(&g.Conn) {
			if first, ok, err := s.full.reserve(ctx, g, s.source, n); ok {
				return first, err
			}
		}
	}
	return reserveApart(ctx, g, s.source, s.columns, n)
}

func (s *blockSequence) reserve(ctx context.Context, g *Session, n int64) (int64, error) {
	if s.row == nil {
		return s.reserveApart(ctx, g, n)
	}
	g.EnsureStates(ctx)
	first, err := s.source.ReserveOn(ctx, n, s.row.at(g))
	if err == errInside || err != nil && g.ensureStatesAgain(ctx) {
		first, err = s.source.ReserveOn(ctx, n, s.row.at(g))
	}
	return first, noteGone(g, err, g.tables.rows.ensure)
}

func (s *blockSequence) Advance(ctx context.Context, g *Session, to int64) error {
	if s.row == nil {
		return s.source.Advance(ctx, to)
	}
	g.EnsureStates(ctx)
	err := s.source.AdvanceOn(ctx, to, s.row.at(g))
	if err == errInside {
		err = s.source.AdvanceOn(ctx, to, s.row.at(g))
	}
	return err
}

func (s *blockSequence) IsOnConnection() bool { return s.row != nil }

func (s *blockSequence) IsJoined() bool { return false }

func (s *blockSequence) KeysEnd(ctx context.Context, g *Session) (int64, error) {
	switch {
	case s.row != nil:
		return s.row.keysEnd(ctx, g)
	case s.ends != nil:
		return s.ends.KeysEndNow(ctx)
	}
	return 0, nil
}

func (s *blockSequence) suspect() { s.source.Suspect() }

func (s *blockSequence) close(ctx context.Context) error {
	err := s.source.Close(ctx)
	if s.upstream != nil {
		err = errors.Join(err, s.upstream.Close(ctx))
	}
	return err
}

// widerColumn is what helps where a counter comes to its end.
const widerColumn = "a wider column and max_bits"

func (dr making) newSequence(ctx context.Context) (*counter, error) {
	src := dr.key.Rule.Source
	facts, columns, err := dr.columns(ctx)
	if err != nil {
		return nil, err
	}
	src.OnBehind = onBehind(src, dr.db.AnyEngine().Dialect, facts.Columns[dr.index].numbers)
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

// countThrough completes a counter with a row, whose greatest key may be compared
// with where it is ranked.
func (dr making) countThrough(ctx context.Context, src policy.Source, row sequence.Sequence, ranked bool, schema string, o keysource.SequenceOptions, c *counter) (*counter, error) {
	var at *connRow
	var full *fullServer
	if dr.db.StatesOnConnection() && src.Store == "" {
		if isElsewhere(dr.on, schema) {
			return nil, errElsewhere
		}
		o.OnConnection = true
		d := dr.db.Candidates[0].Dialect
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

// isElsewhere reports whether a table of a schema is in another database than the
// connection's own memory.
func isElsewhere(g *Session, schema string) bool {
	return g.InMemory && schema != "" && schema != "main" && schema != "temp"
}

// errElsewhere is returned for a table in a file that is attached to a database in
// memory: each connection would number it for itself.
var errElsewhere = anchor.New("other-table", "the table's file is attached to a database in memory, which keeps no state: give the source a store, or attach the other way")

// MayFollow reports whether a source may follow the keys that INSERTs bring without being
// told to: see [Drawing.FollowsUntold].
func MayFollow(src policy.Source, d *dialect.Dialect) bool {
	return followsUntold(src, d, src.Exclusive || src.Below > 0 || d.LastRowID)
}

// followsUntold reports whether a source follows the keys that INSERTs bring without being
// told to. numbers says that the engine numbers a row of the column whose key is NULL.
//
// A number that goes back with its transaction may come again as an explicit key, since a
// program has kept it; the row of the numbering goes back so where it belongs to the
// transactions of the INSERTs, and on the connection of each statement.
func followsUntold(src policy.Source, d *dialect.Dialect, numbers bool) bool {
	switch {
	case src.Kind != policy.KindSequence && src.Kind != policy.KindRecycled, src.Scope != nil, src.Via == policy.ViaProcedure:
		return false
	case src.Transaction == policy.TransactionJoined:
		return true
	}
	return src.Table == nil && (numbers || d.OneWriter && src.Store == "")
}

// onBehind returns the remedy for a numbering that is behind its table, where the policy
// may leave it open: a process that ends between an INSERT that brings a key and the raise
// leaves the numbering behind. One in the INSERT's own transaction stays with it.
func onBehind(src policy.Source, d *dialect.Dialect, numbers bool) keysource.Remedy {
	if src.Transaction != policy.TransactionJoined && followsUntold(src, d, numbers) {
		return cmp.Or(src.OnBehind, keysource.RemedyAdvance)
	}
	return cmp.Or(src.OnBehind, keysource.RemedyError)
}
