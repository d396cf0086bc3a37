package plans

import (
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// Reads returns which results of the connection's last statement the text reads, judged by
// its words outside of strings and comments, in every dialect. It does not notice a view, a
// trigger or a function that reads them. The first call computes the result.
func (pl *Plan) Reads() effects.Reads {
	return effects.Reads(pl.Lazy.reads.get(func() uint8 { return uint8(effects.ReadsOf(pl.Dialect, pl.Changes.Query)) }))
}

// IsQuiet reports whether the text is one INSERT whose own values draw no number of a
// sequence or identity. The first call computes the result.
func (pl *Plan) IsQuiet() bool {
	return pl.Lazy.quiet.is(func() bool {
		steps := effects.SessionSteps(pl.Dialect, pl.Changes.Query)
		return len(steps) == 1 && steps[0].Quiet
	})
}
