// Package report has what keyfill reports about keys: the messages of its log, how
// often they may be logged, and the counts of INSERTs by outcome. It draws no keys, and
// imports no other package of internal/keys.
package report
