package report

import "time"

// OldPaced opens Paced to tests.
type OldPaced struct{ of Paced }

// Note is note.
func (p *OldPaced) Note() int { return p.of.Note() }

// Age makes the last line older.
func (p *OldPaced) Age(d time.Duration) { p.of.Said = p.of.Said.Add(-d) }
