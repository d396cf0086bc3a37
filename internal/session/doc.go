// Package session knows one connection of the driver and its session: what the driver
// can do, whether a transaction is open, which settings hold, which schema names are
// read in, which temporary tables there may be, and which columns tables have.
//
// A [Conn] learns that from the texts that are sent and prepared on it, and asks the
// engine where they do not tell. Each kind of knowledge is a small machine of its own,
// with a method that takes a text before it is sent and a method that takes one before
// it is prepared. What is not known for sure is asked again: a machine may forget at
// any time, and must forget whenever a text might have changed what it knows.
//
// Whether a transaction is open decides which rows belong to a key. Following the
// texts is no proof of that: an engine may end a transaction by itself. The statements
// that reserve numbers prove it where they run, see [Conn.ProvenStore].
//
// A [Server] holds what the connections of one database share. It is safe for
// concurrent use; a Conn belongs to one goroutine at a time, as database/sql has it.
//
// The packages internal/keys and internal/fill stand on this one. It knows neither
// configured tables nor keys. It calls back in two cases only: a transaction that has
// changed tables ends (Altered.OnEnd), or a table was renamed (OnRename).
package session
