package effects_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// TestRenames: a text that may give a table another name is found, and is told from one
// that has the word in a value, a name or a comment.
func TestRenames(t *testing.T) {
	for _, tt := range []struct {
		d     *dialect.Dialect
		query string
		want  bool
	}{
		{dialect.PostgreSQL(), "ALTER TABLE a RENAME TO b", true},
		{dialect.PostgreSQL(), "alter table a rename to b;", true},
		{dialect.PostgreSQL(), "BEGIN; INSERT INTO a VALUES (1); ALTER TABLE a RENAME TO b; COMMIT", true},
		{dialect.PostgreSQL(), "INSERT INTO log (what) VALUES ('rename')", false},
		{dialect.PostgreSQL(), "SELECT rename FROM t", false},
		{dialect.PostgreSQL(), "ALTER TABLE a ADD b int -- rename", false},
		{dialect.PostgreSQL(), `ALTER TABLE "rename" ADD b int`, false},
		{dialect.MySQL(), "RENAME TABLE a TO b, c TO a", true},
		{dialect.MySQL(), "ALTER TABLE a /*!50000 RENAME */ TO b", true},
		{dialect.MariaDB(), "ALTER TABLE a EXCHANGE PARTITION p WITH TABLE b", true},
		{dialect.SQLite(), "ALTER TABLE a RENAME TO b", true},
		{dialect.SQLite(), "DROP TABLE a", false},
		{dialect.SQLServer(), "EXEC sp_rename 'a', 'b'", true},
		{dialect.SQLServer(), "SELECT 1 EXEC sp_rename 'a', 'b'", true},
		{dialect.Oracle(), "RENAME a TO b", true},
	} {
		if got := effects.Renames(tt.d, tt.query); got != tt.want {
			t.Errorf("%s: Renames(%q) = %v", tt.d.Name, tt.query, got)
		}
		if tt.want && words.Concerns(tt.d, tt.query)&words.ConcernsNames == 0 {
			t.Errorf("%s: %q does not concern names", tt.d.Name, tt.query)
		}
	}
}
