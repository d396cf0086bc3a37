// Package execution holds what is known of a connection and of one execution on it: the
// texts that were seen, what is to be done with each, the keys, and what is counted, traced
// and recorded.
//
// It sends no statement of the application. Package executor gives an [Execution] its keys
// and sends it, package outcome finds which rows were stored.
package execution
