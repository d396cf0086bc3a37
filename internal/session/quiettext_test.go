package session

import (
	"reflect"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
)

// A text of which IsQuiet says that it leaves what is known of a session does so when it
// is sent or prepared as any other text.
func TestIsQuiet(t *testing.T) {
	texts := []string{
		"INSERT INTO orders (a) VALUES (?)", "INSERT INTO orders (id, a) VALUES (LAST_INSERT_ID(?), ?)",
		"INSERT INTO orders (a) VALUES ($1) RETURNING id", "INSERT INTO orders (a) VALUES (f(1))",
		"INSERT INTO orders (a) VALUES (set_config('search_path', 'b', false))",
		"INSERT INTO orders (a) VALUES (1); SET search_path = b", "INSERT INTO renamed (a) VALUES (1)",
		"UPDATE orders SET a = 1", "DELETE FROM orders", "SELECT a FROM orders", "SELECT f(a) FROM orders",
		"SELECT 1 INTO b", "SET search_path = b", "USE b", "CREATE TABLE b (a int)", "ALTER TABLE a RENAME TO b",
		"ROLLBACK", "COMMIT", "CALL f()", "EXEC f", "ATTACH 'x' AS y", "REPLACE INTO orders (a) VALUES (1)",
	}
	left := 0
	for _, d := range dialect.All() {
		for _, text := range texts {
			if !IsQuiet(d, text) {
				continue
			}
			left++
			for _, send := range []func(*Conn, string){(*Conn).sends, (*Conn).prepares} {
				c := New(nil, NewServer(drivers.Facts{}, []*dialect.Dialect{d}))
				c.Columns.byName = map[string][]string{"orders": {"id", "a"}}
				c.Temporary.Names = map[string]bool{"other": true}
				c.Settings.Asked, c.Settings.changed = true, true
				c.Place.Asked, c.Place.Changed = true, true
				c.Tx = Inside
				before := c
				if send(&c, text); !reflect.DeepEqual(c, before) {
					t.Errorf("%s: Leaves(%q), but it is taken to change something", d.Name, text)
				}
			}
		}
	}
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite()} {
		if text := texts[0]; !IsQuiet(d, text) {
			t.Errorf("%s: Leaves(%q) = false", d.Name, text)
		}
	}
	if left < 10 {
		t.Errorf("Leaves has said so of %d texts and dialects, of too few to show anything", left)
	}
}
