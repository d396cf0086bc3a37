package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

// TestScopeText: texts name a parent under a collation that compares bytes, two
// columns name it together, and long ones do not run into one another.
func TestScopeText(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		text := map[bool]string{true: "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", false: "VARCHAR(200)"}[s.server == mariadb]
		exec(t, s.raw, "CREATE TABLE order_lines (shop "+text+" NOT NULL, year_no INT NOT NULL, no BIGINT NOT NULL, item VARCHAR(50), PRIMARY KEY (shop, year_no, no))")
		db, _ := s.open(t, linesOf(policy.ScopeColumn{Column: "shop", Type: policy.ScopeText}, policy.ScopeColumn{Column: "year_no"}))
		one := s.placeholders("INSERT INTO order_lines (shop, year_no, item) VALUES (?, ?, ?)")
		long := strings.Repeat("x", 199)
		for _, shop := range []string{"a", "A", "ä", "a'b", "a,1", long + "1", long + "2"} {
			for _, year := range []int{2025, 2026} {
				for range 2 {
					exec(t, db, one, shop, year, "stored")
				}
			}
		}
		got := integersOf(t, s.raw, "SELECT no FROM order_lines ORDER BY shop, year_no, no")
		if want := slices.Repeat([]int64{1, 2}, 14); !slices.Equal(got, want) {
			t.Errorf("numbers %v, want %v", got, want)
		}
		if got := integersOf(t, s.raw, "SELECT MAX(LENGTH(name)) FROM keyfill_sequences"); got[0] > 190 {
			t.Errorf("a name has %d characters", got[0])
		}
		for _, shop := range []any{"a ", "a\xff", strings.Repeat("x", 251), 7} {
			_, err := db.Exec(one, shop, 2025, "refused")
			if err == nil || !strings.Contains(err.Error(), `the scope's column "shop"`) {
				t.Errorf("%v: %v", shop, err)
			}
		}
	})
}

// TestScopeColumnUnfit: a column in which different values may be the same parent
// is refused before the first number, by what the catalog says of it.
func TestScopeColumnUnfit(t *testing.T) {
	for _, tt := range []struct {
		name     string
		engine   engine
		column   string // of the table
		kind     string // in the policy
		value    any
		contains string
	}{
		{"a collation without case", mysqlDefault, "VARCHAR(20) COLLATE utf8mb4_general_ci", policy.ScopeText, "a", "utf8mb4_general_ci"},
		{"NOCASE", sqliteFile, "TEXT COLLATE NOCASE", policy.ScopeText, "a", "NOCASE"},
		{"text as integers", pgxDefault, "text", policy.ScopeInteger, 7, "type: text"},
		{"text as integers", sqliteFile, "TEXT", policy.ScopeInteger, 7, "type: text"},
		{"anything", sqliteFile, "", policy.ScopeInteger, 7, "make it an integer"},
		{"a number with a fraction", mysqlDefault, "DECIMAL(10,2)", policy.ScopeInteger, 7, "decimal(10,2)"},
		{"integers as text", pgxDefault, "bigint", policy.ScopeText, "7", "bigint"},
		{"bytes", mysqlDefault, "VARBINARY(20)", policy.ScopeText, "a", "varbinary"},
		{"a uuid", pgxDefault, "uuid", policy.ScopeText, "0190163d-8694-7397-9a39-a5b8a1b4b2a0", "uuid"},
		{"too narrow", mysqlDefault, "SMALLINT", policy.ScopeInteger, 40000, "does not fit"},
		{"unsigned", mysqlDefault, "BIGINT UNSIGNED", policy.ScopeInteger, -1, "does not fit"},
	} {
		t.Run(tt.name+"/"+tt.engine.name, func(t *testing.T) {
			t.Parallel()
			s := tt.engine.scratch(t)
			exec(t, s.raw, "CREATE TABLE order_lines (parent "+tt.column+" NOT NULL, no BIGINT NOT NULL, PRIMARY KEY (parent, no))")
			db, _ := s.open(t, linesOf(policy.ScopeColumn{Column: "parent", Type: tt.kind}))
			_, err := db.Exec(s.placeholders("INSERT INTO order_lines (parent) VALUES (?)"), tt.value)
			if err == nil || !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("%v, want %q", err, tt.contains)
			}
			if got := integersOf(t, s.raw, "SELECT COUNT(*) FROM order_lines"); got[0] != 0 {
				t.Error("a row was stored")
			}
		})
	}
}

// TestScopeNotTheColumn: another scope of the same state is refused, and so is
// another state of the column.
func TestScopeNotTheColumn(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE order_lines (order_id BIGINT NOT NULL, shop BIGINT NOT NULL, no BIGINT NOT NULL, PRIMARY KEY (order_id, shop, no))")
		insert := s.placeholders("INSERT INTO order_lines (order_id, shop) VALUES (?, ?)")
		db, _ := s.open(t, linesOf(byOrder))
		exec(t, db, insert, 7, 1)
		db.Close()
		other, _ := s.open(t, linesOf(policy.ScopeColumn{Column: "shop"}))
		if _, err := other.Exec(insert, 7, 1); err == nil || !strings.Contains(err.Error(), "parameters") {
			t.Errorf("by another column: %v", err)
		}
		other.Close()
		cfg := linesOf()
		cfg.Tables["order_lines"].Keys[0].InPlace.Scope = nil
		cfg.Tables["order_lines"].Keys[0].InPlace.Name, cfg.Tables["order_lines"].Keys[0].InPlace.Start = "another", 100
		third, _ := s.open(t, cfg)
		if _, err := third.Exec(insert, 7, 1); err == nil || !strings.Contains(err.Error(), "served by another state") {
			t.Errorf("by another state: %v", err)
		}
		if got := integersOf(t, s.raw, "SELECT COUNT(*) FROM order_lines"); got[0] != 1 {
			t.Errorf("%d rows are stored, want 1", got[0])
		}
	})
}
