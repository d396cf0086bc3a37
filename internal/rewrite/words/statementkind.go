package words

// StatementKind is how the words after a statement's first word are read.
type StatementKind uint8

// The kinds of statements.
const (
	StatementOther   StatementKind = iota // no special reading
	StatementRows                         // a statement about rows
	StatementInsert                       // about rows, and the table's name follows
	StatementWith                         // about rows, and another name follows
	StatementNamed                        // a name follows
	StatementBegin                        // BEGIN and START, of a transaction or a block
	StatementExplain                      // it may run another statement
	StatementSet
	StatementCreate
	StatementAlter
	StatementDrop
	StatementBlock // a block of statements
)

// OfRows reports whether a statement is about rows.
func (k StatementKind) OfRows() bool {
	return k == StatementRows || k == StatementInsert || k == StatementWith
}

// Defines reports whether a statement makes, changes or drops something.
func (k StatementKind) Defines() bool {
	return k == StatementCreate || k == StatementAlter || k == StatementDrop
}
