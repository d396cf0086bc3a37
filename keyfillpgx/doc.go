// Package keyfillpgx fills keys for programs that use pgx without database/sql:
//
//	pool, err := pgxpool.New(ctx, dsn)
//	db, err := keyfillpgx.WrapPool(pool, keyfill.Options{Policy: p})
//	defer db.Close()
//
//	var id uuid.UUID
//	err = db.QueryRow(ctx, "INSERT INTO customers (name) VALUES ($1) RETURNING id", "Ada").Scan(&id)
//
// A [Pool] sends statements as a *pgxpool.Pool does, a [Conn] as a *pgx.Conn does, and
// their transactions are pgx.Tx. All of them are what code of sqlc calls a DBTX. INSERTs by
// Exec, Query, QueryRow, SendBatch and CopyFrom, and by the name of a prepared statement,
// are filled, kept, passed or refused as on package database/sql: the policy, its sources,
// [keyfill.Record] and the statistics are the same.
//
// # Options and rewriters
//
// A QueryRewriter among the arguments, such as pgx.NamedArgs and pgx.StrictNamedArgs,
// rewrites the text first, and keyfill fills its result. QueryExecMode, QueryResultFormats
// and QueryResultFormatsByOID go to pgx with the text that is sent. Arguments go to pgx as
// they come.
//
// # Transactions
//
// A transaction is begun by Begin and BeginTx, by Batch.BeginTx, or by a text. Begin in a
// transaction sets a savepoint. keyfill reads from the status that the server sends with
// each answer whether a transaction is open, so that keys with transaction: joined, scope:
// or the kind maxplusone belong to it whichever way it was begun.
//
// # Caveats
//
// keyfill neither fills nor sees statements on pgx's own objects: on the pool or the
// connection that was wrapped, on what [Conn.Conn], the Conn of a transaction and the Conn
// of rows return, on a *pgconn.PgConn, which has the text form of COPY, and by the name of
// a statement that was prepared on one of these. Nor does it see that they change settings,
// the search path or temporary tables of a session: use a pool that is wrapped through its
// [Pool] alone, or give it a hook PrepareConn or AfterRelease, after which keyfill asks the
// server again.
//
// Query reads the first row before it returns, so that it waits for the server a little
// longer than pgx does, unless the text does not concern keyfill. If keys are drawn in the
// transaction of their INSERT, Query reads all rows before it returns.
package keyfillpgx
