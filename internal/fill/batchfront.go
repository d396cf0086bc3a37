package fill

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// The texts of a batch are decided before the first of them has run, so that the engine
// says of the session what was true in front of the batch. front is what the texts so far
// may change before the next one runs.
type front struct {
	place    bool // what the names of tables mean
	columns  bool // the columns of tables
	settings bool // the settings of the session
	texts    []string

	path  []string // the search path that the last of them has set, until somebody asks for it
	begun bool     // one of them has begun a transaction that none has ended
}

// mayMove reports whether the names of tables may mean others when the next text of the
// batch runs. f may be nil, as it may for the other methods.
func (f *front) mayMove() bool { return f != nil && f.place }

// mayAlter reports whether tables may have other columns then.
func (f *front) mayAlter() bool { return f != nil && f.columns }

// maySet reports whether the session may have other settings then.
func (f *front) maySet() bool { return f != nil && f.settings }

// inFrontOf returns a text after those that may change what it means.
func (f *front) inFrontOf(query string) string {
	if f == nil || !f.place {
		return query
	}
	return strings.Join(append(f.texts, query), ";\n")
}

// passes notes a text of the batch, behind which the next one runs.
func (b *Batch) passes(q *queuedText) {
	d, f := b.conn.DB.Dialect(), &b.front
	left := rewrite.Leaves(d, q.query)
	const place = rewrite.PlaceLeft | rewrite.NamesLeft
	moves := left&place != place
	switch {
	case left&session.Quiet == session.Quiet:
		return
	case q.effect != rewrite.TxUnchanged && !moves:
		f.begun = q.effect == rewrite.TxBegins || f.begun && q.effect != rewrite.TxEnds
		return // which ends or begins a transaction, and no more
	}
	if moves {
		f.place, f.path = true, nil
		f.texts = append(f.texts, q.query)
	}
	f.columns = f.columns || left&rewrite.TablesLeft == 0
	f.settings = f.settings || left&rewrite.SettingsLeft == 0
	if names, local, ok := rewrite.SetsSearchPath(d, q.query); ok && (!local || f.begun || b.conn.Tx == session.Inside) {
		f.path = names
	}
}

// forget drops what was asked, or followed, while the texts were added: it is true of the
// session before the batch, or behind it.
func (b *Batch) forget() {
	if b.front.place || b.front.columns || b.front.settings {
		for i := range b.queued {
			b.conn.NoteSent(b.queued[i].query)
		}
	}
}

// follow has the next text decided in the search path that a text in front of it sets, as
// the engine reads it.
func (b *Batch) follow(ctx context.Context) error {
	if b.front.path == nil || b.conn.DB.Detached {
		return nil
	}
	answer, err := catalog.PlaceBy(ctx, catalog.Conn(b.conn.Own()), b.front.path)
	if err == nil {
		b.conn.Follow(answer)
		b.front.path = nil
	}
	return err
}
