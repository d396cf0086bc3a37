// Package measure holds what benchmarks of keys have in common: the kinds of keys in their
// layouts, the methods to make keys, and the tables that the rows go to. "keyfill bench"
// measures with it on a user's database, the module bench on servers of its own.
//
// The package opens no database: the caller does, with the policy of a [Layout] or
// [Method].
package measure

//row:changes | what `keyfill bench` measures | `internal/measure`, as the module `bench`
