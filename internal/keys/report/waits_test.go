package report_test

import (
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/keys/report"
)

// TestPaced: one line a minute tells of what comes often, and of how often it came.
func TestPaced(t *testing.T) {
	var p report.OldPaced
	for i, want := range []int{1, 0, 0} {
		if got := p.Note(); got != want {
			t.Errorf("at %d there is a line about %d, want %d", i, got, want)
		}
	}
	p.Age(time.Minute)
	if got := p.Note(); got != 3 {
		t.Errorf("a minute later there is a line about %d, want 3", got)
	}
	if got := p.Note(); got != 0 {
		t.Errorf("behind it there is one about %d", got)
	}
}
