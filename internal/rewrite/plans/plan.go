package plans

import (
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/rewrite"
)

// Action is how keyfill treats a query.
type Action uint8

// The four outcomes.
const (
	Pass   Action = iota // no INSERT into a configured table
	Keep                 // the INSERT brings its own key
	Fill                 // a key is added
	Refuse               // the INSERT cannot be filled exactly
)

// String returns the action's word: "pass", "keep", "fill" or "refuse".
func (a Action) String() string {
	return [...]string{"pass", "keep", "fill", "refuse"}[a]
}

// Plan is the compiled rewriting of one query. It does not change and is safe for
// concurrent use.
type Plan struct {
	// Action is decided from the text alone. Keep together with AtExecution means that the
	// value of an argument decides whether a key is filled.
	Action      Action
	AtExecution bool // whether a placeholder stands where a key belongs

	// Load means that the text only opens a bulk load. Its rows come as the executions of the
	// prepared text, with a value for each column as arguments, and an execution without
	// arguments ends the load. bind.FindHoles and bind.Arguments handle one row, as if the
	// text had a placeholder for each column; keys cannot be literals.
	Load bool

	Scoped bool // whether keys are numbered within the values of other columns

	// Session reports whether the text allows a key to be written as LAST_INSERT_ID(key), so
	// that LAST_INSERT_ID() and the OK packet return the key of the first row: MySQL 8.4,
	// section 14.15, LAST_INSERT_ID(expr). The text with this call is the session's text:
	// Draft.sessionForm says which statements have one. The caller has to check for triggers
	// and for column defaults that are expressions. It uses the session's text only if at
	// least one key is filled.
	Session bool

	// MayConflict reports whether an INSERT of the text may leave out, replace or change rows
	// where a plain INSERT would fail.
	MayConflict bool

	// GuardsSets reports whether a value of VALUES is written as COALESCE(value), so that the
	// engine refuses the value if it is a set of rows.
	GuardsSets bool

	Refusal    *Refusal // why the text is refused, if Action is Refuse
	Inserts    []Insert // the INSERTs into configured tables
	Draws      []Draw   // the calls to key sources that an execution may make
	Statements int      // how many statements the text has

	// Parts are the statements of the text, each as a text of its own, if the text can be
	// executed in parts: then the rows of a query are counted, and keys drawn from their
	// source, directly before the INSERT. It is nil otherwise. A text for which NeedsParts is
	// true cannot be prepared, and returns no rows.
	Parts []string

	Dialect *dialect.Dialect // the dialect that the plan was made for

	Changes Changes

	LiteralReason rewrite.Reason // why keys are literals although the text has placeholders; empty if they are arguments

	Readings []Reading // the plans under other session settings: see [Plan.Under]

	memory *PlanMemory // nil for a plan without INSERTs

	Lazy Lazy

	Proof *ProofTexts // for texts in which keys prove facts, such as an open transaction; nil if there are none
}

// Changes are the text of a query and the changes that keyfill makes to it.
type Changes struct {
	// Query is the caller's text. Package bind writes the changes below into it.
	Query string

	Edits      []Edit
	Slots      []Slot
	Params     reader.Params
	Spelling   reader.Spelling
	Added      int   // how many placeholders are added
	ArgsBefore []int // for each added placeholder, how many of the caller's placeholders precede it
	KeyCounts  []int // for each draw (call to a key source), how many keys it needs if every slot (place for a key) takes a key

	rare *Rare // nil for most plans
}

// Rare holds the changes that only few plans have.
type Rare struct {
	LastKeys    []LastKey     // the added placeholders, counted from 0, that become three placeholders in the text that sets LAST_INSERT_ID()
	Listed      []SessionEdit // the edits of the text that sets LAST_INSERT_ID(), if the column list names a key; otherwise nil
	BoundEdits  []Edit        // the edits of bind.Text if the caller's placeholders are renumbered too; otherwise nil
	DroppedArgs []int         // the indexes of the caller's arguments that are not sent: see cutarguments.go
}

var noRare Rare // never changed

// Rare returns the changes that only few plans have. They must not be changed.
func (c *Changes) Rare() *Rare {
	if c.rare == nil {
		return &noRare
	}
	return c.rare
}

// seldom returns the rare changes, for the caller to set one. It allocates them at the
// first call.
func (c *Changes) seldom() *Rare {
	if c.rare == nil {
		c.rare = new(Rare)
	}
	return c.rare
}

// Lazy holds values that are computed at their first use.
type Lazy struct {
	undoes, reads, quiet lazyByte
	byInsert             atomic.Pointer[[][]int32] // the indexes of the slots (places for keys) of each INSERT
	Bound, BoundSession  LazyText
}

// lazyByte is a small number that is computed at its first use. Several goroutines that use
// it at once may each compute it.
type lazyByte struct {
	known atomic.Uint32 // the number plus one; 0 until it is known
}

// get returns the number. If it is not known yet, get calls compute for it.
func (l *lazyByte) get(compute func() uint8) uint8 {
	if n := l.known.Load(); n > 0 {
		return uint8(n - 1)
	}
	n := compute()
	l.known.Store(uint32(n) + 1)
	return n
}

// is returns the result of compute, which it calls if the result is not known yet. The
// number is 1 for true and 0 for false.
func (l *lazyByte) is(compute func() bool) bool {
	return l.get(func() uint8 {
		if compute() {
			return 1
		}
		return 0
	}) != 0
}

// PlanMemory is memory for a plan, and for the parts that most plans with keys have: one
// INSERT with one key. It is one allocation, since several would take longer than filling
// them in.
type PlanMemory struct {
	plan    Plan
	Inserts [1]Insert
	Edits   [2]Edit
	Slots   [1]Slot
	draws   [1]Draw
	counts  [1]int
	befores [1]int
}

// LazyText is a text that is written at its first use.
type LazyText struct {
	once sync.Once
	text string
}

// Get returns the text, which write returns at its first use.
func (t *LazyText) Get(write func() string) string {
	t.once.Do(func() { t.text = write() })
	return t.text
}

// SlotsOf returns the indexes of the slots (places for keys) of an INSERT.
func (pl *Plan) SlotsOf(insert int) []int32 {
	if known := pl.Lazy.byInsert.Load(); known != nil {
		return (*known)[insert]
	}
	all := make([][]int32, len(pl.Inserts))
	for i := range pl.Changes.Slots {
		of := &all[pl.Changes.Slots[i].Insert]
		*of = append(*of, int32(i))
	}
	pl.Lazy.byInsert.Store(&all)
	return all[insert]
}

// Draw is one call to a key source, for all keys of one column of one INSERT.
type Draw struct {
	Insert int // the index of the INSERT in Plan.Inserts
	Key    int // the index of the key column in Target.Keys of the INSERT
}

// SlotKind says what the caller's text has where a key belongs.
type SlotKind uint8

// What the text may have where a key belongs.
const (
	SlotKey SlotKind = iota // nothing, or a literal that counts as no key
	SlotOwn                 // the caller's placeholder, which is used only for this key
	SlotTwo                 // the caller's placeholder, which is used elsewhere in the text too
)

// Slot is a place for one key, in the text and among the arguments.
type Slot struct {
	Kind   SlotKind
	Wrap   Wrap // how the key is written in the text that sets LAST_INSERT_ID(): see [Plan.Session]
	Insert int32
	Key    int32
	Row    int32
	Draw   int32
	Before int32  // how many of the caller's placeholders precede the slot
	Text   string // the caller's placeholder in the slot
}

// TooMany reports whether keys cannot be arguments, because [Plan.Unbound] returns a
// reason: the text would have too many placeholders for the engine, or drivers would
// disagree about their arguments.
func (pl *Plan) TooMany() bool { return pl.Unbound() != "" }

// Placeholders returns how many arguments the caller's text needs: for placeholders by
// position their count, for numbered ones the highest number, for named ones the number of
// different names. It is 0 for a plan that neither fills nor decides at execution.
func (pl *Plan) Placeholders() int {
	switch pl.Changes.Params.Styles {
	case reader.StyleNumber:
		return pl.Changes.Params.Max
	case reader.StyleName:
		return pl.Changes.Params.Names
	}
	return pl.Changes.Params.Count
}
