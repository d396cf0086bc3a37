package session

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// text is a text that is about to be sent, or prepared. It is read once, when it is asked
// the first time what it leaves.
type text struct {
	dialect *dialect.Dialect
	query   string
	left    rewrite.Left
	read    bool
}

// leaves reports whether the text leaves something.
func (t *text) leaves(what rewrite.Left) bool {
	if !t.read {
		t.left, t.read = rewrite.Leaves(t.dialect, t.query), true
	}
	return t.left&what == what
}
