// Package retry repeats a transaction after an error that may not occur again, with the
// same keys for the same statements, and finds out whether a COMMIT without an answer
// has stored the rows.
package retry
