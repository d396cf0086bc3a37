package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows on a terminal how far a command has come. nil shows nothing.
type progress struct {
	out   io.Writer
	total int
	began time.Time
	shown time.Time
}

// newProgress returns the progress of a command with so much to do; nil where out is no
// terminal.
func newProgress(out io.Writer, total int) *progress {
	file, isFile := out.(*os.File)
	if !isFile {
		return nil
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &progress{out: out, total: total, began: time.Now()}
}

// progressWidth is how many characters the bar has.
const progressWidth = 30

// show shows how much is done, some times a second.
func (p *progress) show(done int) {
	if p == nil || time.Since(p.shown) < 200*time.Millisecond {
		return
	}
	p.shown = time.Now()
	part := min(done*progressWidth/max(p.total, 1), progressWidth)
	rate := float64(done) / max(time.Since(p.began).Seconds(), 0.001)
	fmt.Fprintf(p.out, "\r[%s%s] %d of %d rows, %.0f a second ", strings.Repeat("=", part), strings.Repeat(" ", progressWidth-part), done, p.total, rate)
}

// end leaves the line.
func (p *progress) end() {
	if p != nil && !p.shown.IsZero() {
		fmt.Fprintln(p.out)
	}
}
