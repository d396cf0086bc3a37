package statements_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// inexactItems are not exact, whatever the column.
var inexactItems = []string{"%s / 3", "%s * 2 / 7", "(%s + 1) / h.n", "AVG(%s)", "SUM(%s) / 7", "SUM(%s / 3)", "%s ^ 2", "IF(%s > 1, 1.5, 2)", "%s + 0x41", "LEAST(%s, '3')", "%s * '1.5'", "%s + 1e0", "STDDEV(%s)"}

// exactItems are arithmetic over a column, at %s.
var exactItems = []string{
	"%s + 1", "%s - 1.5", "-%s", "%s * 2", "%s * 1.19", "%s %% 3", "%s * h.n", "(%s + h.a) * 3 - h.n", "ROUND(%s, 1)", "TRUNCATE(%s, 2)", "FLOOR(%s)", "ABS(%s)",
	"MOD(%s, 7)", "`h`.`a` + %s", "%s DIV 3",
}

// exactTotals are sums over a column.
var exactTotals = []string{"SUM(%s)", "MAX(%s)", "MIN(%s * 2)", "SUM(%s * h.n)", "SUM(%s) + 1", "SUM(DISTINCT %s)", "ROUND(SUM(%s) * 1.19, 2)"}

// TestSelectExact: where MariaDB numbers rows in a temporary table, arithmetic without a
// division is filled if its columns are integers and decimals, which the engine says. Nothing
// that is stored differs from what plain stores, whatever the types.
func TestSelectExact(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		types := []string{"INT", "DECIMAL(30,12)", "DOUBLE", "VARCHAR(60)", "BLOB", "JSON"}
		harness.Must(t, s.Raw, `CREATE TABLE hits (a INT, n DECIMAL(12,4), big DECIMAL(40,10), u BIGINT UNSIGNED, f DOUBLE, fl FLOAT, f2 DOUBLE(10,3), s VARCHAR(20),
			c CHAR(9), d DATE, dt DATETIME(6), tm TIME(3), y YEAR, bits BIT(8), e ENUM('3', '1'), st SET('2', '4'), g INT)`,
			`INSERT INTO hits VALUES (1, 1.25, 12345678901234567890.0123456789, 7, 0.1, 0.1, 1.125, '1.5', '2', '2020-01-31', '2020-01-31 10:11:12.345678', '10:11:12.345', 2020, b'101', '3', '2', 1),
			(2, -3.3333, -0.0000000001, 9, -2.5, -2.5, 2.25, '7', '3', '2021-02-28', '1999-12-31 23:59:59.999999', '-01:00:00.5', 1999, b'11', '1', '2,4', 1),
			(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2), (3, 100, 3, 1, 33.3, 33.3, 3, '3', '4', '2000-01-01', '2000-01-01', '00:00', 2000, b'1', '3', '4', 2)`)
		cfg := &policy.Config{Tables: map[string]policy.Table{}}
		for i, typ := range types {
			harness.Must(t, s.Raw, fmt.Sprintf("CREATE TABLE t%d (id BIGINT PRIMARY KEY, v %s)", i, typ), fmt.Sprintf("CREATE TABLE p%d (id BIGINT AUTO_INCREMENT PRIMARY KEY, v %s)", i, typ))
			cfg.Tables[fmt.Sprintf("t%d", i)] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}
		}
		db, _ := s.Open(t, cfg)
		filled := 0
		inexact := false
		compare := func(i int, column, query string) {
			t.Helper()
			_, want := s.Raw.Exec(fmt.Sprintf("INSERT INTO p%d (v) %s", i, query))
			_, err := db.ExecContext(context.Background(), fmt.Sprintf("INSERT INTO t%d (v) %s", i, query))
			exact := slices.Contains([]string{"a", "n", "big", "u"}, column) && !inexact
			switch refused := errors.Is(err, rewrite.ErrSelectValues); {
			case refused && exact:
				t.Errorf("%s is refused: %v", query, err)
			case refused:
			case (want == nil) != (err == nil):
				t.Errorf("%s into %s: plain %v, filled %v", query, types[i], want, err)
			default:
				filled++
				rows := func(table string) []string {
					return harness.RowsOf(t, s.Raw, fmt.Sprintf("SELECT %s FROM %s%d ORDER BY 1", exactText("mariadb"), table, i))
				}
				if got, want := rows("t"), rows("p"); !slices.Equal(got, want) {
					t.Errorf("%s into %s: stored %q, want %q", query, types[i], got, want)
				}
			}
			harness.Must(t, s.Raw, fmt.Sprintf("DELETE FROM t%d", i), fmt.Sprintf("DELETE FROM p%d", i))
		}
		columns := []string{"a", "n", "big", "u", "f", "fl", "f2", "s", "c", "d", "dt", "tm", "y", "bits", "e", "st"}
		for i := range types {
			for at, column := range columns {
				item := exactItems[(i+at)%len(exactItems)]
				total := exactTotals[(i+at)%len(exactTotals)]
				for _, item := range []string{item, exactItems[(i*7+at*3+1)%len(exactItems)]} {
					text := fmt.Sprintf(item, "h."+column)
					compare(i, column, "SELECT "+text+" FROM hits h")
					compare(i, column, "SELECT "+text+" AS x FROM hits h JOIN hits o ON o.a = h.a WHERE h.g > 0 ORDER BY x LIMIT 3")
				}
				inexact = true
				compare(i, column, "SELECT "+fmt.Sprintf(inexactItems[(i*5+at)%len(inexactItems)], "h."+column)+" FROM hits h WHERE h.g > 0")
				inexact = false
				text := fmt.Sprintf(total, "h."+column)
				compare(i, column, "SELECT "+text+" FROM hits h GROUP BY h.g")
				compare(i, column, "SELECT "+text+" FROM hits h WHERE h.g = 1")
			}
		}
		if filled < 100 {
			t.Errorf("only %d INSERTs were filled", filled)
		}
	})
}
