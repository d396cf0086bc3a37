// Package execution holds the state of a connection and of one execution on it: the texts
// that were seen, the decision about each, the keys, the counts, the traces and the
// records.
//
// It sends no statement of the application. Package executor gives an [Execution] its keys
// and sends it, package outcome finds which rows were stored.
package execution
