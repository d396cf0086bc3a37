// Package outcome finds out which rows of an execution were stored: from the driver's
// answer and, if that does not show it, by a query. It corrects LastInsertId, and
// reports to the statistics, the traces and the recorders.
package outcome
