package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/keyfill/keyfill/auto/sqlite"
)

// TestOtherDialect: a policy for another engine than the driver's is an error of
// sql.Open.
func TestOtherDialect(t *testing.T) {
	for dialect, wrong := range map[string]bool{"sqlite": false, "mysql": true, "postgres": true} {
		file := filepath.Join(t.TempDir(), "keyfill.yaml")
		text := "version: 1\ndialect: " + dialect + "\ntables: {customers: {column: id}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KEYFILL_CONFIG", file)
		db, err := sql.Open("sqlite-keyfill", ":memory:")
		if err == nil {
			db.Close()
		}
		if wrong != (err != nil && strings.Contains(err.Error(), "dialect: "+dialect)) {
			t.Errorf("sql.Open with dialect: %s: %v", dialect, err)
		}
	}
}
