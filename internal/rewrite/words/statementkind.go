package words

// StatementKind says how to read the words after the first word of a statement.
type StatementKind uint8

// The kinds of statements.
const (
	StatementOther   StatementKind = iota // the words need no special reading
	StatementRows                         // the statement reads or writes rows
	StatementInsert                       // the statement writes rows, and the table's name follows
	StatementWith                         // the statement reads or writes rows, and a name other than the table's follows
	StatementNamed                        // a name follows the first word
	StatementBegin                        // BEGIN or START, of a transaction or a block
	StatementExplain                      // the statement may run another statement
	StatementSet
	StatementCreate
	StatementAlter
	StatementDrop
	StatementBlock // a block of statements
)

// OfRows reports whether a statement of the kind reads or writes rows.
func (k StatementKind) OfRows() bool {
	return k == StatementRows || k == StatementInsert || k == StatementWith
}

// Defines reports whether a statement of the kind is a CREATE, ALTER or DROP.
func (k StatementKind) Defines() bool {
	return k == StatementCreate || k == StatementAlter || k == StatementDrop
}
