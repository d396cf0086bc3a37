// Package execution holds the state of a connection, and of one execution of a
// statement on it: the texts that were seen, the decision about each text, the keys,
// the counts, the traces and the records.
//
// It sends no statement of the application. Package executor gives an [Execution] its
// keys and sends it, and package outcome finds out which rows were stored.
package execution
