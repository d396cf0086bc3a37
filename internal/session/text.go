package session

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// text is a text that is about to be sent, or prepared. Its effects are computed once,
// when they are first asked for.
type text struct {
	dialect *dialect.Dialect
	query   string
	left    words.Left
	read    bool
}

// leaves reports whether the text leaves unchanged all parts of the session that what
// contains.
func (t *text) leaves(what words.Left) bool {
	if !t.read {
		t.left, t.read = effects.Leaves(t.dialect, t.query), true
	}
	return t.left&what == what
}
