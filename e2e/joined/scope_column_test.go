package joined_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestScopeText: texts name a parent under a collation that compares bytes, two
// columns name it together, and long ones do not run into one another.
func TestScopeText(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		text := map[bool]string{true: "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", false: "VARCHAR(200)"}[s.Server == harness.MariaDB]
		harness.Exec(t, s.Raw, "CREATE TABLE order_lines (shop "+text+" NOT NULL, year_no INT NOT NULL, no BIGINT NOT NULL, item VARCHAR(50), PRIMARY KEY (shop, year_no, no))")
		db, _ := s.Open(t, harness.LinesOf(policy.ScopeColumn{Column: "shop", Type: policy.ScopeText}, policy.ScopeColumn{Column: "year_no"}))
		one := s.Placeholders("INSERT INTO order_lines (shop, year_no, item) VALUES (?, ?, ?)")
		long := strings.Repeat("x", 199)
		for _, shop := range []string{"a", "A", "ä", "a'b", "a,1", long + "1", long + "2"} {
			for _, year := range []int{2025, 2026} {
				for range 2 {
					harness.Exec(t, db, one, shop, year, "stored")
				}
			}
		}
		got := harness.IntegersOf(t, s.Raw, "SELECT no FROM order_lines ORDER BY shop, year_no, no")
		if want := slices.Repeat([]int64{1, 2}, 14); !slices.Equal(got, want) {
			t.Errorf("numbers %v, want %v", got, want)
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT MAX(LENGTH(name)) FROM keyfill_sequences"); got[0] > 190 {
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
	t.Parallel()
	for _, tt := range []struct {
		name     string
		engine   harness.Engine
		column   string // of the table
		kind     string // in the policy
		value    any
		contains string
	}{
		{"a collation without case", harness.MySQLDefault, "VARCHAR(20) COLLATE utf8mb4_general_ci", policy.ScopeText, "a", "utf8mb4_general_ci"},
		{"NOCASE", harness.SQLiteFile, "TEXT COLLATE NOCASE", policy.ScopeText, "a", "NOCASE"},
		{"text as integers", harness.PgxDefault, "text", policy.ScopeInteger, 7, "type: text"},
		{"text as integers", harness.SQLiteFile, "TEXT", policy.ScopeInteger, 7, "type: text"},
		{"anything", harness.SQLiteFile, "", policy.ScopeInteger, 7, "make it an integer"},
		{"a number with a fraction", harness.MySQLDefault, "DECIMAL(10,2)", policy.ScopeInteger, 7, "decimal(10,2)"},
		{"integers as text", harness.PgxDefault, "bigint", policy.ScopeText, "7", "bigint"},
		{"bytes", harness.MySQLDefault, "VARBINARY(20)", policy.ScopeText, "a", "varbinary"},
		{"a uuid", harness.PgxDefault, "uuid", policy.ScopeText, "0190163d-8694-7397-9a39-a5b8a1b4b2a0", "uuid"},
		{"too narrow", harness.MySQLDefault, "SMALLINT", policy.ScopeInteger, 40000, "does not fit"},
		{"unsigned", harness.MySQLDefault, "BIGINT UNSIGNED", policy.ScopeInteger, -1, "does not fit"},
	} {
		t.Run(tt.name+"/"+tt.engine.Name, func(t *testing.T) {
			t.Parallel()
			s := tt.engine.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE order_lines (parent "+tt.column+" NOT NULL, no BIGINT NOT NULL, PRIMARY KEY (parent, no))")
			db, _ := s.Open(t, harness.LinesOf(policy.ScopeColumn{Column: "parent", Type: tt.kind}))
			_, err := db.Exec(s.Placeholders("INSERT INTO order_lines (parent) VALUES (?)"), tt.value)
			if err == nil || !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("%v, want %q", err, tt.contains)
			}
			if got := harness.IntegersOf(t, s.Raw, "SELECT COUNT(*) FROM order_lines"); got[0] != 0 {
				t.Error("a row was stored")
			}
		})
	}
}

// TestScopeNotTheColumn: another scope of the same state is refused, and so is
// another state of the column.
func TestScopeNotTheColumn(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE order_lines (order_id BIGINT NOT NULL, shop BIGINT NOT NULL, no BIGINT NOT NULL, PRIMARY KEY (order_id, shop, no))")
		insert := s.Placeholders("INSERT INTO order_lines (order_id, shop) VALUES (?, ?)")
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		harness.Exec(t, db, insert, 7, 1)
		db.Close()
		other, _ := s.Open(t, harness.LinesOf(policy.ScopeColumn{Column: "shop"}))
		if _, err := other.Exec(insert, 7, 1); err == nil || !strings.Contains(err.Error(), "parameters") {
			t.Errorf("by another column: %v", err)
		}
		other.Close()
		cfg := harness.LinesOf()
		cfg.Tables["order_lines"].Keys[0].InPlace.Scope = nil
		cfg.Tables["order_lines"].Keys[0].InPlace.Name, cfg.Tables["order_lines"].Keys[0].InPlace.Start = "another", 100
		third, _ := s.Open(t, cfg)
		if _, err := third.Exec(insert, 7, 1); err == nil || !strings.Contains(err.Error(), "served by another state") {
			t.Errorf("by another state: %v", err)
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT COUNT(*) FROM order_lines"); got[0] != 1 {
			t.Errorf("%d rows are stored, want 1", got[0])
		}
	})
}
