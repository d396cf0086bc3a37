package dbconn

import "testing"

// TestWrite: arguments take the places of their placeholders, and nothing else changes.
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		query  string
		args   []any
		dollar bool
		want   string // empty for a statement that stays as it is
	}{
		{"SELECT $2, $1, $2", []any{int64(-7), `it's \ a`}, true, `SELECT E'it''s \\ a', '-7', E'it''s \\ a'`},
		{`SELECT MAX("a$1") FROM "t$2" WHERE x = '$1' AND y = $1`, []any{nil}, true, `SELECT MAX("a$1") FROM "t$2" WHERE x = '$1' AND y = NULL`},
		{`SELECT "a""$1", $1`, []any{"b"}, true, `SELECT "a""$1", E'b'`},
		{"SELECT $1, $3", []any{"a", "b"}, true, ""},
		{"SELECT $$a$$, $1", []any{"a"}, true, ""},
		{"SELECT $1", []any{"a\x00"}, true, ""},
		{"SELECT $1", []any{[]byte("a")}, true, ""},
		{"SELECT ?, ?", []any{int64(5), `a\'b`}, false, `SELECT 5, _utf8mb4 X'615c2762'`},
		{"SELECT ?", []any{"ß"}, false, ""}, // another text where the session's character set is latin1
		{"SELECT `a?` = ?", []any{"a"}, false, ""},
		{"SELECT 1", nil, false, ""},
	} {
		query, args := write(c.query, c.args, c.dollar)
		want, left := c.want, 0
		if want == "" {
			want, left = c.query, len(c.args)
		}
		if query != want || len(args) != left {
			t.Errorf("%s with %q:\n%s with %d arguments, want\n%s", c.query, c.args, query, len(args), want)
		}
	}
}
