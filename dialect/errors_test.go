package dialect_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
)

// TestErrorClass: the codes that decide something, by engine.
func TestErrorClass(t *testing.T) {
	mysql, mariadb, postgres := dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL()
	sqlite, sqlserver, oracle := dialect.SQLite(), dialect.SQLServer(), dialect.Oracle()
	for _, c := range []struct {
		d      *dialect.Dialect
		state  string
		number int
		text   string
		want   dialect.ErrorClass
	}{
		{mysql, "", 1213, "", dialect.ErrorTransaction},
		{mariadb, "", 1020, "", dialect.ErrorTransaction},
		{mysql, "", 9007, "", dialect.ErrorTransaction}, // of TiDB
		{mysql, "", 1205, "", dialect.ErrorLock},
		{mysql, "", 1062, "", dialect.ErrorDuplicate},
		{mysql, "", 1586, "", dialect.ErrorDuplicate},
		{mysql, "", 1146, "", dialect.ErrorNoObject},
		{mysql, "", 1142, "", dialect.ErrorNoRight},
		{mysql, "", 1290, "", dialect.ErrorReadOnly},
		{mysql, "", 1045, "", dialect.ErrorLogin},
		{mysql, "", 1049, "", dialect.ErrorNoDatabase},
		{mysql, "", 1040, "", dialect.ErrorPassing},
		{mysql, "", 1203, "", dialect.ErrorPassing},
		{mysql, "", 2013, "", dialect.ErrorPassing},
		{mysql, "", 4242, "", dialect.ErrorOther},

		{postgres, "40001", 0, "", dialect.ErrorTransaction},
		{postgres, "40P01", 0, "", dialect.ErrorTransaction},
		{postgres, "55P03", 0, "", dialect.ErrorLock},
		{postgres, "23505", 0, "", dialect.ErrorDuplicate},
		{postgres, "23502", 0, "", dialect.ErrorRefused},
		{postgres, "42P01", 0, "", dialect.ErrorNoObject},
		{postgres, "42501", 0, "", dialect.ErrorNoRight},
		{postgres, "25006", 0, "", dialect.ErrorReadOnly},
		{postgres, "28P01", 0, "", dialect.ErrorLogin},
		{postgres, "3D000", 0, "", dialect.ErrorNoDatabase},
		{postgres, "53300", 0, "", dialect.ErrorPassing},
		{postgres, "57P03", 0, "", dialect.ErrorPassing},
		{postgres, "08P01", 0, "", dialect.ErrorPassing},
		{postgres, "40003", 0, "", dialect.ErrorPassing},
		{postgres, "25P02", 0, "", dialect.ErrorOther}, // the transaction was aborted before

		{sqlite, "", 5, "", dialect.ErrorLock},
		{sqlite, "", 517, "", dialect.ErrorLock}, // SQLITE_BUSY_SNAPSHOT
		{sqlite, "", 2067, "", dialect.ErrorDuplicate},
		{sqlite, "", 1555, "", dialect.ErrorDuplicate},
		{sqlite, "", 19, "", dialect.ErrorDuplicate},
		{sqlite, "", 1299, "", dialect.ErrorRefused}, // NOT NULL
		{sqlite, "", 1032, "", dialect.ErrorReadOnly},
		{sqlite, "", 14, "", dialect.ErrorNoDatabase},
		{sqlite, "", 13, "", dialect.ErrorPassing},
		{sqlite, "", 1, "SQL logic error: no such table: t (1)", dialect.ErrorNoObject},
		{sqlite, "", 1, `SQL logic error: near "x": syntax error (1)`, dialect.ErrorOther},
		{sqlite, "", 19, "no such table: t", dialect.ErrorDuplicate}, // the code decides

		{sqlserver, "", 1205, "", dialect.ErrorTransaction},
		{sqlserver, "", 3960, "", dialect.ErrorTransaction},
		{sqlserver, "", 1222, "", dialect.ErrorLock},
		{sqlserver, "", 2627, "", dialect.ErrorDuplicate},
		{sqlserver, "", 2601, "", dialect.ErrorDuplicate},
		{sqlserver, "", 8115, "", dialect.ErrorRefused}, // with which rows that were not counted fail
		{sqlserver, "", 208, "", dialect.ErrorNoObject},
		{sqlserver, "", 229, "", dialect.ErrorNoRight},
		{sqlserver, "", 3906, "", dialect.ErrorReadOnly},
		{sqlserver, "", 18456, "", dialect.ErrorLogin},
		{sqlserver, "", 40613, "", dialect.ErrorPassing},

		{oracle, "", 60, "", dialect.ErrorTransaction},
		{oracle, "", 8177, "", dialect.ErrorTransaction},
		{oracle, "", 30006, "", dialect.ErrorLock},
		{oracle, "", 1, "", dialect.ErrorDuplicate},
		{oracle, "", 942, "", dialect.ErrorNoObject},
		{oracle, "", 1017, "", dialect.ErrorLogin},
		{oracle, "", 1033, "", dialect.ErrorPassing},
	} {
		if got := c.d.Errors.Class(c.state, c.number, c.text); got != c.want {
			t.Errorf("%s: %q %d %q: class %d, want %d", c.d.Name, c.state, c.number, c.text, got, c.want)
		}
		if final := c.want.Final(); final && c.want.Transient() {
			t.Errorf("%s: %q %d is final and passes", c.d.Name, c.state, c.number)
		}
	}
}

// TestErrorCodes: no code is in two classes, and texts are read on SQLite alone.
func TestErrorCodes(t *testing.T) {
	for _, d := range dialect.All() {
		numbers, states := map[int]bool{}, map[string]bool{}
		for _, c := range d.Errors.Codes {
			for _, n := range c.Numbers {
				if numbers[n] {
					t.Errorf("%s: %d is there twice", d.Name, n)
				}
				numbers[n] = true
			}
			for _, s := range c.States {
				if states[s] || len(s) != 2 && len(s) != 5 {
					t.Errorf("%s: %q is there twice, or is no SQLSTATE", d.Name, s)
				}
				states[s] = true
			}
			if len(c.Texts) > 0 && d.Errors.Generic == 0 {
				t.Errorf("%s: texts are read where codes tell", d.Name)
			}
		}
		if len(numbers)+len(states) == 0 {
			t.Errorf("%s: there are no codes", d.Name)
		}
	}
}
