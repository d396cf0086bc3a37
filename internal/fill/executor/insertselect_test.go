package executor_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/rewrite"
)

// TestUnnumbered: servers that cannot number rows, and servers whose replicas would
// number them otherwise, are recognized by their answers.
func TestUnnumbered(t *testing.T) {
	mysql, mariadb, sqlite := dialect.MySQL(), dialect.MariaDB(), dialect.SQLite()
	for _, c := range []struct {
		d       *dialect.Dialect
		answers []any
		want    rewrite.Reason
	}{
		{mysql, []any{"8.0.36", int64(1), "ROW"}, ""},
		{mysql, []any{[]byte("9.1.0-log"), []byte("1"), []byte("ROW")}, ""},
		{mysql, []any{"5.7.44-log", int64(0), "ROW"}, rewrite.ErrOldServer},
		{mysql, []any{"8.4.0", int64(1), "STATEMENT"}, rewrite.ErrStatementLog},
		{mysql, []any{"8.4.0", int64(1), "MIXED"}, rewrite.ErrStatementLog},
		{mysql, []any{"8.4.0", int64(0), "STATEMENT"}, ""},
		{mariadb, []any{"10.11.6-MariaDB", int64(0), "MIXED"}, ""},
		{mariadb, []any{"10.11.6-MariaDB", int64(1), "MIXED"}, rewrite.ErrStatementLog},
		{mariadb, []any{"10.1.48-MariaDB", int64(0), "ROW"}, rewrite.ErrOldServer},
		{mariadb, []any{"10.2.0-MariaDB", int64(0), "ROW"}, ""},
		{sqlite, []any{"3.37.2"}, rewrite.ErrOldServer},
		{sqlite, []any{"3.38.0"}, ""},
		{sqlite, []any{"3.50.4"}, ""},
		{dialect.PostgreSQL(), nil, ""},
	} {
		if got := executor.Unnumbered(c.d, c.answers); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.d.Name, c.answers, got, c.want)
		}
	}
}
