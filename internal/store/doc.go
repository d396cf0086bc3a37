// Package store gives access to a database in which keyfill keeps the state of its key
// sources: counters, snowflake workers, and series of integers that processes own. A
// [Store] executes statements on a pool or on one connection, and interprets their
// errors. The packages below this one keep the states:
//
//	engine         the statements and tables of each engine, as data
//	staterow       a row of keyfill_sequences
//	nativecatalog  the catalog's facts about an engine's own sequences
//	keycolumn      a key column of the application: its greatest key, its counter
//	schema         keyfill's tables: whether they are there, and how they are made
//	binding        which state serves a column; claims record that
//	upstream       blocks of integers from another store
//	sequence       the row of a counter, and how integers are reserved from it
//	reserver       opens such a row, for a [counting.Sequence]
//	native         a sequence of the engine, for a [counting.Sequence]
//	series         runs of integers that a process owns, for a [counting.Recycled]
//	scope          a numbering within each parent, such as the lines of each order, and
//	               in each period, such as the invoices of each year
//	worker         until when snowflake workers have reserved time, for a
//	               [counting.Snowflake]
//
// All packages except engine import this one, and each may import the packages above it
// in this list. TestImports of the module lists the imports.
//
// # The tables
//
// keyfill_sequences has a row for each counting source:
//
//	name            of the state, at most 190 characters; the primary key
//	next_value      the lowest integer that is not reserved
//	table_name      the table that the keys go to; empty when several may
//	column_name     its key column
//	parameters      the settings that may never change, as text
//	incarnation     a random text, made with the row, which identifies the row; after
//	                "<" it may have the first integer that the row leaves to another one
//	updated_at      the time of the last change, by the server's clock; for people
//	server          Oracle only: the server that has changed the row last
//
// keyfill_workers has a row for each worker number of each snowflake source:
//
//	name, worker    the source's name and the worker number; the primary key
//	reserved_until  the end of the time that is reserved, in milliseconds
//	previous_until  the value of reserved_until before the last change
//	owner           the process that has raised it last; for people
//	epoch           how often the owner has changed
//	updated_at      the time of the last change, by the server's clock
//
// keyfill_series has a row for each series that is not used up; the counter of the series
// is a row of keyfill_sequences:
//
//	name, series_first  the counter's name and the series' first integer; the primary key
//	series_last         the last integer of the series
//	next_value          the lowest of its integers that is not reserved
//	owner               the source that has reserved it; empty after it was given up
//	epoch               how many owners it has had
//	leased_until        until when it belongs to the owner, by the server's clock
//	updated_at          the time of the last change, by the server's clock
//
// # Which state serves a column
//
// Two states (stored counters) that serve one column repeat each other's keys. So a state
// that is opened looks for another state's row with the same table_name and column_name,
// and fails with [ErrTaken] if it finds one. The row of a state that several columns may
// share names no column, and the rows of workers have no columns for the names. Such a
// state has an extra row in keyfill_sequences, which binds it, for each column. This row is
// made if it is missing, even if rows of states are never made:
//
//	name            "numbers for orders.id", of the state "numbers"; "flakes
//	                (workers) for orders.id", of a snowflake; a name of more than
//	                190 characters ends in a hash of the whole instead
//	next_value      1; 2 if the state is in another database, or in a store without
//	                SQL, and was used: see reserver.NoteUsed; 0 for a candidate, which is to get
//	                the column, or has lost it to another state
//	table_name      "orders"; empty if it has lost
//	column_name     "id"; empty if it has lost
//	parameters      "binding"; for a snowflake followed by its bits
//
// Two sequences whose rows name the column may serve it together if one has a StartAt:
// opening that one writes its StartAt into the rows of the others as their end, by a
// statement that changes no row which has given an integer from there on. The end is
// part of the incarnation, so that every statement that reserves compares it or
// returns it, also in processes that do not know the other sequence.
//
// A row that binds a state stays when the policy no longer says that the state serves the
// column, since another process may still fill the column from it. To give the column to
// another state, delete that row. While it exists, a missing row of the state is not made
// again: see [ErrRowGone] and [ErrGone].
//
// A sequence whose integers come from another store in blocks has a second row, with the
// next block; its parameters are "spare", and it names no column:
//
//	name            "orders.id (spare)", of the state "orders.id"
//	next_value      the first integer of the block
//	incarnation     the first characters of the incarnation of the state's row, and after
//	                "<" the end of the block
//
// # A numbering within each parent
//
// A state that counts anew for each order, for example, has a row of its own, whose
// parameters name the columns, and one more row for each parent: see scope.Scope. Only
// the first row names the column that it serves.
//
// If the numbers begin again with each period, such as each year, there is one row for each
// parent and period, or for each period where there are no parents: see scope.Periods. Its
// next_value is the negative of the next number while the period is closed, so that no
// statement that reserves finds it.
//
// # Creating the tables
//
// [DDL] returns the statements that create the tables; schema.Schema.Ensure executes them.
// The tables are in the schema in which the connection's user finds a table without one.
//
// # How integers are reserved
//
// One UPDATE raises next_value by the number of integers that are asked for, unless it is
// below the integers that the caller has seen or would exceed the limit. No SELECT
// precedes it, after which another process could change the row. How the UPDATE
// returns the new value depends on the engine:
//
//	PostgreSQL, SQLite  UPDATE … RETURNING
//	SQL Server          UPDATE … OUTPUT
//	Oracle              UPDATE … RETURNING … INTO
//	MySQL, MariaDB      LAST_INSERT_ID(expr) in the answer to the UPDATE; on a
//	                    connection of the application SELECT … FOR UPDATE, and an
//	                    UPDATE of the row if it is still the same
//
// The integers are given to the caller after the reservation has committed. If the
// answer is lost, the integers are lost too, and are a gap.
//
// sequence.LockOptimistic reads the row first, and then replaces the value only if it
// is still the same, up to ten times. sequence.Sequence.Procedure lets a procedure of the
// engine reserve.
//
// # Existing key tables
//
// A sequence.KeyTable is a table of the application that is used instead of
// keyfill_sequences, and that other programs use too. The same UPDATE is sent to it; its
// columns define whether the next integer or the last one is stored, and the greatest
// one. It does not store the parameters, which may never change, nor the binding of a
// state to its column. If one of two sequences of a column is in such a table, they find
// each other only if the other one is in keyfill_sequences and was there first.
//
// # Use
//
//	db := store.Pool(d, connector) // nothing is connected yet
//	st := store.New(dialect.MariaDB(), db)
//	src, err := counting.NewSequence(counting.SequenceOptions{
//		Reserver: reserver.New(st, sequence.Sequence{
//			Name:    "orders.id",
//			Columns: []store.Column{{Table: "orders", Name: "id"}},
//			Create:  true,
//		}),
//	}, keysource.Env{})
//
// and worker.New for a [counting.Snowflake], series.New for a [counting.Recycled].
//
// # Where
//
// [New] uses a pool that belongs to the store, best one that [Pool] returns. [On] and
// [Within] use a connection of the application, for SQLite and for keys that
// belong to a transaction: outside of a transaction each reservation is committed
// separately; inside, it is committed or rolled back with the transaction.
//
// # Caveats
//
// A database that goes back (a restored backup, a replica that had not
// received the last commits) has lower values than were reserved. [ErrBack] and
// the server of a reservation let a caller notice that; the primary key of the table
// is the last guard.
//
// In a database whose transactions are SERIALIZABLE by default, reservations of several
// processes fail now and then, as any UPDATE does.
//
// A user that may change the tables can make keys repeat. Triggers on them are not
// expected; SQL Server refuses OUTPUT on a table with triggers.
package store
