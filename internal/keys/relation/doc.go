// Package relation says which relation of the database a configured table is: the [Tables]
// of one database, and a [Session], a connection with the schema, the temporary tables and
// the changes that decide what a name means on it. A [Site] is a key column there.
package relation
