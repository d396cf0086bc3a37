// Package report holds what keyfill reports about keys: the messages of its log, how often
// they may come, and the counts of INSERTs by outcome. It draws nothing, and imports no other
// package of internal/keys.
package report
