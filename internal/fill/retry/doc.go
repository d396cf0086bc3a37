// Package retry runs a transaction again after an error that a retry can cure, with the
// same keys for the same statements, and finds the rows that a lost COMMIT has stored.
package retry
