// Package session knows one connection of the driver and its session: what the driver
// can do, whether a transaction is open, which settings hold, which schema names are
// read in, which temporary tables there may be, and which columns tables have.
//
// A [Conn] learns that from the texts that are sent and prepared on it, and asks the
// engine where they do not show it. Each kind of knowledge is a small machine in a file
// of its own. Its method sends notes that a text is about to be executed, its method
// prepares that a text is about to be prepared. A machine may forget at any time, since
// it asks again, and must forget whenever a text might have changed what it knows.
//
// The texts show whether a transaction is open, but do not prove it: an engine may end a
// transaction without a statement. The statements that reserve numbers in a transaction
// prove that it is open: see [Conn.ProvenStore].
//
// A [Server] holds what the connections of one database share. It is safe for
// concurrent use; a Conn belongs to one goroutine at a time, as database/sql has it.
//
// The packages internal/keys and internal/fill stand on this one. It knows neither
// configured tables nor keys. It calls back in two cases only: a transaction that has
// changed tables ends (Altered.OnEnd), or a table was renamed (OnRename). In a test
// without an engine nothing is asked: see Detached of [Server].
package session
