// Package measure holds what is measured of keys and how their rows are stored: the
// layouts of keys, the ways to make keys, and the tables that the rows go to. "keyfill
// bench" measures with it on a user's database, the module bench on servers of its own.
//
// The package opens no database: the caller does, with the policy of a [Layout] or
// [Method].
package measure
