// Package catalog reads an engine's catalog about one table, and checks whether keyfill may
// fill a key column of it: whether the column is there, takes keys of that kind, is wide
// enough, and is filled by nothing else.
//
//	table, err := catalog.Read(ctx, d, catalog.Conn(c), "", "orders")
//	if err != nil {
//		return err
//	}
//	err = table.Check(d, catalog.Key{Column: "id", Integer: true, MaxBits: 63})
//
// [Read] sends at most three queries, each restricted to the table, writes nothing, and may
// run on the application's own connection, inside a transaction too: a missing table causes
// no error of the engine, which could end the transaction.
//
// # Where a table without schema is looked for
//
//	MySQL, MariaDB   the session's database
//	PostgreSQL       search_path, temporary tables first
//	SQLite           temp, main, then the attached databases
//	SQL Server       the user's default schema, then dbo
//	Oracle           the current schema, then its synonyms, then public ones
//
// # Caveats
//
// Temporary tables are found on PostgreSQL and SQLite only: the information schema of MySQL
// shows none, and SQL Server keeps them in another database.
//
// A folded name has lost its case. On a MySQL or MariaDB server whose table names depend on
// case, a table spelled like the folded name comes first; a table whose name differs by
// case only is found if it is the only such table. On SQL Server in a database that
// compares by case, and for letters beyond ASCII on SQLite, only the folded spelling is
// found.
//
// A view has columns, and neither indexes nor identities. The facts do not show that a
// user's function or a trigger fills a column; to a user of MySQL with partial_revokes a
// table may seem to have no triggers.
package catalog
