package checker_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/judge/checker"
)

// TestForms checks how forms are read that hide where rows or columns end.
func TestForms(t *testing.T) {
	tests := []struct {
		dialect, query string
		names          []string
		values         []int // of each row
	}{
		{"postgres", "INSERT INTO t (a, b) VALUES (E'a'\n 'b\\'', 1)", []string{"a", "b"}, []int{2}},
		{"postgres", "INSERT INTO t (a, b) VALUES (E'a' , 'b\\', 1)", []string{"a", "b"}, []int{3}},
		{"mysql", "INSERT INTO t (a) (VALUES (1), (2))", []string{"a"}, []int{1, 1}},
		{"sqlite", `INSERT INTO t (with, "", 'c') VALUES (1, 2, 3)`, []string{"with", "", "'c'"}, []int{3}},
		{"sqlite", "INSERT INTO openrowset (a) VALUES (1)", []string{"a"}, []int{1}},
	}
	for _, tt := range tests {
		text, err := checker.Read(tt.dialect, tt.query)
		if err != nil || len(text.Inserts()) != 1 {
			t.Errorf("%s: Read(%q) = %+v, %v", tt.dialect, tt.query, text, err)
			continue
		}
		in := text.Inserts()[0]
		var values []int
		for _, row := range in.Rows {
			values = append(values, len(row))
		}
		if !slices.Equal(in.Names, tt.names) || !slices.Equal(values, tt.values) || in.NoTable {
			t.Errorf("%s: Read(%q): columns %q, values %v, want %q, %v", tt.dialect, tt.query, in.Names, values, tt.names, tt.values)
		}
	}
}
