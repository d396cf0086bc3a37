package words

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Vocabulary holds what keyfill knows about the words of an engine, for all questions about
// a whole text. A word that is missing is unknown; each reader decides what an unknown word
// means.
type Vocabulary struct {
	words map[string]Facts

	// marked has a bit for each length of a word that has a meaning in the middle of a
	// statement, by the word's first letter. Most words have no such meaning.
	marked [32]uint32

	// anywhere is the set of verbs that change the transaction wherever they stand in a text.
	anywhere uint64

	// writes is true if INSERT, UPDATE and DELETE leave the transaction as it is.
	writes bool

	// Leaves is the most that any text of the engine can be known to leave unchanged.
	Leaves Left

	// Calls is what an unknown function may change.
	Calls Left

	// Moves are the words that change in which schema the session looks for tables. A
	// statement without any of them, even if it is not read, leaves that unchanged. Moves is
	// nil if keyfill never relies on this.
	Moves []string

	// Path is the name of the session setting that lists the schemas to look for tables in. It
	// is empty if the engine has no such setting.
	Path string

	Moving  Moving
	Set     SetWords
	Define  DefineWords
	Numbers []SessionNumber

	// Touchy are the signs that are part of a name or a placeholder under other session
	// settings.
	Touchy string

	// Rereads are the variables of the server that change how the rest of a text is read.
	Rereads []string
}

// Facts is what is known about a word. It is zero for an unknown word.
type Facts struct {
	Effect Effect        // how a statement that begins with the word changes the transaction
	Kind   StatementKind // how to read a statement that begins with the word
	Leaves Left          // what a statement that begins with the word leaves unchanged, unless its other words say otherwise
	Marks  Marks         // what the word means in the middle of a statement
}

// Marks are what a word means in the middle of a statement, as bits.
type Marks uint16

const (
	// MarkBracket means that a bracket after the word opens no call of a function that a
	// user can define.
	MarkBracket Marks = 1 << iota
	// MarkFunction means that the word is a function that changes nothing.
	MarkFunction
	// MarkTouching means that the word is a function that changes nothing, if the bracket
	// follows it directly.
	MarkTouching
	// MarkName means that a name follows the word, and that a bracket after the name opens no
	// call.
	MarkName
	// MarkInto means that the rows of a query go into a new table.
	MarkInto
	// MarkVerb means that an INTO after the word makes no new table, as in INSERT INTO.
	MarkVerb
	// MarkMakes means that a statement with this word may make a table if EXPLAIN runs it.
	MarkMakes
	// MarkNames means that a statement that begins with the word makes, renames or drops an
	// object.
	MarkNames
	// MarkRenames means that a table may get the name of another table.
	MarkRenames
	// MarkMoves means that the statement may change the current database, schema or user.
	MarkMoves
	// MarkDefines means that a CREATE, ALTER or DROP with the word may change where the
	// session looks for tables.
	MarkDefines
	// MarkFor means that functions in the rest of a CREATE are called when it runs.
	MarkFor
	// MarkAlone means that the statement cannot run inside a transaction.
	MarkAlone
)

// middle has the marks (meanings of words) that matter wherever a word stands in a
// statement.
const middle = MarkName | MarkInto | MarkMakes | MarkRenames | MarkMoves | MarkDefines | MarkFor | MarkAlone

// lists are the words of a vocabulary, grouped by what is known about them.
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

// Mentioned returns what statements leave unchanged whose tokens are not read. It judges
// them by the words in the text, including words in strings and comments.
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

// Of returns the vocabulary of a dialect's engine. It is empty for an unknown engine.
func Of(d *dialect.Dialect) *Vocabulary {
	if int(d.Family) < len(vocabularies) {
		return vocabularies[d.Family]
	}
	return unknownWords
}

// vocabularies has the words of each engine. Package dialect does not have them, since it
// describes the grammar of INSERT, for which the words of other statements do not matter.
var vocabularies = [...]*Vocabulary{
	0:                        unknownWords,
	dialect.FamilyMySQL:      MySQL,
	dialect.FamilyPostgreSQL: PostgreSQL,
	dialect.FamilySQLite:     SQLite,
	dialect.FamilySQLServer:  SQLServer,
	dialect.FamilyOracle:     Oracle,
}

var unknownWords = newVocabulary(Vocabulary{Moving: Moving{Begins: moveVerbs}}, lists{})
