package store

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// DDL returns the statements that create keyfill's tables if they do not exist, without
// semicolons at their ends. Each must be run separately. For Oracle they are PL/SQL
// blocks: SQL*Plus needs a line with a slash after each.
func DDL(d *dialect.Dialect) []string { return slices.Clone(engine.Of(d).Tables[:]) }

// ReserveProcedure is the name of the procedure that [ProcedureDDL] creates, for
// [sequence.Sequence].Procedure. It reserves integers in keyfill_sequences. A procedure
// of any other name is the application's own.
//
// Both kinds of procedures are called with two arguments, a name and the number of
// consecutive integers that are wanted, and return one row with one integer, the first
// of them:
//
//	PostgreSQL       SELECT name($1, $2)             a function
//	MySQL, MariaDB   CALL name(?, ?)                 a procedure that ends in a SELECT
//	SQL Server       EXEC name @p1, @p2              a procedure that ends in a SELECT
//	Oracle           SELECT name(:1, :2) FROM dual   a function with an autonomous transaction
//
// SQLite has no procedures. The name is the Name of the [sequence.Sequence], or the Row
// of its [sequence.KeyTable]; keyfill only reads that table then. On MySQL, MariaDB and
// SQL Server the call runs in a transaction of its own, so the procedure may use an
// UPDATE followed by a SELECT. Integers that a procedure reserves beyond the sequence's
// Max are a gap.
//
// The procedure of [ProcedureDDL] refuses a number below 1, and a name without a row.
// Its caller needs the rights to execute it and to read keyfill_sequences, but no right
// to change that table.
const ReserveProcedure = "keyfill_reserve"

// ProcedureDDL returns the statements that create or replace [ReserveProcedure]; it
// returns none for SQLite. Each must be run separately and has semicolons inside: in
// SQL Server it must be alone in its batch.
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
