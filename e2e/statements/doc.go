// Package statements holds the tests of statements: the ways to execute one, the text that
// reaches the engine, and the reports about the stored rows.
//
//   - paths: every path by which database/sql executes a statement, through every driver
//     and each of its modes: each shape of INSERT, each Go type of argument, prepared and
//     not, alone and under load. Statements that do not concern keyfill reach the driver
//     unchanged.
//   - golden: the engines accept the statements that keyfill writes. Each query text of
//     ../../testdata is prepared on its engine and executed beside the query that a
//     person would have written, and the same rows must be stored. The texts of
//     golden_lexer_test.go show that keyfill and the engine read a query alike: where its
//     strings, comments and placeholders are, and where the next statement starts.
//   - selects: statements that insert rows which the client does not list: INSERT with a
//     SELECT, MERGE, CREATE TABLE with a SELECT, and texts of several statements.
//   - bulk: bulk loads: COPY through lib/pq and pgx, and the bulk load of SQL Server on
//     the wire.
//   - corpus: the INSERTs of other projects, which "make corpus" gives, on tables that
//     are made of their CREATE TABLE statements: an explanation says what the driver
//     does, and no word changes what is stored. "make test" gives a few statements
//     instead.
//   - fuzz: generated statements are inserted through keyfill and, with keys made by
//     hand, through the driver alone, and the tables are compared. "make fuzz" makes new
//     statements; without it the tests run the seeds.
//   - sessionstate: what keyfill asks on the caller's connection does no harm in any
//     state of its session: the same statements say the same through the plain driver.
//     The frame is in sessionstate_sqlite_frame_test.go. "make oldsqlite" runs the ones
//     of SQLite on an older library.
//   - sqlserver: the texts that the drivers of SQL Server and Oracle send, for which
//     there is no server here. go-mssqldb talks to a server of package faketds, which
//     answers as a test sets.
//   - truth: keyfill reports only keys which are stored: by Record, RETURNING and
//     LastInsertId, in explanations and statistics, beside triggers, views and temporary
//     tables, and after statements that left rows out.
//
// The name of a file begins with its topic.
package statements
