// Package rowcount writes the questions to ask the engine before an INSERT … SELECT: how
// many rows the query gives, which types its columns and the operands of its arithmetic
// have, and whether it reads views. [TextFrom] returns the text with which MariaDB numbers
// the rows itself.
//
// Package rowcount builds on packages bind and plans.
package rowcount
