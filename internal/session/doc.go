// Package session knows one connection of the driver and its session: what the driver can
// do, whether a transaction is open, which settings the session has, in which schema it
// looks for tables, which temporary tables there may be, and which columns tables have.
//
// A [Conn] learns these facts from the texts that are sent and prepared on it, and asks the
// engine if the texts do not show them. Each kind of fact has a type, in a file of its own.
// The type's method sends notes that a text is about to be executed, and its method
// prepares notes that a text is about to be prepared. A type may forget a fact at any time,
// since it then asks again, and must forget the fact whenever a text might have changed it.
//
// The texts show whether a transaction is open, but do not prove it: an engine may end a
// transaction without a statement. The statements that reserve numbers in a transaction
// prove that it is open: see [Conn.ProvenStore].
//
// A [Server] holds what the connections of one database share. It is safe for concurrent
// use; a Conn belongs to one goroutine at a time, as in database/sql.
//
// The packages internal/keys and internal/fill use this one. It knows neither configured
// tables nor keys. It calls a function of its user in two cases only: a transaction that
// has changed tables ends (Altered.OnEnd), or a table was renamed (OnRename). In a test
// without an engine nothing is asked: see Detached of [Server].
package session
