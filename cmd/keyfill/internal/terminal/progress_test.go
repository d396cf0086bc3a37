package terminal

import (
	"strings"
	"testing"
	"time"
)

// TestProgress: the bar shows the progress and the remaining time, and leaves no trace
// when a result replaces it.
func TestProgress(t *testing.T) {
	var b strings.Builder
	p := &Progress{out: &b, total: 100, now: time.Now, began: time.Now()}
	p.Draw(50, 90*time.Second, "half")
	if want := "\r[" + strings.Repeat("=", 15) + strings.Repeat(" ", 15) + "] half, 1m30s left\x1b[K"; b.String() != want {
		t.Errorf("draw writes %q, want %q", b.String(), want)
	}
	b.Reset()
	p.Draw(51, 0, "at once again")
	if b.Len() > 0 {
		t.Errorf("draw writes %q within the fifth of a second", b.String())
	}
	p.Clear()
	p.Clear()
	if b.String() != "\r\x1b[K" {
		t.Errorf("clear writes %q", b.String())
	}
	var none *Progress // where there is no terminal
	none.Show(1)
	none.ShowAs(1, "x")
	none.Draw(1, 0, "x")
	none.Clear()
	none.End()
	if NewProgress(&b, 1) != nil {
		t.Error("a buffer is taken for a terminal")
	}
}

// TestProgressLines: where there is no terminal, a line is written every ten seconds and no
// sequence of control characters.
func TestProgressLines(t *testing.T) {
	var b strings.Builder
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := NewRows(&b, 5000, func() time.Time { return now })
	for second := 1; second <= 32; second++ {
		now = now.Add(time.Second)
		p.Show(second * 100)
	}
	p.Clear()
	p.End()
	want := "1000 of 5000 rows, 100 a second, 40s left\n2000 of 5000 rows, 100 a second, 30s left\n3000 of 5000 rows, 100 a second, 20s left\n"
	if b.String() != want {
		t.Errorf("the lines are\n%swant\n%s", b.String(), want)
	}
}
