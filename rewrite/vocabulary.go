package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// vocabulary is what is known of the words of an engine: one table, which all questions
// about a whole text ask. A word that is not in it is unknown, and each reader says what
// that means for it. The tables are in the files words*.go.
type vocabulary struct {
	words map[string]wordFacts

	// marked has, for each first letter, the lengths of the words with a mark that counts
	// in the middle of a statement, as bits: most words have none.
	marked [32]uint32

	// anywhere are the verbs that change the transaction wherever they stand.
	anywhere uint64

	// writes says that INSERT, UPDATE and DELETE leave the transaction alone.
	writes bool

	// leaves is what can be said of a text at all.
	leaves Left

	// calls is what a function may change that is not known.
	calls Left

	// moves are the words without which statements leave the place that are not read one
	// by one; nil where that is never said of such statements.
	moves []string
}

// wordFacts is what is known of a word. The zero value is that of an unknown one.
type wordFacts struct {
	effect effect        // on the transaction, of a statement that begins with it
	kind   statementKind // how such a statement is read
	leaves Left          // what such a statement leaves, unless the rest of it says otherwise
	marks  marks         // what it says in the middle of a statement
}

// marks are what a word says in the middle of a statement, as bits.
type marks uint16

const (
	// markBracket says that a bracket behind the word opens no arguments of a function
	// that somebody can make.
	markBracket marks = 1 << iota
	// markFunction says that the word is a function that changes nothing.
	markFunction
	// markTouching says the same where the bracket touches the word.
	markTouching
	// markName says that a name follows, behind which a bracket opens no arguments.
	markName
	// markInto says that the rows of a query become a table.
	markInto
	// markVerb says that they do not where this word is in front of it.
	markVerb
	// markMakes says that what EXPLAIN runs may make a table.
	markMakes
	// markNames says that a statement that begins so makes, renames or drops something.
	markNames
	// markRenames says that one table may get the name of another one.
	markRenames
	// markMoves says that the place may change.
	markMoves
	// markDefines says the same of the definition of something.
	markDefines
	// markFor says that what a definition calls from here on is called at once.
	markFor
	// markAlone says that the statement must not stand in a transaction.
	markAlone
)

// middle are the marks of the words that are looked at wherever they stand.
const middle = markName | markInto | markMakes | markRenames | markMoves | markDefines | markFor | markAlone

// lists are the words of a vocabulary by what is known of them.
type lists struct {
	effects map[effect]string
	kinds   map[statementKind]string
	leaves  map[Left]string
	marks   map[marks]string
}

// newVocabulary returns the vocabulary of the words in the lists.
func newVocabulary(v vocabulary, l lists) *vocabulary {
	v.words = map[string]wordFacts{}
	change := func(list string, f func(w *wordFacts)) {
		for _, text := range strings.Fields(list) {
			if len(text) > maxWord {
				panic("rewrite: a word is too long to be found in a vocabulary: " + text)
			}
			w := v.words[text]
			f(&w)
			v.words[text] = w
		}
	}
	for e, list := range l.effects {
		change(list, func(w *wordFacts) { w.effect = e })
	}
	for k, list := range l.kinds {
		change(list, func(w *wordFacts) { w.kind = k })
	}
	for left, list := range l.leaves {
		change(list, func(w *wordFacts) { w.leaves |= left })
	}
	for m, list := range l.marks {
		change(list, func(w *wordFacts) { w.marks |= m })
	}
	for text, w := range v.words {
		if w.leaves&PlaceLeft != 0 {
			w.leaves |= wayLeft
			v.words[text] = w
		}
		if w.marks&middle != 0 {
			v.marked[text[0]&0x1f] |= 1 << len(text)
		}
	}
	v.writes = v.words["insert"].effect.harmless() && v.words["update"].effect.harmless() && v.words["delete"].effect.harmless()
	return &v
}

// mentioned returns what statements leave that are not read one by one, as far as their
// words tell, in strings and comments too.
func (v *vocabulary) mentioned(text string) (left Left) {
	if v.moves != nil && !mentionsAny(text, v.moves) {
		left |= anyWay
	}
	if !mentionsAny(text, renameWords) {
		left |= RowsLeft
	}
	if !mentionsAny(text, nameMakers) {
		left |= NamesLeft
	}
	return left
}

// of returns what is known of a word, whatever its case.
func (v *vocabulary) of(text string) wordFacts {
	var lower [maxWord]byte
	if len(text) > len(lower) {
		return wordFacts{}
	}
	for i := range len(text) {
		lower[i] = text[i]
		if 'A' <= text[i] && text[i] <= 'Z' {
			lower[i] |= 0x20
		}
	}
	return v.words[string(lower[:len(text)])]
}

// maxWord is the length in bytes of the longest word of a vocabulary.
const maxWord = 28

// marksOf returns what a word says in the middle of a statement. The word is not empty.
func (v *vocabulary) marksOf(text string) marks {
	if v.marked[text[0]&0x1f]>>len(text)&1 == 0 {
		return 0
	}
	return v.of(text).marks
}

// vocabularyOf returns the words of a dialect; none is known where the engine is not.
func vocabularyOf(d *dialect.Dialect) *vocabulary {
	// These words are no business of the INSERT grammar that package dialect describes;
	// they stand here, beside their only user.
	switch d.Family {
	case dialect.FamilyMySQL:
		return mysqlWords
	case dialect.FamilyPostgreSQL:
		return postgresWords
	case dialect.FamilySQLite:
		return sqliteWords
	case dialect.FamilySQLServer:
		return sqlserverWords
	case dialect.FamilyOracle:
		return oracleWords
	}
	return unknownWords
}

var unknownWords = newVocabulary(vocabulary{}, lists{})
