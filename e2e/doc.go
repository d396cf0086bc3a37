// Package e2e holds the suite that runs keyfill on real engines, with all drivers and on
// every path by which database/sql executes a statement. It is a module of its own, so
// that none of its drivers is required by keyfill.
//
// MariaDB and PostgreSQL are throwaway servers: see package testdb. SQLite runs in the
// process. No server of SQL Server or Oracle is available here: the tests read the
// messages that their drivers send.
//
// Each folder is one test program. It links all drivers and starts its own servers, so there are
// few. A folder has several topics, which its package comment explains, and the name of a
// file begins with its topic:
//
//	statements  paths      every way to execute a statement, and every Go type of argument
//	            golden     rewritten statements, executed by the engines
//	            selects    INSERT … SELECT, MERGE, CREATE TABLE … SELECT, several statements
//	            bulk       COPY and bulk loads
//	            fuzz       generated statements
//	            sqlserver  messages that the drivers of SQL Server and Oracle send
//	            truth      reports of keyfill, compared with the stored rows
//	keys        kinds      each kind of integer key
//	            store      the tables that hold the counters of sequences
//	            binding    the stored counter from which the keys of a table come
//	            follow     keys that other programs store
//	            catalog    tables as their engine describes them
//	joined      joined     numberings without gaps, and numberings within a scope
//	            series     numberings that give numbers back, and the programs of the articles
//	apps        apps       GORM, sqlx and other wrappers
//	            pages      the code in the README and in docs
//	            adopt      an application that exists: old processes beside new ones, and the way back
//	            check      the findings of keyfill check
//	            logs       the logs that keyfill explain reads
//	stores      stores     each store under every fault, and the number of its round trips
//	            rollout    processes that begin and end while others run, as pods do
//	            seen       faults as an operator sees them
//	faults      faults     killed processes and servers, clocks, clusters
//	            retry      transactions that are made again, and COMMITs without an answer
//	columnscan             the columns that database/sql scans from Go 1.27 on
//
// A topic with the name of its folder needs no prefix. The folder assoc has programs for
// GORM's associations, which apps runs. The scaffolding is in internal/harness, and the
// stand-in for SQL Server in internal/faketds.
package e2e
