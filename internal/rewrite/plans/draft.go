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

	IsInner bool // an INSERT inside another statement is being judged

	Tables SeenTables

	// Constants are the spans of VALUES rows that have constants only. They cannot read
	// LAST_INSERT_ID(), so undisturbed skips them.
	Constants []scan.Token

	IsValuesPart  bool // VALUES is a part of a larger query, which the refusal is about
	RefusalOffset int  // the offset that a refusal is about; 0 for the current token

	Memory   *PlanMemory // nil until an INSERT is read
	LastList string      // the last text added to a column list, since the lists of a text are often alike

	// The findings.
	Inserts []Insert
	Edits   []Edit
	Slots   []Slot
	Cuts    []UpsertClause // clauses with placeholders, which are not sent
	Refusal *Refusal
	Guarded bool           // a value is wrapped so that the engine refuses a set
	Streams bool           // the rows come as executions: see [Plan.Load]
	unbound rewrite.Reason // why keys cannot be arguments
}

// Split holds where the statements of the text begin and end.
type Split struct {
	// The statements of the text. Starts and Semicolons are kept if drivers execute the
	// statements one by one: where each statement after the first begins, and the
	// semicolons after the last one.
	Statements int

	WithPlaceholders int // how many statements have placeholders
	Starts           []int
	Semicolons       []int
	StatementStart   int // where the current statement begins
	// SettingsStart is the offset of the first setting of a SET STATEMENT, SettingsFor
	// the offset of the statement after it; 0 until one is read.
	SettingsStart, SettingsFor int
}

// Flow says which of the statements run.
type Flow struct {
	// The effects of the text before the current token. SeveralReason is the refusal
	// reason for an INSERT that is not the only statement.
	SeveralReason rewrite.Reason

	Unsettled  bool // the rest of the text may be read differently, or may not run
	Branched   bool // the rest may not run
	Procedural bool // the rest is in a block of PL/SQL
	MayRepeat  bool // statements may run more than once
	AfterBody  int  // one more than the INSERTs before the end of the last routine's body; 0 if there is none
	Explained  bool // EXPLAIN only explains the statement, which does not run
}

// WithClause is the WITH clause of the statement, and the one around an INSERT in it.
type WithClause struct {
	// The WITH clause of the statement: the names that it defines, and the clause. If an
	// INSERT is in a WITH clause, Enclosing are the definitions before it, which may name
	// later ones if Recursive is set.
	CTEs []CTE

	Outer     selects.With
	Enclosing selects.With
	Recursive bool
}

// SeenTables are the tables that the text has made, moved or mentioned.
type SeenTables struct {
	// HasTemporary means that temporary tables may matter to the text. MadeTables are
	// those that the text has made so far, by the table's name; MaybeMade are the names,
	// without a schema, of tables that it may have made. MovedTables means that an
	// earlier statement may have dropped or renamed some. Standing is nil if the
	// connection has none: see compile.QueryWithTemporary.
	HasTemporary bool

	MadeTables     map[string][]reader.Name
	MaybeMade      map[string]bool
	SetsPath       bool // the text sets a search path, which may put another table first
	MovedTables    bool
	Standing       func(TableName) Standing
	HasSearched    bool    // MentionedTable is set
	MentionedTable *Target // the first configured table that the text mentions
}

// CTE is a name that a WITH clause defines.
type CTE struct {
	Name string // folded
	Body int    // where its definition begins
}

// Refuse notes why the INSERT cannot be filled; only the first reason in the text counts.
func (p *Draft) Refuse(t *Target, offset int, reason rewrite.Reason) {
	if p.Refusal == nil {
		p.Refusal = &Refusal{Target: t, Table: t.Table, Column: t.Keys[0].Column, Offset: offset, Reason: reason, ofValues: p.IsValuesPart}
	}
}

// Edit queues the replacement of a span by a text.
func (p *Draft) Edit(start, end int, text string) {
	p.Edits = append(p.Edits, Edit{Start: start, End: end, Text: text, Slot: -1})
}

// Slot queues the replacement of a span by text and a key.
func (p *Draft) Slot(start, end int, text string, s Slot) {
	s.Insert = int32(len(p.Inserts))
	s.Before = int32(p.Params.Count)
	p.Edits = append(p.Edits, Edit{Start: start, End: end, Text: text, Slot: len(p.Slots)})
	p.Slots = append(p.Slots, s)
}

// Edit is a span of the text that is replaced; an empty span is an insertion. Edits are
// queued in the order of the text and do not overlap.
type Edit struct {
	Start, End int
	Text       string // the new text, before the key if there is one
	Slot       int    // index of the slot whose key follows the text; -1 for none
}
