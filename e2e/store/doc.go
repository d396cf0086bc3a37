// Package store proves that the tables which hold the state of sequences reserve each
// integer once, on every engine and through every driver: with many connections at
// once, without the right to create tables, beside open transactions, and under the
// sequences and key tables that an application already has.
package store
