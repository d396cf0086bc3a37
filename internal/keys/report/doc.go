// Package report is what keyfill tells about keys: the messages in its log, each at most so
// often, and the counts of INSERTs by what happened to them. It draws nothing, and stands on
// no other floor of internal/keys.
package report
