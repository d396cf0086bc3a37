// Package selects proves the statements that insert rows which the client does not list:
// INSERT with a SELECT, MERGE, CREATE TABLE with a SELECT, and texts of several
// statements.
package selects
