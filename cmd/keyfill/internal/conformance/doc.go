// Package conformance runs the claims of docs/guarantees.md and docs/layouts.md on a
// server that is not the project's own, and reports what it saw.
//
//	target := conformance.Target{Name: "pgx", Dialect: d, Driver: db.Driver(), DSN: dsn}
//	report, err := conformance.Run(ctx, target, conformance.Options{Rows: 100_000, Rate: 10_000})
//
// A claim is one sentence that a server can contradict. Each has one of three results:
//
//	shown      the server did what the claim says, for the number of rows in the report
//	refused    the server did something else, or answered with an error: seen says what
//	not tried  the engine has nothing of the kind, or an earlier step failed: seen says why
//
// # The claims
//
//	order/…        the engine sorts the keys of a layout as they were made
//	unique/…       the keys of a source that is not ordered are stored as given, none twice
//	integers       integers of 63 bits are stored exactly as they were given
//	insert/…       the golden cases of one topic store the rows and keys that they should
//	told/…         the program is told the keys that the engine has stored
//	joined, scope  8 connections number rows without a gap while transactions roll back
//	maxplusone     8 connections number rows by the greatest key, which a lock guards
//	blocks         4 processes, one of which is killed, never make a key twice
//	native         an engine's own sequence gives keyfill blocks that no one else gets
//	catalog        the engine's catalog says of a table what was declared
//	errors/…       an error of the engine has the class that decides what keyfill does next
//	session/…      keyfill reads the settings of a session that change what a text means
//
// [Claims] lists the claims of an engine.
//
// # What it does to the server
//
// A run makes one schema, whose name has 16 random digits, and works in that alone: on
// MySQL, MariaDB and SQL Server a database, on Oracle a user without a login, on SQLite a
// folder with a file beside the file that the DSN names, which is not opened. The schema
// must not exist. A table in it marks it as made by this run, and the run drops only a
// schema with its own mark. Locks that a claim takes are named after tables of this schema.
//
// [Run] refuses to begin if others may notice it: see [Options].Shared. It stores at most
// Options.Rate rows a second.
//
// # The JSON form
//
// [Report] has the fields. It contains no host, no user and no DSN. An error of the server
// is reported by its code alone, since its text may name a user or a host.
//
// # Caveats
//
// A killed run leaves its schema. [Leftovers] names such schemas, and [Drop] drops one.
// Through a connection pooler a session's schema would be shared with other programs, so
// that Run refuses one, if it notices it.
package conformance

//row:changes | what `keyfill conformance` claims | `cmd/keyfill/internal/conformance`: `claims.go`; `engine.go` has the SQL of each engine, `place.go` makes and drops its schema
