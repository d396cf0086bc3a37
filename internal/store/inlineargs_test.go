package store_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/store"
)

// TestWritten: arguments stand in the text in a form that no setting of the session
// reads otherwise, or are bound.
func TestWritten(t *testing.T) {
	for _, c := range []struct {
		name, query string
		args        []any
		want        string
		bound       int
	}{
		{"integers and a text", "UPDATE t SET n = ? WHERE name = ? AND n = ?", []any{int64(-1), "orders.id", uint64(1 << 63)},
			"UPDATE t SET n = -1 WHERE name = 'orders.id' AND n = 9223372036854775808", 0},
		{"a question mark in a text", "SELECT ?, ?", []any{"a?b", int64(1)}, "SELECT 'a?b', 1", 0},
		{"a quote", "SELECT ?", []any{`it's`}, "SELECT _utf8mb4 X'69742773'", 0},
		{"a backslash", "SELECT ?", []any{`a\`}, "SELECT _utf8mb4 X'615c'", 0},
		{"beyond ASCII", "SELECT ?", []any{"é"}, "SELECT _utf8mb4 X'c3a9'", 0},
		{"a line end", "SELECT ?", []any{"a\nb"}, "SELECT _utf8mb4 X'610a62'", 0},
		{"an empty text", "SELECT ?", []any{""}, "SELECT ''", 0},
		{"NULL", "SELECT ?", []any{nil}, "SELECT NULL", 0},
		{"a question mark in a name", "SELECT ? FROM `a?b`", []any{int64(1)}, "SELECT ? FROM `a?b`", 1},
		{"bytes", "SELECT ?", []any{[]byte("a")}, "SELECT ?", 1},
	} {
		got, args := store.Written(c.query, c.args)
		if got != c.want || len(args) != c.bound {
			t.Errorf("%s: %s with %d arguments, want %s with %d", c.name, got, len(args), c.want, c.bound)
		}
	}
}
