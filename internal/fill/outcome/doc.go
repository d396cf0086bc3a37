// Package outcome finds which rows of an execution were stored, by the driver's answer and,
// where that leaves it open, by a question to the engine. It corrects LastInsertId, and
// tells the statistics, the traces and the recorders.
package outcome
