package explainreport

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
)

// TestMaskedText: strings, numbers and comments are left out, names stay.
func TestMaskedText(t *testing.T) {
	for _, tt := range []struct {
		dialect    *dialect.Dialect
		text, want string
	}{
		{dialect.PostgreSQL(), "INSERT INTO t1 (\"a\", b)\n VALUES ($1, E'x\\'y', 0x1F, 1.5e3, .5, $$z$$) -- secret", `INSERT INTO t1 ("a", b) VALUES ($1, '…', 0, 0, 0, '…')`},
		{dialect.MySQL(), "INSERT INTO t (`a`) VALUES (\"x\", 'y', 1, ?, @v) # secret", "INSERT INTO t (`a`) VALUES ('…', '…', 0, ?, @v)"},
		{dialect.MySQL(), "SELECT /*! secret */ 'open", "SELECT … …"},
		{dialect.SQLServer(), "INSERT INTO [t] VALUES (N'x', 1, @p1)", "INSERT INTO [t] VALUES ('…', 0, @p1)"},
	} {
		if got := maskedText(tt.dialect, tt.text); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
}
