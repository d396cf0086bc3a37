package words

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Vocabulary holds what is known about the words of an engine, in one table for all
// questions about a whole text. A word that is not in it is unknown; each reader decides
// what that means.
type Vocabulary struct {
	words map[string]Facts

	// marked has, for each first letter, the lengths of words whose marks count in the
	// middle of a statement, as bits: most words have none.
	marked [32]uint32

	// anywhere are the verbs that change the transaction wherever they stand.
	anywhere uint64

	// writes reports whether INSERT, UPDATE and DELETE leave the transaction alone.
	writes bool

	// Leaves is the most that any text of the engine can leave unchanged.
	Leaves Left

	// Calls is what an unknown function may change.
	Calls Left

	// Moves are the words that change the schema searched: an unread statement without
	// them leaves it. It is nil if keyfill never relies on that.
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

// Facts is what is known about a word. It is zero for an unknown word.
type Facts struct {
	Effect Effect        // on the transaction, of a statement that begins with it
	Kind   StatementKind // how such a statement is read
	Leaves Left          // what such a statement leaves, unless its other words say otherwise
	Marks  Marks         // what it means in the middle of a statement
}

// Marks are what a word means in the middle of a statement, as bits.
type Marks uint16

const (
	// MarkBracket means that a bracket after the word opens no call of a function that a
	// user can define.
	MarkBracket Marks = 1 << iota
	// MarkFunction means that the word is a function that changes nothing.
	MarkFunction
	// MarkTouching is MarkFunction if the bracket touches the word.
	MarkTouching
	// MarkName means that a name follows, and a bracket after that opens no call.
	MarkName
	// MarkInto means that the rows of a query go into a new table.
	MarkInto
	// MarkVerb means that they do not if the word stands before INTO.
	MarkVerb
	// MarkMakes means that what EXPLAIN runs may make a table.
	MarkMakes
	// MarkNames means that a statement that begins so makes, renames or drops something.
	MarkNames
	// MarkRenames means that a table may get the name of another one.
	MarkRenames
	// MarkMoves means that the database, schema or user may change.
	MarkMoves
	// MarkDefines means the same in a definition.
	MarkDefines
	// MarkFor means that functions in the rest of a definition are called at once.
	MarkFor
	// MarkAlone means that the statement must not stand in a transaction.
	MarkAlone
)

// middle are the marks of words that are looked at wherever they stand.
const middle = MarkName | MarkInto | MarkMakes | MarkRenames | MarkMoves | MarkDefines | MarkFor | MarkAlone

// lists are the words of a vocabulary by what is known about them.
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

// Mentioned returns what unread statements leave, judged by the words in them, including
// words in strings and comments.
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

// Word returns what is known about a word, in any case.
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

// MarksOf returns what a word means in the middle of a statement. The word is not empty.
func (v *Vocabulary) MarksOf(text string) Marks {
	if v.marked[text[0]&0x1f]>>len(text)&1 == 0 {
		return 0
	}
	return v.Word(text).Marks
}

// Of returns the vocabulary of a dialect; an empty one for an unknown engine.
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
