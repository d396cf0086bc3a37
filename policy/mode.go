package policy

//row:changes | the mode, and `$KEYFILL_MODE` | `policy/mode.go` has the words, `internal/fill/mode.go` reads the variable

import "slices"

// Mode says what is done with the statements of a table. Modes are ordered: the greater
// is the more cautious.
type Mode uint8

const (
	// ModeFill fills keys. It is the zero value.
	ModeFill Mode = iota
	// ModeDryRun decides, counts and reports, draws no key and sends the
	// original text.
	ModeDryRun
	// ModeOff sends everything untouched. Statements are counted by what would have
	// been done with them, and nothing is reported.
	ModeOff
)

// modeNames are the names of the modes in the file, indexed by Mode.
var modeNames = []string{ModeFill: "fill", ModeDryRun: "dry_run", ModeOff: "off"}

// String returns the name of the mode in the file: fill, dry_run or off.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "unknown"
}

// ParseMode returns the mode called name: fill, dry_run or off. The error is an
// [*Error] that lists them.
func ParseMode(name string) (Mode, error) {
	i := slices.Index(modeNames, name)
	if i < 0 {
		return ModeFill, &Error{Msg: unknownWord("mode", name, modeNames)}
	}
	return Mode(i), nil
}

// MoreCautious returns the more cautious of two modes: off before dry_run before fill.
func MoreCautious(a, b Mode) Mode { return max(a, b) }

// Unsupported is what happens to an INSERT on a configured table that cannot be filled
// exactly.
type Unsupported string

const (
	// Refuse makes such an INSERT an error, before anything is sent.
	Refuse Unsupported = "refuse"
	// Unfilled sends such an INSERT as it is.
	Unfilled Unsupported = "unfilled"
)

var unsupportedWords = []string{string(Refuse), string(Unfilled)}

// unsupportedWhat is what messages call a value of unsupported.
const unsupportedWhat = "word for unsupported:"
