package keys_test

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// decimal is a type of an application that gives its value as text.
type decimal string

func (d decimal) Value() (driver.Value, error) { return string(d), nil }

// explicitValues are keys as applications bring them, as arguments and as text.
var explicitValues = map[string]any{
	"integer": int64(7000), "int32": int32(7000), "unsigned": uint64(7000), "negative": -7000,
	"digits": "7000", "zeros": "007000", "spaces": "  7000 ", "lines": "\t7000\n", "plus": "+7000", "minus": "-7000",
	"hexadecimal": "0x2328", "exponent": "7e3", "fraction": "7000.6", "letters behind": " 7000abc", "separator": "7_000",
	"bytes": []byte("7000"), "bytes with spaces": []byte(" 7000 "), "float": 7000.6, "whole float": 7000.0, "bool": true,
	"time": time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), "json": json.Number("7000"), "json exponent": json.Number("7e3"),
	"decimal": decimal("7000"), "decimal fraction": decimal("7000.40"),
}

var explicitTexts = map[string]string{
	"number": "7000", "text": "'7000'", "text with spaces": "' 7000 '", "fraction": "7000.6", "exponent": "7e3", "brackets": "((7000))",
	"plus": "+7000", "hexadecimal": "0x2328", "hexadecimal text": "'0x2328'", "bits": "b'1101101011000'", "bytes": "x'1b58'",
	"sum": "6999 + 1", "cast": "CAST('7000' AS DECIMAL)", "true": "TRUE", "query": "(SELECT 7000)", "large": "9223372036854775807",
	"too large": "99999999999999999999",
}

// TestFollowReads: the next key follows the number that the engine has read in what
// an INSERT brought, and moves no further.
//
//deviation:brought-keys | If an INSERT brings its key as an expression that only the engine can compute, keyfill afterwards queries the greatest key in the column, on the same connection, on PostgreSQL after a savepoint. `SHOW WARNINGS`, `ROW_COUNT()` and `FOUND_ROWS()` then belong to that query. | all | `VALUES (6999 + 1)`, `' 7000'`, a float, `INSERT INTO t (id) SELECT …` | give it as an integer
func TestFollowReads(t *testing.T) {
	t.Parallel()
	lax := harness.MySQLDefault
	lax.Name, lax.Params = lax.Name+"-lax", strings.TrimPrefix(lax.Params+"&sql_mode=''", "&")
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, lax, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		stored, n := 0, 0
		try := func(t *testing.T, value string, args ...any) {
			n++
			table := fmt.Sprintf("t%d", n)
			column := "BIGINT NOT NULL"
			if s.Server == nil {
				column = "INTEGER"
			}
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id "+column+" PRIMARY KEY, a INT)")
			src := harness.Counted(func(s *policy.Source) { s.Block, s.FollowExplicit = 1, true })
			db, _ := s.Open(t, harness.FillID(table, policy.Table{InPlace: &src}))
			defer db.Close()
			harness.Exec(t, db, "INSERT INTO "+table+" (a) VALUES (1)")
			if _, err := db.Exec(s.Placeholders("INSERT INTO "+table+" (id, a) VALUES ("+value+", 2)"), args...); err != nil {
				return // what the engine does not read moves nothing, as TestFollowFailed shows
			}
			stored++
			got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+table+" WHERE a = 2")[0]
			if got >= 1<<63-2 {
				return // none follows it
			}
			harness.Exec(t, db, "INSERT INTO "+table+" (a) VALUES (3)")
			next := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+table+" WHERE a = 3")[0]
			if want := max(got, 1) + 1; next != want && (got != 1 || next != 3) {
				t.Errorf("the engine stored %d, and the next key is %d, want %d", got, next, want)
			}
		}
		for name, v := range explicitValues {
			t.Run(name, func(t *testing.T) { try(t, "?", v) })
		}
		for name, text := range explicitTexts {
			t.Run("text/"+name, func(t *testing.T) { try(t, text) })
		}
		if stored < 20 {
			t.Errorf("%d of %d were stored", stored, n)
		}
	})
}
