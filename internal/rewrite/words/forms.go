package words

// Moving says which statements may change where later statements look for tables: the
// current database, schema or search path. See effects.MovesPlace.
type Moving struct {
	// Words are words of which each statement that changes where later statements look has
	// at least one. It is nil if all statements are read.
	Words []string
	// Ends are the words of statements that take back what the transaction has changed, the
	// search path included.
	Ends []string
	// Begins are the first words of the statements that change where later statements look.
	// It is nil if Words are enough to decide.
	Begins []string
}

// moveVerbs begin statements that may change the current database.
var moveVerbs = []string{"use", "execute", "drop"}

// SetWords are the words that may follow SET, by their meaning.
type SetWords struct {
	Holds  []string // any statement follows them: SET STATEMENT … FOR
	Scopes []string // the name of the setting follows them: SET LOCAL
	Keeps  []string // settings other than the search path; nil if no setting is a search path
	Unsure []string // SET may change the transaction if one of these words follows
}

// DefineWords are the words that may follow CREATE, ALTER and DROP, by their meaning.
type DefineWords struct {
	Drops    []string // kinds of objects that hold tables: DROP, and CREATE OR REPLACE, may drop the session's current one
	Sessions []string // words after ALTER, if the statement concerns only the session

	// Keeps are the kinds of objects that call no function when they are made. It is nil if
	// no kind of object of the engine calls a function.
	Keeps []string
	// One are the kinds of objects that are made in one transaction; Prefixes are words
	// that may precede the words in One.
	One, Prefixes []string
}

// SessionNumber is a function that returns a number which the engine remembers for a
// sequence or an identity column.
type SessionNumber struct {
	Name string // in lower case
	Of   NumberOf
}

// NumberOf says what the argument of a [SessionNumber] is.
type NumberOf uint8

const (
	// NumberLast means that there is no argument: the function returns the session's last
	// number.
	NumberLast NumberOf = iota
	// NumberName means that the argument is the name of a sequence.
	NumberName
	// NumberText means that the argument is a string with the name of a sequence.
	NumberText
	// NumberTable means that the argument is a string with the name of a table.
	NumberTable
)

// NumberOf returns what the argument of a function is. none says that the call has no
// argument. ok is false if such a call returns no number of a sequence or identity column.
func (v *Vocabulary) NumberOf(name string, none bool) (of NumberOf, ok bool) {
	for _, n := range v.Numbers {
		if n.Name == name && (n.Of == NumberTable || none == (n.Of == NumberLast)) {
			return n.Of, true
		}
	}
	return 0, false
}
