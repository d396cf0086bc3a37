package checker_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/judge/checker"
	"github.com/keyfill/keyfill/judge/tree"
)

// TestSelectedRows: SELECTs that are rows have a key each after their items, and nothing
// else of them has changed; % stands for a key, whose last digit is its number.
func TestSelectedRows(t *testing.T) {
	for _, c := range []struct{ name, dialect, in, out string }{
		{"", "sqlite", "INSERT INTO t (a) SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM t)", "INSERT INTO t (a, kf_id) SELECT 1, %1 WHERE NOT EXISTS (SELECT 1 FROM t)"},
		{"", "sqlite", "INSERT INTO t (a) SELECT 1 UNION ALL SELECT 2 WHERE 1", "INSERT INTO t (a, kf_id) SELECT 1, %1 UNION ALL SELECT 2, %2 WHERE 1"},
		{"", "postgres", "INSERT INTO t (a) (SELECT lower('X') AS a) UNION ALL SELECT 'y'", "INSERT INTO t (a, kf_id) (SELECT COALESCE(lower('X')) AS a, CAST(%1 AS uuid)) UNION ALL SELECT 'y', CAST(%2 AS uuid)"},
		{"", "oracle", "INSERT INTO t (a) SELECT 1 FROM dual WHERE 1 = 2", "INSERT INTO t (a, kf_id) SELECT 1, %1 FROM dual WHERE 1 = 2"},
		{"a table", "sqlite", "INSERT INTO t (a) SELECT 1 FROM u", "INSERT INTO t (a, kf_id) SELECT 1, %1 FROM u"},
		{"DISTINCT", "postgres", "INSERT INTO t (a) SELECT DISTINCT 1", "INSERT INTO t (a, kf_id) SELECT DISTINCT 1, %1"},
		{"rows are compared", "sqlite", "INSERT INTO t (a) SELECT 1 UNION SELECT 1", "INSERT INTO t (a, kf_id) SELECT 1, %1 UNION SELECT 1, %2"},
		{"GROUP BY", "sqlite", "INSERT INTO t (a) SELECT 1 GROUP BY a", "INSERT INTO t (a, kf_id) SELECT 1, %1 GROUP BY a"},
		{"one key twice", "sqlite", "INSERT INTO t (a) SELECT 1 UNION ALL SELECT 2", "INSERT INTO t (a, kf_id) SELECT 1, %1 UNION ALL SELECT 2, %1"},
		{"a row without", "sqlite", "INSERT INTO t (a) SELECT 1 UNION ALL SELECT 2", "INSERT INTO t (a, kf_id) SELECT 1, %1 UNION ALL SELECT 2"},
		{"an item changed", "sqlite", "INSERT INTO t (a) SELECT 1", "INSERT INTO t (a, kf_id) SELECT 2, %1"},
		{"the condition changed", "sqlite", "INSERT INTO t (a) SELECT 1 WHERE 1", "INSERT INTO t (a, kf_id) SELECT 1, %1 WHERE 2"},
		{"the condition went", "sqlite", "INSERT INTO t (a) SELECT 1 WHERE 1", "INSERT INTO t (a, kf_id) SELECT 1, %1"},
		{"no key", "sqlite", "INSERT INTO t (a) SELECT 1", "INSERT INTO t (a, kf_id) SELECT 1, random()"},
		{"the key in front", "sqlite", "INSERT INTO t (a) SELECT 1", "INSERT INTO t (kf_id, a) SELECT %1, 1"},
		{"a key in a subquery", "sqlite", "INSERT INTO t (a) SELECT 1 WHERE EXISTS (SELECT 1)", "INSERT INTO t (a, kf_id) SELECT 1 WHERE EXISTS (SELECT 1, %1)"},
	} {
		t.Run(c.name+" "+c.dialect, func(t *testing.T) {
			in, err := checker.Read(c.dialect, c.in)
			if err != nil {
				t.Fatal(err)
			}
			out, err := checker.Read(c.dialect, strings.NewReplacer("%1", "'01900000-0000-7000-8000-000000000001'", "%2", "'01900000-0000-7000-8000-000000000002'").Replace(c.out))
			if err != nil {
				t.Fatal(err)
			}
			f, err := tree.Compare(in, out, tree.Rule{Column: "kf_id", Literal: true})
			if right := err == nil && len(f.Queries) == 0; right != (c.name == "") {
				t.Errorf("Compare(%q, %q) = %v, with %d queries", c.in, c.out, err, len(f.Queries))
			}
		})
	}
}
