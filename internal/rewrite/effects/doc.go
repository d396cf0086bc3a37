// Package effects reports what a text does to its connection besides storing rows:
//
//	transaction.go     BEGIN, COMMIT, ROLLBACK TO …: see [TransactionOf]
//	tsqlbatch.go       the same for Transact-SQL
//	leaves.go          what the text leaves unchanged, all questions at once: see [Leaves]
//	searchpath.go      where the session looks for tables
//	temporarytable.go  the temporary tables that it makes
//	sessionreads.go    the results of the last statement that it reads
//	sessionsteps.go    the numbers of sequences that it reads and draws
//	settings.go        the session settings that change how it is read
//
// An unknown statement may do anything. An answer that is too careful only costs a
// question to the server.
//
// It builds on packages reader, words and scan.
package effects
