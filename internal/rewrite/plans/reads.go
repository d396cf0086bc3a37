package plans

import (
	"sync"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// Reads returns what the plan's text reads, by its words outside of strings and
// comments, whatever the dialect. Reads does not see a view, a trigger or a
// function that asks for them. It is read at the first call and kept.
func (pl *Plan) Reads() effects.Reads {
	pl.reads.once.Do(func() { pl.reads.reads = effects.ReadsOf(pl.Dialect, pl.Query) })
	return pl.reads.reads
}

// lazyReads holds the [effects.Reads] of a text once they were asked for.
type lazyReads struct {
	once  sync.Once
	reads effects.Reads
}

// IsQuiet reports whether the text is one INSERT whose own values draw no number of a sequence
// or identity. It is read at the first call and kept.
func (pl *Plan) IsQuiet() bool {
	pl.quiet.once.Do(func() {
		steps := effects.SessionSteps(pl.Dialect, pl.Query)
		pl.quiet.is = len(steps) == 1 && steps[0].Quiet
	})
	return pl.quiet.is
}

// lazyQuiet is whether a text is quiet, once it was asked for.
type lazyQuiet struct {
	once sync.Once
	is   bool
}
