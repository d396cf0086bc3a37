// Package effects says what a text does to its connection besides storing rows:
//
//	transaction.go     BEGIN, COMMIT, ROLLBACK TO …: see [TransactionOf]
//	tsqlbatch.go       the same for Transact-SQL
//	leaves.go          what the text leaves as it is, all questions at once: see [Leaves]
//	searchpath.go      where the session looks for tables
//	temporarytable.go  the temporary tables that it makes
//	sessionreads.go    the results of the last statement that it asks for
//	sessionsteps.go    the numbers of sequences that it reads and draws
//	settings.go        the settings of the session under which it reads otherwise
//
// A statement that is not known may do anything. An answer that is too careful
// costs a question to the server, and no more.
//
// It stands on packages reader, words and scan.
package effects
