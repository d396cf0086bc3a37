package plans

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// Draft reads the statements of one text, and collects what has to change in it.
// [Draft.Plan] returns the plan.
type Draft struct {
	reader.Reader
	Lookup Lookup

	Split Split

	Flow Flow

	With WithClause

	IsInner bool // whether the INSERT that is being read is inside another statement

	Tables SeenTables

	// Constants are spans that cannot read LAST_INSERT_ID(), so undisturbed skips them: VALUES
	// rows that hold only constants, together with the text from the INSERT's verb on if that
	// has only ordinary names.
	Constants []scan.Token

	IsValuesPart  bool // whether VALUES is part of a larger query, such as a UNION, which is why it is refused
	RefusalOffset int  // the byte offset that a refusal reports; zero for the offset of the current token

	Memory   *PlanMemory // memory for the plan; nil until an INSERT is read
	LastList string      // the last text added to a column list, since the lists of a text are often alike

	// The findings.
	Inserts []Insert
	Edits   []Edit
	Slots   []Slot
	Cuts    []UpsertClause // upsert clauses that are cut from the text and have placeholders
	Refusal *Refusal
	Guarded bool           // whether a value is wrapped in COALESCE, so that the engine refuses a set
	Streams bool           // whether the rows come as executions of the text: see [Plan.Load]
	unbound rewrite.Reason // why keys cannot be sent as arguments; empty if they can
}

// Split holds where the statements of the text begin and end.
type Split struct {
	// Statements is the number of statements in the text. If they may be executed one by one,
	// Starts holds the offset of each statement after the first. If drivers execute them so,
	// Semicolons holds the offsets of the semicolons after the last one.
	Statements int

	WithPlaceholders int // how many statements have placeholders
	Starts           []int
	Semicolons       []int
	StatementStart   int // the offset of the current statement
	// SettingsStart is the offset of the first setting of a SET STATEMENT, SettingsFor the
	// offset of the statement after it. Both are zero until a SET STATEMENT is read.
	SettingsStart, SettingsFor int
}

// WithClause holds the WITH clause of the statement, and the one around an INSERT in it.
type WithClause struct {
	// CTEs are the names that the statement's WITH clause defines, and Outer is the clause. If
	// an INSERT is in a WITH clause, Enclosing are the definitions before it, which may name
	// later definitions if Recursive is set.
	CTEs []CTE

	Outer     selects.With
	Enclosing selects.With
	Survey    *selects.Survey // the survey of the definitions in Enclosing; nil until it is needed
	Recursive bool
}

// SeenTables are the tables that the text has made, moved or mentioned.
type SeenTables struct {
	// HasTemporary means that temporary tables may matter to the text. MadeTables are the
	// temporary tables that the text has made so far, by the table's name; MaybeMade are the
	// names, without a schema, of tables that it may have made. MovedTables means that an
	// earlier statement may have dropped or renamed a temporary table. Standing is nil if
	// the connection has no temporary tables: see compile.QueryWithTemporary.
	HasTemporary bool

	MadeTables     map[string][]reader.Name
	MaybeMade      map[string]bool
	SetsPath       bool // whether the text sets a search path, so that a name may mean another table
	MovedTables    bool
	Standing       func(TableName) Standing
	HasSearched    bool    // whether MentionedTable is set
	MentionedTable *Target // the first configured table that the text mentions
}

// CTE is a name that a WITH clause defines.
type CTE struct {
	Name string // folded
	Body int    // the offset at which the definition of the name begins
}

// Refuse notes why an INSERT cannot be filled. Only the first reason in the text counts.
func (p *Draft) Refuse(t *Target, offset int, reason rewrite.Reason) {
	if p.Refusal == nil {
		p.Refusal = &Refusal{Target: t, Table: t.Table, Column: t.Keys[0].Column, Offset: offset, Reason: reason, ofValues: p.IsValuesPart}
	}
}

// Edit queues the replacement of a span by a text.
func (p *Draft) Edit(start, end int, text string) {
	p.Edits = append(p.Edits, Edit{Start: start, End: end, Text: text, Slot: -1})
}

// Slot queues the replacement of a span by text and a key. The slot s, which is the place
// for the key, says which key.
func (p *Draft) Slot(start, end int, text string, s Slot) {
	s.Insert = int32(len(p.Inserts))
	s.Before = int32(p.Params.Count)
	p.Edits = append(p.Edits, Edit{Start: start, End: end, Text: text, Slot: len(p.Slots)})
	p.Slots = append(p.Slots, s)
}

// Edit is the replacement of a span of the text; if the span is empty, it is an insertion.
// Edits are queued in the order of the text and do not overlap.
type Edit struct {
	Start, End int
	Text       string // the new text; if a key follows, the text before the key
	Slot       int    // the index of the slot (place for a key) whose key follows the text; -1 if no key follows
}
