// Package approaches measures ways to make surrogate keys against each other: how many rows
// a second get one when 1, 2, 4, 8 and 16 connections insert at the same time. It repeats,
// on engines of today, the comparison in Sybase's TechNote of 1994 "Four Approaches to
// Surrogate Key Generation": the monotonic approach (max+1, a next-key table, the identity
// property), the pseudo-random, the composite and the recycled series. In the TechNote the
// other approaches are faster than the monotonic one from four to five connections on, and
// earlier if transactions hold their locks longer.
//
//	make approaches                     all of it, 2 s a cell, about 15 minutes
//	make approaches TIME=5s ENGINES=mariadb FORMS=durable CONNECTIONS=1,4
//	make approaches METHODS=recycled,joined
//
// The test of the package runs the same cells for some milliseconds and asserts what does
// not depend on a clock.
//
// # A cell
//
// A cell is one [measure.Method] with some connections, in one [Form], on one [Engine], for
// a fixed time. It has a table of its own. Every connection is what the article calls a
// process: a database handle of its own with a connection of its own. So keyfill reserves
// blocks and series of numbers for each of them, over further connections. Keys are made by
// keyfill, with the defaults of each kind, but for identity, where the engine makes them
// and the driver is used as it is. MariaDB is spoken to with interpolateParams, so that a
// statement is one round trip on both engines.
//
// Before the time runs, every connection inserts one row, so that reading the catalog and
// the first reservation are not measured. Only rows that were committed before the time was
// over are counted.
//
// Statements that the engine ends because of other transactions (deadlocks, serialization
// failures, lock timeouts) are counted between keyfill and the driver, so that statements
// which keyfill repeats are included. If the caller gets such an error, it repeats the
// transaction.
//
// # What is checked
//
// At the end of a cell the table has as many rows as were committed, and no key was refused
// as a duplicate, except for max+1 without a lock, which only the primary key guards. The
// keys of max+1 and of the joined next-key table have no gaps.
//
// # Caveats
//
// Clients and server share a machine, and a commit costs what its disk takes: the heading
// names both, with the load and the time of a synced write. Only a run on a machine that
// does nothing else is worth quoting. All processes are goroutines of one. Figures of two
// runs differ by some percent, so lines that run close to each other may cross more than
// once by chance.
package approaches
