package keyfill

import "github.com/keyfill/keyfill/dialect"

// LeavesTables opens leavesTables to tests.
func LeavesTables(d *dialect.Dialect, query string) bool { return leavesTables(d, query) }
