package page_test

import (
	"testing"

	"github.com/keyfill/keyfill/bench/page"
)

func TestInsert(t *testing.T) {
	const begin, end = "<!-- bench: make bench -->\n", "<!-- end of bench -->\n"
	tests := []struct{ name, page, want string }{
		{"empty", "a\n" + begin + end + "b\n", "a\n" + begin + "new\n" + end + "b\n"},
		{"replaced", "a\n" + begin + "old\n\nold\n" + end, "a\n" + begin + "new\n" + end},
		{"no markers", "a\n", ""},
		{"no end", begin + "a\n", ""},
		{"twice", begin + end + begin + end, ""},
		{"the wrong way round", end + begin, ""},
		{"another's", "<!-- layouts: make layouts -->\n<!-- end of layouts -->\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := page.Insert(tt.page, "bench", "new\n")
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("Insert(%q) = %q, %v, want %q", tt.page, got, err, tt.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	got := page.Table([]string{"a", "b"}, [][]string{{"1", "x|y"}})
	if want := "| a | b |\n|---|---|\n| 1 | x\\|y |\n"; got != want {
		t.Errorf("Table = %q, want %q", got, want)
	}
}
