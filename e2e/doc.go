// Package e2e holds the suite that runs keyfill on real engines, with all drivers and on
// every path by which database/sql executes a statement. It is a module of its own, so
// that none of its drivers is required by keyfill.
//
// MariaDB and PostgreSQL are throwaway servers: see package testdb. SQLite runs in the
// process. For SQL Server and Oracle, of which there is no server here, what their
// drivers would send is looked at.
//
// Each folder has one topic, which its package comment says:
//
//	paths       every way to execute a statement, and every Go type of argument
//	golden      what keyfill writes, executed by the engines
//	selects     INSERT … SELECT, MERGE, CREATE TABLE … SELECT, several statements
//	bulk        COPY and bulk loads
//	apps        GORM, sqlx and other wrappers
//	truth       what is reported is what is stored
//	kinds       each kind of integer key
//	store       the tables that hold the state of sequences
//	binding     which state the keys of a table come from
//	joined      numberings without gaps, and numberings within a scope
//	series      numberings that give numbers back, and the programs of the articles
//	follow      keys that others store
//	adopt       an application that exists: old processes beside new ones, and the way back
//	catalog     what the engine says of a table
//	check       what keyfill check finds
//	seen        what an operator sees of it while it runs
//	logs        the logs that keyfill explain reads
//	retry       transactions that are made again, and COMMITs without an answer
//	faults      killed processes and servers, clocks, clusters
//	stores      each store under every fault, and how often it is asked
//	rollout     processes that begin and end while others run, as pods do
//	sqlserver   what the drivers of SQL Server and Oracle send
//	fuzz        generated statements
//	columnscan  how database/sql scans columns from Go 1.27 on
//	pages       the code in the README and in docs
//	assoc       programs for GORM's associations, which apps runs
//
// The scaffolding is in internal/harness, and the stand-in for SQL Server in
// internal/faketds.
package e2e
