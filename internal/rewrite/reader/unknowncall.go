package reader

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// MayChange reports whether the current token begins a call that may change something: a
// call of a user's function, in an engine whose functions can write.
func (p *Reader) MayChange() bool {
	if !p.Dialect.Numbering.Writing || !p.NextIsPunct('(') {
		return false
	}
	if p.Token.Kind == scan.Quoted || p.PrevEnd > 0 && p.Text[p.PrevEnd-1] == '.' {
		return true
	}
	name := p.TextOf(p.Token)
	if words.NotCalls.Has(name) {
		return false
	}
	// If a space precedes the bracket, some names of the engine's functions mean stored
	// functions instead: MySQL 8.4, section 11.2.5.
	return !words.BracketWords.Has(name) && !(words.Builtins.Has(name) && strings.HasPrefix(p.Text[p.Token.End:], "("))
}
