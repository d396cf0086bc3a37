// Package effects reports what a text does to its connection besides storing rows:
//
//	transaction.go     BEGIN, COMMIT, ROLLBACK TO …: see [TransactionOf]
//	tsqlbatch.go       the same for Transact-SQL
//	leaves.go          what the text leaves unchanged, for all questions at once: see [Leaves]
//	searchpath.go      in which schemas the session looks for tables
//	temporarytable.go  the temporary tables that the text makes
//	sessionreads.go    the results of the statement before it that the text reads
//	sessionsteps.go    the numbers of sequences that the text reads and draws
//	settings.go        the session settings that change how the text is read
//
// An unknown statement may do anything. A result that is too careful only costs a question
// to the server.
//
// Package effects builds on packages reader, words and scan.
package effects
