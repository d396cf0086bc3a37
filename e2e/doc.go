// Package e2e holds the suite that runs keyfill on real engines, with all
// drivers and on every path by which database/sql executes a statement. It is
// a module of its own, so that none of its drivers is required by keyfill.
//
// MariaDB and PostgreSQL are throwaway servers: see package testdb. SQLite runs
// in the process. For SQL Server and Oracle, of which there is no server here,
// what their drivers would send is looked at.
package e2e
