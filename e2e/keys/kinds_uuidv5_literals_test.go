package keys_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestUUIDv5Literals: however the values are written in the text, and whatever backslashes and
// quotes mean in the session, the key of a stored row is the one that its stored values make.
// The session takes texts as UTF-8, as drivers say.
func TestUUIDv5Literals(t *testing.T) {
	t.Parallel()
	texts := []string{
		"'a'", "'it''s'", `'a\b'`, `'a\\b'`, `'a\'`, `'\x41'`, `'a\nb'`, "'é'", "'日'", "N'a'", "n'é'", "'a' 'b'", "'a'\n'b'", "X'41'", "0x41", "b'1'", `"a"`, "E'a\\nb'", `E'\u00e9'`, `E'\x41'`, `U&'\0061'`, "$$a$$", "$x$é$x$",
		"_utf8mb4'é'", "_latin1'é'", "_binary'a'", "'a' COLLATE utf8mb4_bin", "CAST('a' AS CHAR)", "'a'::text", "'a'::varchar(1)", "('a')", "(('é'))", "LOWER('A')", "DATE '2026-01-01'", "TRUE", "7", "''", "'a '", "'a\t'",
		"'Ａ'", "'ß'", "'a\u0301'", "DEFAULT", "NULL",
	}
	integers := []string{
		"7", "-7", "- 7", "--7", "+7", "+ 7", "007", "7.0", "7e0", "0x1F", "0X1f", "0b11", "0o17", "1_000", "'7'", "'07'", "' 7'", "'7x'", `"7"`, "(7)", "((-7))", "-(7)", "7::int", "CAST(7 AS SIGNED)", "CAST(7 AS int)", "TRUE", "7 + 0", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "NULL", "DEFAULT", "'9223372036854775808'", "''",
	}
	settings := map[string][]string{
		"mariadb":  {"", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "SET sql_mode = 'ANSI_QUOTES'", "SET sql_mode = ''"},
		"postgres": {"", "SET standard_conforming_strings = off"},
		"sqlite":   {""},
	}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault, harness.PgxSimple, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		text := "VARCHAR(20) DEFAULT 'd'"
		if s.Server == harness.MariaDB {
			text = "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'd'"
		}
		harness.Exec(t, s.Raw, "CREATE TABLE events (id CHAR(36), sender "+text+", no BIGINT DEFAULT 5)")
		stored, refused := 0, 0
		for _, setting := range settings[s.Dialect.Name] {
			db, _ := s.Open(t, madeFrom("events", sender, policy.ScopeColumn{Column: "no"}))
			db.SetMaxOpenConns(1)
			if setting != "" {
				harness.Exec(t, db, setting)
			}
			try := func(query string, args ...any) {
				t.Helper()
				_, err := db.Exec(s.Placeholders(query), args...)
				if err != nil {
					refused++
				}
				rows := harness.KeysOf(t, s.Raw, t.Context(), "SELECT CONCAT(id, ' ', no, ' ', sender) FROM events")
				for _, row := range rows {
					var id, no string
					rest := row
					id, rest = rest[:36], rest[37:]
					no, rest, _ = strings.Cut(rest, " ")
					stored++
					if want := keyOf("ti", rest, no); id != want || err != nil {
						t.Errorf("%s: %q %q stores %q, error %v, want the key %s", setting, query, args, row, err, want)
					}
				}
				harness.Exec(t, s.Raw, "DELETE FROM events")
			}
			for _, value := range texts {
				try("INSERT INTO events (sender, no) VALUES (" + value + ", 7)")
			}
			for _, value := range integers {
				try("INSERT INTO events (no, sender) VALUES (" + value + ", 'a')")
			}
			for _, value := range []string{"é", "日", "a\\b", "ä"} {
				try("INSERT INTO events (sender, no) VALUES (?, ?)", value, 7)
				try("INSERT INTO events (sender, no) VALUES (?, 7)", value)
				try("INSERT INTO events (sender, no) VALUES ('"+value+"', ?)", 7)
			}
			db.Close()
		}
		if stored < 10 || refused < 10 {
			t.Errorf("%d rows are stored and %d refused: the test tries too few", stored, refused)
		}
		t.Logf("%d stored, %d refused", stored, refused)
	})
}
