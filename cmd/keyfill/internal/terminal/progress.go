package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress shows on a terminal how far a command has come. A nil Progress shows nothing.
type Progress struct {
	out   io.Writer
	total int
	began time.Time
	shown time.Time
}

// NewProgress returns the progress of a command that has total units of work; nil if out is
// not a terminal.
func NewProgress(out io.Writer, total int) *Progress {
	if !Is(out) {
		return nil
	}
	return &Progress{out: out, total: total, began: time.Now()}
}

// progressWidth is how many characters the bar has.
const progressWidth = 30

// Show draws how many units are done, at most five times a second.
func (p *Progress) Show(done int) {
	if p == nil {
		return
	}
	rate := float64(done) / max(time.Since(p.began).Seconds(), 0.001)
	left := time.Duration(float64(p.total-done) / max(rate, 1e-9) * float64(time.Second))
	p.Draw(done, left, fmt.Sprintf("%d of %d rows, %.0f a second", done, p.total, rate))
}

// ShowAs does what Show does, and draws the text what beside the bar.
func (p *Progress) ShowAs(done int, what string) {
	if p == nil {
		return
	}
	took := time.Since(p.began)
	p.Draw(done, time.Duration(float64(took)/float64(max(done, 1))*float64(p.total-done)), what)
}

// Clear removes the bar, so that a result can replace it.
func (p *Progress) Clear() {
	if p != nil && !p.shown.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = time.Time{}
	}
}

// Draw draws the bar, the text and the remaining time, at most five times a second.
func (p *Progress) Draw(done int, left time.Duration, text string) {
	if p == nil || time.Since(p.shown) < 200*time.Millisecond {
		return
	}
	p.shown = time.Now()
	part := min(done*progressWidth/max(p.total, 1), progressWidth)
	// The escape sequence \x1b[K clears the rest of the line, since the text before may
	// have been longer.
	fmt.Fprintf(p.out, "\r[%s%s] %s, %s left\x1b[K", strings.Repeat("=", part), strings.Repeat(" ", progressWidth-part), text, max(left, 0).Round(time.Second))
}

// End ends the line of the bar, if it was drawn.
func (p *Progress) End() {
	if p != nil && !p.shown.IsZero() {
		fmt.Fprintln(p.out)
	}
}
