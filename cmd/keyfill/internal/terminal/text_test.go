package terminal

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	text := "one two three"
	for _, tt := range []struct {
		width int
		want  []string
	}{
		{3, []string{"one", "two", "three"}},
		{7, []string{"one two", "three"}},
		{13, []string{text}},
	} {
		if got := Wrap(text, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", text, tt.width, got, tt.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 100: "100", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
}
