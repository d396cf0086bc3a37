package trial

import "testing"

func TestTemporaries(t *testing.T) {
	for query, want := range map[string]int{
		"CREATE TEMP TABLE a (b INT); INSERT INTO a VALUES (1); INSERT INTO c VALUES (2)":            1,
		"create temporary table if not exists `a` (b int); replace into a values (1)":                1,
		"INSERT INTO a VALUES (1); CREATE TEMPORARY TABLE a (b INT)":                                 0,
		"CREATE TABLE a (b INT); INSERT INTO a VALUES (1)":                                           0,
		"CREATE TEMP TABLE a (b INT); INSERT INTO a VALUES (1); INSERT OR IGNORE INTO a VALUES (2);": 2,
	} {
		if got := temporaries(query); got != want {
			t.Errorf("temporaries(%q) = %d, want %d", query, got, want)
		}
	}
}
