// Package relation finds out which relation of the database a configured table is.
// [Tables] are the configured tables of one database. A [Session] is a connection, with
// the schema, the temporary tables and the changes that decide what a table's name
// means on it. A [Site] is a key column on a connection.
package relation
