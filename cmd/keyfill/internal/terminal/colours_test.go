package terminal

import (
	"bytes"
	"os"
	"testing"
)

// TestColours: a device has colours, unless the user or the terminal wants none; a file
// has none.
func TestColours(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	for _, tt := range []struct {
		noColor, term string
		want          string
	}{
		{"", "xterm", "\x1b[31merror\x1b[0m"},
		{"", "", "\x1b[31merror\x1b[0m"},
		{"1", "xterm", "error"},
		{"", "dumb", "error"},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		t.Setenv("TERM", tt.term)
		if got := ColoursOf(device).Paint(Red, "error"); got != tt.want {
			t.Errorf("NO_COLOR=%q TERM=%q: %q, want %q", tt.noColor, tt.term, got, tt.want)
		}
		if got := ColoursOf(device).Paint("", "info"); got != "info" {
			t.Errorf("a word without a colour is %q", got)
		}
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	if ColoursOf(&bytes.Buffer{}) {
		t.Error("a buffer has colours")
	}
}
