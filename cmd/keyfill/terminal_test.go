//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal calls a function with the terminal's end of a pseudoterminal, and returns
// what it has written there.
func onTerminal(t *testing.T, do func(terminal *os.File)) string {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(screen) // it ends with an error when the terminal is closed
		written <- all
	}()
	do(terminal)
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	return string(<-written)
}

// TestExplainOnTerminal: on a terminal a long input has a bar, which leaves no trace, and
// words have colours unless NO_COLOR is set.
func TestExplainOnTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	const progressEvery = 512 // statements
	config := writeFile(t, "keyfill.yaml", "version: 1\ndialect: postgres\ntables: {orders: {column: id}}\n")
	long := writeFile(t, "long.sql", strings.Repeat("INSERT INTO orders (note) VALUES ('a');\n", 4*progressEvery))
	var out bytes.Buffer
	bar := onTerminal(t, func(terminal *os.File) {
		if code := run(t.Context(), []string{"explain", "--config", config, "--summary", "-f", long}, nil, &out, terminal); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	if !strings.Contains(bar, fmt.Sprintf("] %d statements, ", progressEvery)) || !strings.HasSuffix(bar, "\r\x1b[K") {
		t.Errorf("the bar is %q", bar)
	}
	if want := fmt.Sprintf("%d statements: %[1]d fill", 4*progressEvery); !strings.Contains(out.String(), want) {
		t.Errorf("%q, want %s", out.String(), want)
	}
	for variable, want := range map[string]string{"": "\x1b[32mfill\x1b[0m: ", "1": "action  fill: "} {
		t.Setenv("NO_COLOR", variable)
		shown := onTerminal(t, func(terminal *os.File) {
			run(t.Context(), []string{"explain", "--config", config, "INSERT INTO orders (note) VALUES ('a')"}, nil, terminal, io.Discard)
		})
		if !strings.Contains(shown, want) {
			t.Errorf("NO_COLOR=%s: %q, want %q in it", variable, shown, want)
		}
	}
}
