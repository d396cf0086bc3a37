package fill

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// Unnumbered opens unnumbered to tests.
func Unnumbered(d *dialect.Dialect, answers ...any) rewrite.Reason { return unnumbered(d, answers) }
