package words

// Moving says which statements may change the place of later ones: see
// effects.MovesPlace.
type Moving struct {
	// Words are those without which no statement does; nil where all statements are read.
	Words []string
	// Ends are those with which a statement also does, since it takes back what the transaction has changed.
	Ends []string
	// Begins are the first words of the statements that do; nil where Words are enough.
	Begins []string
}

// moveVerbs begin statements that may change the database.
var moveVerbs = []string{"use", "execute", "drop"}

// SetWords are the words that may follow SET.
type SetWords struct {
	Holds  []string // a statement of any kind follows
	Scopes []string // what is set follows
	Keeps  []string // what leaves the place; nil where all does
	Unsure []string // what may change the transaction
}

// DefineWords are the words that may follow CREATE, ALTER and DROP.
type DefineWords struct {
	Drops    []string // what holds tables, so that the place may go with it
	Sessions []string // what concerns the session alone, after ALTER

	// Keeps are for what calls nothing when it is made; nil where nothing made calls anything.
	Keeps []string
	// One are for what is made in one transaction, after Prefixes.
	One, Prefixes []string
}

// SessionNumber is a function that returns a number which the engine remembers of a
// sequence or an identity.
type SessionNumber struct {
	Name string // in lower case
	Of   NumberOf
}

// NumberOf says what the arguments of a [SessionNumber] are.
type NumberOf uint8

const (
	// NumberLast is of none: it is the session's last number.
	NumberLast NumberOf = iota
	// NumberName is of the name of a sequence.
	NumberName
	// NumberText is of a text with such a name.
	NumberText
	// NumberTable is of a text with the name of a table.
	NumberTable
)

// NumberOf returns what the arguments of a function are, false if it is none that returns
// such a number. none says that it has none here.
func (v *Vocabulary) NumberOf(name string, none bool) (of NumberOf, ok bool) {
	for _, n := range v.Numbers {
		if n.Name == name && (n.Of == NumberTable || none == (n.Of == NumberLast)) {
			return n.Of, true
		}
	}
	return 0, false
}
