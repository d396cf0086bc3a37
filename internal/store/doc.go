// Package store is the way to a database in which keyfill keeps the state of its sources:
// of those that count, of snowflake workers, and of series of integers that processes
// own. A [Store] runs statements on a pool or on one connection, and interprets their
// errors. The packages below this one keep the states:
//
//	engine         the statements and tables of each engine, as data
//	staterow       a row of keyfill_sequences
//	nativecatalog  the catalog's facts about an engine's own sequences
//	keycolumn      a key column of the application: its greatest key, its counter
//	schema         keyfill's tables: whether they are there, and how they are made
//	binding        which state serves a column, and claims
//	upstream       blocks of integers from another store
//	sequence       the row of a counter, and the ways to reserve from it
//	reserver       opens such a row, for a [keysource.Sequence]
//	native         a sequence of the engine, for a [keysource.Sequence]
//	series         runs of integers that a process owns, for a [keysource.Recycled]
//	scope          a numbering within each parent
//	worker         the marks of snowflake workers, for a [keysource.Snowflake]
//
// All except engine import this package, and each may import those above it in this list.
// TestImports of the module lists the imports.
//
// # The tables
//
// keyfill_sequences has a row for each counting source:
//
//	name            of the state, at most 190 characters; the primary key
//	next_value      the lowest integer that is not reserved
//	table_name      the table that the keys go to; empty when several may
//	column_name     its key column
//	parameters      what may never change, in a text of the source's own
//	incarnation     a random text, made with the row: another text, another row; after
//	                "<" there may be the first integer that the row leaves to another one
//	updated_at      when, by the server's clock; for people who look
//	server          Oracle only: which server has changed it last
//
// keyfill_workers has one for each number of each snowflake source:
//
//	name, worker    of the source and the number; the primary key
//	reserved_until  the end of the time that is reserved, in milliseconds
//	previous_until  what reserved_until was before the last change
//	owner           who raised it last; for people who look
//	epoch           how often the owner has changed
//	updated_at      when, by the server's clock
//
// keyfill_series has one for each series that is not used up, whose counter is a
// row of keyfill_sequences:
//
//	name, series_first  of the counter, and where the series begins; the primary key
//	series_last         where it ends
//	next_value          the lowest of its integers that is not reserved
//	owner               of a source, for which it is reserved; empty when it was given up
//	epoch               counts the owners
//	leased_until        until then it is the owner's, by the server's clock
//	updated_at          when, by the server's clock
//
// # Which state serves a column
//
// Two states that serve one column repeat each other's keys, so that one finds
// the row of the other by table_name and column_name, and fails with [ErrTaken].
// A row of a state that several columns may share names no column, and the rows
// of workers have no place for one. What binds these is a row of its own in
// keyfill_sequences for each column, which is made when it is missing, whether
// rows of states are or not:
//
//	name            "numbers for orders.id", of the state "numbers"; "flakes
//	                (workers) for orders.id", of a snowflake's; one of more than
//	                190 characters ends in a hash of the whole instead
//	next_value      1; 2 where the state is in another database, or in a store without
//	                SQL, and was used: see reserver.NoteUsed; 0 for a candidate, which is to get
//	                the column, or has lost it to another state
//	table_name      "orders"; empty where it has lost
//	column_name     "id"; empty where it has lost
//	parameters      "binding"; for a snowflake's with its bits after that
//
// Two sequences whose rows name the column may serve it together, where one has a
// StartAt: opening it writes that into the rows of the others as their end, in a
// statement that changes no row which has given an integer from there on. The end
// stands in the incarnation, so that every statement that reserves compares it or
// answers with it, also in processes that have not heard of the other sequence.
//
// A row that binds a state stays when the policy no longer says that the state serves the
// column, since another process may still fill the column from it. To give the column to
// another state, remove it. While it is there, the row of the state is not made again
// when that is gone: see [ErrRowGone] and [ErrGone].
//
// A sequence whose integers come from another store in blocks has a second row, with the
// block that comes next; its parameters are "spare", and it names no column:
//
//	name            "orders.id (spare)", of the state "orders.id"
//	next_value      where the block begins
//	incarnation     the first characters of the incarnation of the state's row, and after
//	                "<" the end of the block
//
// # A numbering within each parent
//
// A state that counts anew for each order, say, has a row of its own, whose
// parameters name the columns, and one more for each parent: see scope.Scope. Only the
// former names the column that it serves.
//
// # Creating the tables
//
// [DDL] gives the statements that create them, schema.Schema.Ensure runs those.
// The tables are where the connection's user finds a table without a schema.
//
// # How integers are reserved
//
// By one UPDATE, which moves next_value up by as many as are asked for, unless it is
// below the integers that the caller has seen or would exceed the limit. There is no
// SELECT before it, after which another process could change the row. How the UPDATE
// returns the new value depends on the engine:
//
//	PostgreSQL, SQLite  UPDATE … RETURNING
//	SQL Server          UPDATE … OUTPUT
//	Oracle              UPDATE … RETURNING … INTO
//	MySQL, MariaDB      LAST_INSERT_ID(expr) in the answer to the UPDATE; on a
//	                    connection of the application SELECT … FOR UPDATE, and an
//	                    UPDATE of the row where it is still the same
//
// The integers are given to the caller after the reservation has committed.
// When the answer is lost, so are they: a gap.
//
// sequence.LockOptimistic reads the row first, and then replaces the value only where it
// is still the same, up to ten times. sequence.Sequence.Procedure has the engine do it.
//
// # Existing key tables
//
// A sequence.KeyTable is a table that the application has, and other programs use,
// instead of keyfill_sequences. The same UPDATE is sent to it; its columns define whether
// the next integer is stored or the last one, and how far they reach. Two facts have no
// place in it and are not kept: the parameters, which may never change, and the binding
// of a state to its column. Two sequences of one column of which one is in such a table
// find each other only if the other one is in keyfill_sequences and was there first.
//
// # Use
//
//	db := store.Pool(d, connector) // nothing is connected yet
//	st := store.New(dialect.MariaDB(), db)
//	src, err := keysource.NewSequence(keysource.SequenceOptions{
//		Reserver: reserver.New(st, sequence.Sequence{
//			Name:    "orders.id",
//			Columns: []store.Column{{Table: "orders", Name: "id"}},
//			Create:  true,
//		}),
//	}, keysource.Env{})
//
// and worker.New for a [keysource.Snowflake], series.New for a [keysource.Recycled].
//
// # Where
//
// [New] uses a pool of its own, best the one that [Pool] returns. [On] and
// [Within] use a connection of the application, for SQLite and for keys that
// belong to a transaction: outside of a transaction each reservation is its
// own, inside it belongs to the transaction and is undone with it.
//
// # Caveats
//
// A database that goes back (a restored backup, a replica that had not
// received the last commits) has lower values than were reserved. [ErrBack] and
// the server of a reservation let a caller notice; the primary key of the table
// is the last guard.
//
// A database whose transactions are SERIALIZABLE by default makes reservations
// of several processes fail now and then, as any UPDATE.
//
// A user that may change the tables can make keys repeat. Triggers on them are not
// expected; SQL Server refuses OUTPUT where there are any.
package store
