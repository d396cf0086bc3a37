// Package sqlserver looks at what the drivers of SQL Server and Oracle send, for which
// there is no server here: go-mssqldb talks to a server of package faketds, which
// answers what a test tells it to.
package sqlserver
