// Package outcome finds which rows of an execution were stored, by the driver's answer
// and, if that leaves it open, by a query. It corrects LastInsertId, and reports to the
// statistics, the traces and the recorders.
package outcome
