// Package apps holds the tests of keyfill within applications, and of the command keyfill,
// which is built once for all of them.
//
//   - apps: keyfill below and above what applications use with database/sql: GORM, sqlx,
//     otelsql, another interceptor, and code that asks for the connection of the driver.
//   - pages: the code in the README and in docs. Every block of Go is compiled, every policy
//     read, every command of keyfill run and every statement executed on the engine that it
//     names.
//   - adopt: keyfill is added to an application that runs, and removed again: a sequence
//     beside the column's own counter, and the steps that keyfill plan prints, executed
//     while processes with and without keyfill insert. The processes are this test
//     binary, started again with a job in its environment.
//   - check: the findings of keyfill check: planted faults on SQLite, MariaDB and PostgreSQL,
//     each of which its remedy mends, and databases without any.
//   - logs: the logs that keyfill explain reads: real servers write them, of statements
//     that real drivers execute, and the clients of the engines read scripts.
//
// The name of a file begins with its topic; the files of apps have no prefix.
package apps
