package policy

import "strings"

// Fill is the set of values that count as "no key" in an INSERT. In a [Config] the
// empty set means the default.
type Fill uint8

// The members of a [Fill].
const (
	FillMissing Fill = 1 << iota // missing: the column is not in the INSERT
	FillNull                     // null: the value NULL, as a literal or as an argument
	FillDefault                  // default: the keyword DEFAULT as the value
	FillZero                     // zero: 0 for integers; '' and the zero UUID for others
)

// fillWords are the words of the file for the members of a Fill, in the order of their bits.
var fillWords = []string{"missing", "null", "default", "zero"}

// fillAll is the set of all members. It is the default, except that FillZero is left out
// for integers on some engines (see kind.fillFor). FillZero is in it because a Go struct
// sends its zero value if no key was set, and an empty text or a zero UUID is not a key.
const fillAll = FillMissing | FillNull | FillDefault | FillZero

// Has reports whether all of g are in f.
func (f Fill) Has(g Fill) bool { return f&g == g }

// String returns the words of the file for f: "missing, null".
func (f Fill) String() string {
	var words []string
	for i, w := range fillWords {
		if f.Has(1 << i) {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}
