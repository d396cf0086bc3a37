// Package kinds proves each kind of integer key on a real table: what it draws, that
// all keys fit the column, what happens at the end of the range, and who else may draw
// from the same source.
package kinds
