// Package schemafile reads the tables that a script of SQL declares: the output of pg_dump
// and mysqldump, a schema that is kept with an application, or its migrations in order.
//
//	over, unread, err := schemafile.Read(d, file)
//
// It reads
//
//	CREATE TABLE, its columns, constraints and options
//	ALTER TABLE that adds, drops, renames or changes columns, keys and defaults
//	CREATE UNIQUE INDEX, CREATE INDEX, DROP TABLE, RENAME TABLE, COMMENT
//	CREATE TRIGGER that runs at an INSERT, and the functions of PostgreSQL that it calls
//	CREATE VIEW, CREATE DOMAIN, CREATE COLLATION
//
// as the manuals of the engines describe them, and skips every other statement. The
// declarations go through the same functions of package catalog as an engine's own catalog,
// so that both describe a column in the same way.
//
// # Schemas
//
// A name without a schema finds a table that has no schema, or is in public of PostgreSQL
// or dbo of SQL Server. USE of MySQL changes nothing.
//
// # Deliberate differences
//
//   - A statement that is not understood is skipped and reported as an [Unread]: its
//     changes are missing.
//   - The text after -- +goose Down or -- +migrate Down drops tables again, and is
//     skipped.
//   - CREATE TABLE … LIKE copies the columns of a table that the script has declared.
//     CREATE TABLE … AS SELECT is not read.
package schemafile
