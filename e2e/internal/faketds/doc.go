// Package faketds is a server that speaks as much of SQL Server's protocol as go-mssqldb
// needs. It executes nothing: it notes what arrives, RPC calls, batches and bulk loads,
// and answers as the test sets. Numbers is a session for it that keeps the state of one
// sequence and its transactions.
package faketds
