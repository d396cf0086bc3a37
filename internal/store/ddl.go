package store

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// DDL returns the statements that create the tables if they do not exist, each to be run
// separately, without semicolons at their ends. For Oracle they are PL/SQL blocks, which
// SQL*Plus wants followed by a line with a slash.
func DDL(d *dialect.Dialect) []string { return slices.Clone(engine.Of(d).Tables[:]) }

// ReserveProcedure is the [sequence.Sequence].Procedure that [ProcedureDDL] creates: it
// reserves in keyfill_sequences. One of any other name is the application's own.
//
// Either is called with two arguments, a name and how many consecutive integers
// are asked for, and answers with one row of one integer, the first of them:
//
//	PostgreSQL       SELECT name($1, $2)             a function
//	MySQL, MariaDB   CALL name(?, ?)                 a procedure that ends in a SELECT
//	SQL Server       EXEC name @p1, @p2              a procedure that ends in a SELECT
//	Oracle           SELECT name(:1, :2) FROM dual   a function with an autonomous transaction
//
// SQLite has none. The name is the Name of the [sequence.Sequence], or the Row of its
// [sequence.KeyTable], which is then only looked at. On MySQL, MariaDB and SQL Server the
// call stands in a transaction of its own, so that a procedure with an UPDATE and a
// SELECT after it is right as it is. Integers that a procedure reserves beyond the
// sequence's Max are a gap.
//
// The shipped one refuses fewer than 1, and a name without a row. Its caller has
// to be able to execute it and to read keyfill_sequences, not to change it.
const ReserveProcedure = "keyfill_reserve"

// ProcedureDDL returns the statements that create or replace [ReserveProcedure]; none for
// SQLite. Each is to be run separately, and has semicolons inside: in SQL Server it must
// be alone in its batch.
func ProcedureDDL(d *dialect.Dialect) []string {
	e := engine.Of(d)
	switch {
	case e.Procedures.Procedure == "":
		return nil
	case e.Procedures.DropProcedure != "":
		return []string{e.Procedures.DropProcedure, e.Procedures.Procedure}
	}
	return []string{e.Procedures.Procedure}
}
