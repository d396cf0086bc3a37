package plans

import (
	"sync"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// Reads returns which results of the connection's last statement the text reads, judged by
// its words outside of strings and comments, in every dialect. It does not notice a view, a
// trigger or a function that reads them. The first call computes the result.
func (pl *Plan) Reads() effects.Reads {
	pl.Lazy.reads.once.Do(func() { pl.Lazy.reads.reads = effects.ReadsOf(pl.Dialect, pl.Changes.Query) })
	return pl.Lazy.reads.reads
}

// lazyReads holds the result of [Plan.Reads], computed at the first call.
type lazyReads struct {
	once  sync.Once
	reads effects.Reads
}

// IsQuiet reports whether the text is one INSERT whose own values draw no number of a
// sequence or identity. The first call computes the result.
func (pl *Plan) IsQuiet() bool {
	pl.Lazy.quiet.once.Do(func() {
		steps := effects.SessionSteps(pl.Dialect, pl.Changes.Query)
		pl.Lazy.quiet.is = len(steps) == 1 && steps[0].Quiet
	})
	return pl.Lazy.quiet.is
}

// lazyQuiet is the result of [Plan.IsQuiet], computed at the first call.
type lazyQuiet struct {
	once sync.Once
	is   bool
}
