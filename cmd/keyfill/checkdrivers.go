package main

// The drivers that keyfill check opens databases with: those that keyfill knows.
import (
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	_ "github.com/microsoft/go-mssqldb"
	_ "github.com/sijms/go-ora/v2"
	_ "modernc.org/sqlite"
)

// checkDrivers are the names under which they are registered.
var checkDrivers = []string{"sqlite", "mysql", "pgx", "postgres", "sqlserver", "oracle"}
