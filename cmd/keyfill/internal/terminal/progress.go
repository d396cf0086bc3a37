package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress shows how far a command has come: by a bar on a terminal, by lines elsewhere. A
// nil Progress shows nothing.
type Progress struct {
	out   io.Writer
	total int
	lines bool // whether out gets lines, and no bar
	now   func() time.Time
	began time.Time
	shown time.Time // when something was drawn; zero before that
}

// NewProgress returns the progress of a command that has total units of work; nil if out is
// not a terminal.
func NewProgress(out io.Writer, total int) *Progress {
	if !Is(out) {
		return nil
	}
	return &Progress{out: out, total: total, now: time.Now, began: time.Now()}
}

// NewRows returns the progress of a command that changes total rows: a bar if out is a
// terminal, and otherwise a line every ten seconds, which a log can hold. now is the clock.
func NewRows(out io.Writer, total int, now func() time.Time) *Progress {
	return &Progress{out: out, total: total, lines: !Is(out), now: now, began: now()}
}

// lineEvery is the time between two lines.
const lineEvery = 10 * time.Second

// progressWidth is how many characters the bar has.
const progressWidth = 30

// Show draws how many rows are done, as [Progress.Draw] does.
func (p *Progress) Show(done int) {
	if p == nil {
		return
	}
	rate := float64(done) / max(p.now().Sub(p.began).Seconds(), 0.001)
	left := time.Duration(float64(p.total-done) / max(rate, 1e-9) * float64(time.Second))
	p.Draw(done, left, fmt.Sprintf("%d of %d rows, %.0f a second", done, p.total, rate))
}

// ShowAs does what Show does, and draws the text what beside the bar.
func (p *Progress) ShowAs(done int, what string) {
	if p == nil {
		return
	}
	took := p.now().Sub(p.began)
	p.Draw(done, time.Duration(float64(took)/float64(max(done, 1))*float64(p.total-done)), what)
}

// Clear removes the bar, so that a result can replace it.
func (p *Progress) Clear() {
	if p != nil && !p.lines && !p.shown.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = time.Time{}
	}
}

// Draw draws the bar, the text and the remaining time, at most five times a second. Where
// there is no bar, it writes the text and the time as a line, every ten seconds.
func (p *Progress) Draw(done int, left time.Duration, text string) {
	if p == nil {
		return
	}
	now := p.now()
	if p.lines {
		if now.Sub(p.began) >= lineEvery && now.Sub(p.shown) >= lineEvery {
			p.shown = now
			fmt.Fprintf(p.out, "%s, %s left\n", text, max(left, 0).Round(time.Second))
		}
		return
	}
	if now.Sub(p.shown) < 200*time.Millisecond {
		return
	}
	p.shown = now
	part := min(done*progressWidth/max(p.total, 1), progressWidth)
	// The escape sequence \x1b[K clears the rest of the line, since the text before may
	// have been longer.
	fmt.Fprintf(p.out, "\r[%s%s] %s, %s left\x1b[K", strings.Repeat("=", part), strings.Repeat(" ", progressWidth-part), text, max(left, 0).Round(time.Second))
}

// End ends the line of the bar, if it was drawn.
func (p *Progress) End() {
	if p != nil && !p.lines && !p.shown.IsZero() {
		fmt.Fprintln(p.out)
	}
}
