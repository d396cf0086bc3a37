package words

// StatementKind says how the words behind the first one of a statement are read.
type StatementKind uint8

// The kinds of statements.
const (
	StatementOther   StatementKind = iota // they are as good as any
	StatementRows                         // it is about rows
	StatementInsert                       // the same, and the table's name follows
	StatementWith                         // the same, and another name follows
	StatementNamed                        // a name follows
	StatementBegin                        // BEGIN and START, of a transaction or a block
	StatementExplain                      // it may run another one
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
