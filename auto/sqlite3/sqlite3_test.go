package sqlite3_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill"
	_ "github.com/keyfill/keyfill/auto/sqlite3"
)

// TestName: the blank import registers the name, an INSERT gets its key by the
// policy of the file, and Mounts has the mount.
func TestName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	text := "version: 1\ntables:\n  orders: {column: id, source: {kind: sequence, ensure_schema: true, start: 1001}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEYFILL_CONFIG", file)
	db, err := sql.Open("sqlite3-keyfill", filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)"); err != nil {
		t.Fatal(err)
	}
	result, err := db.Exec("INSERT INTO orders (note) VALUES (?), (?)", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := result.LastInsertId(); err != nil || id != 1002 {
		t.Errorf("LastInsertId = %d, %v, want 1002", id, err)
	}
	if keys := keyfill.Mounts()["sqlite3-keyfill"].Stats().Tables["orders"].Keys; keys != 2 {
		t.Errorf("the mount of the name counts %d keys, want 2", keys)
	}
}
