package fill

import (
	"context"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
)

// passes records what a text of the batch may change before the next text runs.
func (b *Batch) passes(q *queuedText) {
	d, f := b.conn.DB.Dialect(), &b.front
	left := effects.Leaves(d, q.query)
	const place = words.PlaceLeft | words.NamesLeft
	moves := left&place != place
	switch {
	case left&session.Quiet == session.Quiet:
		return
	case q.effect != effects.TxUnchanged && !moves:
		f.Begun = q.effect == effects.TxBegins || f.Begun && q.effect != effects.TxEnds
		return // the text begins or ends a transaction, and does nothing else
	}
	if moves {
		f.Place, f.Path = true, nil
		f.Texts = append(f.Texts, q.query)
	}
	f.Columns = f.Columns || left&words.TablesLeft == 0
	f.Settings = f.Settings || left&words.SettingsLeft == 0
	if names, local, ok := effects.SetsSearchPath(d, q.query); ok && (!local || f.Begun || b.conn.Tx == session.Inside) {
		f.Path = names
	}
}

// forget discards the answers about the session that were queried, or derived, while
// the texts were added: they are true before the batch, but perhaps not after it.
func (b *Batch) forget() {
	if b.front.Place || b.front.Columns || b.front.Settings {
		for i := range b.queued {
			b.conn.NoteSent(b.queued[i].query)
		}
	}
}

// follow makes keyfill decide the next text under the search path that an earlier text of
// the batch sets, as the engine interprets that path.
func (b *Batch) follow(ctx context.Context) error {
	if b.front.Path == nil || b.conn.DB.Detached {
		return nil
	}
	answer, err := catalog.PlaceBy(ctx, catalog.Conn(b.conn.Own()), b.front.Path)
	if err == nil {
		b.conn.Follow(answer)
		b.front.Path = nil
	}
	return err
}
