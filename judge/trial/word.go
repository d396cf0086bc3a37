package trial

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/wordplaces"
	"github.com/keyfill/keyfill/judge/checker"
)

// unknownWords are put at the beginning of a clause of an INSERT, or into it: a later
// version of an engine may give them a meaning.
var unknownWords = []string{"kfnew", "kfnew kfother", "kfnew (1)", "kfnew = 1", "kfnew SELECT 1"}

// Words counts the outcomes of the INSERTs of a text with an unknown word in their
// clauses.
type Words struct {
	Inserts, Places, Texts int
	// Filled counts the texts that are filled and that the engine's parser accepts: in
	// these texts the word is an alias, or a part of an expression.
	Filled int
	Wrong  []string // the texts that are filled, and that the parser does not accept
}

// TryWords puts unknown words into the clauses of the INSERTs that keyfill fills and the
// judge's parser accepts, or the checker if there is no parser.
func (c *Court) TryWords(query string) (w Words) {
	d, err := dialect.ByName(c.dialect)
	if err != nil {
		return w
	}
	statements, err := checker.Split(c.dialect, query)
	if err != nil {
		return w
	}
	for _, s := range statements {
		ex, err := c.ask(s)
		if err != nil || ex.Action != "fill" || !wordplaces.IsInsert(d, s) || !c.takes(s) {
			continue
		}
		w.Inserts++
		for _, offset := range wordplaces.OfClauses(d, s) {
			w.Places++
			for _, word := range unknownWords {
				w.Texts++
				text := wordplaces.With(s, offset, word)
				ex, err := c.ask(text)
				switch {
				case err == nil && ex.Action != "fill":
				case err == nil && (c.parse != nil || c.sqlite != nil) && c.takes(text):
					w.Filled++
				default:
					w.Wrong = append(w.Wrong, text)
				}
			}
		}
	}
	return w
}

// takes reports whether the best judge for the dialect accepts a text as SQL: the engine's
// parser, or the checker if there is no parser.
func (c *Court) takes(query string) bool {
	_, _, judge := c.read(query)
	return judge == Parser || judge == Checker && c.parse == nil && c.sqlite == nil
}

// Add adds the counts of another text.
func (w *Words) Add(other Words) {
	w.Inserts += other.Inserts
	w.Places += other.Places
	w.Texts += other.Texts
	w.Filled += other.Filled
	w.Wrong = append(w.Wrong, other.Wrong...)
}
