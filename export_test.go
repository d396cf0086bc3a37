package keyfill

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// Unnumbered opens unnumbered to tests.
func Unnumbered(d *dialect.Dialect, answers ...any) rewrite.Reason { return unnumbered(d, answers) }

// LeavesTables opens leavesTables to tests.
func LeavesTables(d *dialect.Dialect, query string) bool { return leavesTables(d, query) }

// LeavesSettings opens leavesSettings to tests.
func LeavesSettings(d *dialect.Dialect, query string) bool { return leavesSettings(d, query) }
