// Package approaches measures ways to make surrogate keys against each other: how
// many rows a second get one when 1, 2, 4, 8 and 16 connections insert at the same
// time. It repeats, on engines of today, the comparison in Sybase's TechNote of 1994
// "Four Approaches to Surrogate Key Generation": the monotonic one (max+1, a
// next-key table, the identity property), the pseudo-random, the composite and the
// recycled series. There the others pass the monotonic approach at four to five
// connections, and earlier where transactions hold their locks longer.
//
//	make approaches                     all of it, 2 s a cell, about 15 minutes
//	make approaches TIME=5s ENGINES=mariadb FORMS=durable CONNECTIONS=1,4
//	make approaches METHODS=recycled,joined
//
// The test of the package runs the same cells for some milliseconds and asserts
// what does not depend on a clock.
//
// # A cell
//
// A cell is one [measure.Method] with some connections, in one [Form], on one [Engine], for
// a fixed time. It has a table of its own. Every connection is what the article
// calls a process: a database handle of its own with a connection of its own, so
// also a mount, a block and a series of its own; the connections of stores come on
// top. Keys are made by keyfill, with the defaults of each kind, but for identity,
// where the engine makes them and the driver is used as it is. MariaDB is spoken to
// with interpolateParams, so that a statement is one round trip on both engines.
//
// Before the time runs, every connection inserts one row: what is asked of the
// catalog and the first reservation are not measured. Counted are the rows that
// were committed before the time was over.
//
// What the engine ends for the sake of others (deadlocks, serialization failures,
// locks waited for in vain) is counted below keyfill, as the engine reports it, so
// that what keyfill makes again is in it. What reaches the caller is tried again.
//
// # What is checked
//
// At the end of a cell the table has as many rows as were committed, and no key was
// refused as a duplicate, but for max+1 without a lock, where the primary key is
// the guard; without gaps are the keys of max+1 and of the joined next-key table.
//
// # Caveats
//
// Clients and server share a machine, and a commit costs what its disk takes: the
// heading names both, with the load and the time of a synced write. Only a run on a
// machine that does nothing else is worth quoting. All processes are goroutines of
// one. Figures of two runs differ by some percent, so lines that run
// close to each other may be said to cross more than once.
package approaches
