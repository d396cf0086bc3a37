package words

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Vocabulary holds what is known of the words of an engine: one table, which all questions
// about a whole text ask. A word that is not in it is unknown, and each reader says what
// that means.
type Vocabulary struct {
	words map[string]Facts

	// marked has, for each first letter, the lengths of the words with a mark that counts
	// in the middle of a statement, as bits: most words have none.
	marked [32]uint32

	// anywhere are the verbs that change the transaction wherever they stand.
	anywhere uint64

	// writes says that INSERT, UPDATE and DELETE leave the transaction alone.
	writes bool

	// Leaves is what can be said of a text at all.
	Leaves Left

	// Calls is what a function may change that is not known.
	Calls Left

	// Moves are the words without which statements leave the place that are not read one
	// by one; nil where that is never said of such statements.
	Moves []string

	// Path is the setting of the session that says in which schemas it looks for tables;
	// empty where none does.
	Path string

	Moving  Moving
	Set     SetWords
	Define  DefineWords
	Numbers []SessionNumber

	// Touchy are the signs that other settings make a part of a name or a placeholder.
	Touchy string

	// Rereads are the variables of the server that change how the rest of a text is read.
	Rereads []string
}

// Facts is what is known of a word. The zero value is that of an unknown one.
type Facts struct {
	Effect Effect        // on the transaction, of a statement that begins with it
	Kind   StatementKind // how such a statement is read
	Leaves Left          // what such a statement leaves, unless the rest of it says otherwise
	Marks  Marks         // what it says in the middle of a statement
}

// Marks are what a word says in the middle of a statement, as bits.
type Marks uint16

const (
	// MarkBracket says that a bracket behind the word opens no arguments of a function
	// that somebody can make.
	MarkBracket Marks = 1 << iota
	// MarkFunction says that the word is a function that changes nothing.
	MarkFunction
	// MarkTouching says the same where the bracket touches the word.
	MarkTouching
	// MarkName says that a name follows, behind which a bracket opens no arguments.
	MarkName
	// MarkInto says that the rows of a query become a table.
	MarkInto
	// MarkVerb says that they do not where this word is in front of it.
	MarkVerb
	// MarkMakes says that what EXPLAIN runs may make a table.
	MarkMakes
	// MarkNames says that a statement that begins so makes, renames or drops something.
	MarkNames
	// MarkRenames says that one table may get the name of another one.
	MarkRenames
	// MarkMoves says that the place may change.
	MarkMoves
	// MarkDefines says the same of the definition of something.
	MarkDefines
	// MarkFor says that what a definition calls from here on is called at once.
	MarkFor
	// MarkAlone says that the statement must not stand in a transaction.
	MarkAlone
)

// middle are the marks of the words that are looked at wherever they stand.
const middle = MarkName | MarkInto | MarkMakes | MarkRenames | MarkMoves | MarkDefines | MarkFor | MarkAlone

// lists are the words of a vocabulary by what is known of them.
type lists struct {
	effects map[Effect]string
	kinds   map[StatementKind]string
	leaves  map[Left]string
	marks   map[Marks]string
}

// newVocabulary returns the vocabulary of the words in the lists.
func newVocabulary(v Vocabulary, l lists) *Vocabulary {
	v.words = map[string]Facts{}
	change := func(list string, f func(w *Facts)) {
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
		change(list, func(w *Facts) { w.Effect = e })
	}
	for k, list := range l.kinds {
		change(list, func(w *Facts) { w.Kind = k })
	}
	for left, list := range l.leaves {
		change(list, func(w *Facts) { w.Leaves |= left })
	}
	for m, list := range l.marks {
		change(list, func(w *Facts) { w.Marks |= m })
	}
	for text, w := range v.words {
		if w.Leaves&PlaceLeft != 0 {
			w.Leaves |= WayLeft
			v.words[text] = w
		}
		if w.Marks&middle != 0 {
			v.marked[text[0]&0x1f] |= 1 << len(text)
		}
	}
	v.writes = v.words["insert"].Effect.harmless() && v.words["update"].Effect.harmless() && v.words["delete"].Effect.harmless()
	return &v
}

// Mentioned returns what statements leave that are not read one by one, as far as their
// words tell, including those in strings and comments.
func (v *Vocabulary) Mentioned(text string) (left Left) {
	if v.Moves != nil && !MentionsAny(text, v.Moves) {
		left |= AnyWay
	}
	if !MentionsAny(text, renameWords) {
		left |= RowsLeft
	}
	if !MentionsAny(text, nameMakers) {
		left |= NamesLeft
	}
	return left
}

// Word returns what is known of a word, whatever its case.
func (v *Vocabulary) Word(text string) Facts {
	var lower [maxWord]byte
	if len(text) > len(lower) {
		return Facts{}
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

// MarksOf returns what a word says in the middle of a statement. The word is not empty.
func (v *Vocabulary) MarksOf(text string) Marks {
	if v.marked[text[0]&0x1f]>>len(text)&1 == 0 {
		return 0
	}
	return v.Word(text).Marks
}

// Of returns the vocabulary of a dialect; an empty one for an engine that is not known.
func Of(d *dialect.Dialect) *Vocabulary {
	if int(d.Family) < len(vocabularies) {
		return vocabularies[d.Family]
	}
	return unknownWords
}

// These words are no business of the INSERT grammar that package dialect describes;
// they stand here, beside their only user.
var vocabularies = [...]*Vocabulary{
	0:                        unknownWords,
	dialect.FamilyMySQL:      MySQL,
	dialect.FamilyPostgreSQL: PostgreSQL,
	dialect.FamilySQLite:     SQLite,
	dialect.FamilySQLServer:  SQLServer,
	dialect.FamilyOracle:     Oracle,
}

var unknownWords = newVocabulary(Vocabulary{Moving: Moving{Begins: moveVerbs}}, lists{})
