// Package keys holds the tests of integer keys: their sources, the states of the sources
// (the stored counters), and the tables that get the keys.
//
//   - kinds: each kind of integer key on a real table: the keys that it draws, that all
//     of them fit the column, the end of its range, and other programs that draw from the
//     same source. Also the rows of a time range by their keys, and the ids of package
//     publicid in columns.
//   - store: the tables which hold the state of sequences reserve each integer once, on
//     every engine and through every driver: with many connections at once, without the
//     right to create tables, beside open transactions, and under the sequences and key
//     tables that an application already has.
//   - binding: the state from which the keys of a table come: tables that share one,
//     patterns of names, schemas and databases of tenants, names in other cases, and
//     states or tables that are dropped and created again.
//   - follow: a counter goes on above the keys which others store: keys that the
//     application brings itself, keys of the engine, and keys of a program without
//     keyfill.
//   - catalog: keyfill reads the tables of an engine as the engine knows them: the
//     columns of an INSERT that names none, types, defaults and keys. Policies which do
//     not fit the tables are refused.
//
// The name of a file begins with its topic.
package keys
