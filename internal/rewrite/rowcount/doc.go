// Package rowcount writes the questions that the engine is asked before an
// INSERT … SELECT: how many rows the query gives, which types its columns and the
// operands of its arithmetic have, and whether it reads views. [TextFrom] is the text
// whose rows MariaDB numbers itself.
//
// It stands on packages bind and plans.
package rowcount
