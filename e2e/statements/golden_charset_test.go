package statements_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// clientCharsets are character sets of a client, each with a name in it that ends in a
// backslash, and one that ends in a backtick; empty if it has none.
var clientCharsets = []struct{ name, slash, tick string }{
	{"gbk", "\x81\\", "\x81`"},
	{"big5", "\xa4\\", "\xa4`"},
	{"sjis", "\x83\\", "\x83`"},
	{"cp932", "\x83\\", "\x83`"},
	{name: "gb2312"}, {name: "euckr"}, {name: "ujis"}, {name: "eucjpms"}, {name: "tis620"},
	{name: "latin1"}, {name: "cp1251"}, {name: "ascii"}, {name: "binary"}, {name: "utf8mb3"}, {name: "utf8mb4"},
}

// TestClientCharset compares what is stored of texts in which a backslash or a backtick may
// be half of a character, with and without keyfill.
func TestClientCharset(t *testing.T) {
	t.Parallel()
	for _, charset := range clientCharsets {
		e := harness.MySQLDefault
		e.Name += "-" + charset.name
		e.Params = "charset=" + charset.name
		t.Run(charset.name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			names := []string{"a", "`a`"}
			columns := "id VARCHAR(36), a VARBINARY(200), b VARBINARY(200)"
			for i, name := range []string{charset.slash, charset.tick} {
				if name == "" {
					continue
				}
				columns += ", `" + name + "` VARBINARY(200)"
				names = append(names, "`"+name+"`")
				if i == 0 {
					names = append(names, name)
				}
			}
			harness.Exec(t, s.Raw, "CREATE TABLE orders ("+columns+")")
			cfg := harness.FillID("orders", policy.Table{})
			cfg.Dialect = s.Dialect.Name
			db, _ := s.Open(t, cfg)
			r := rand.New(rand.NewPCG(35, 1))
			texts := []string{
				"INSERT INTO orders (a, b) VALUES ('\xbf\\', 77), (', NULL, 1) -- ', 2)",
				"INSERT INTO orders (a, id, b) VALUES ('\xbf\\', NULL, 77), (', NULL, 1) -- ', NULL, 2)",
				"INSERT INTO orders (a, b) VALUES ('中\\', 77)",
				"INSERT INTO orders (a, b) VALUES ('中\\'', 77)",
			}
			for range 300 {
				texts = append(texts, charsetText(r, names))
			}
			ran := 0
			for _, text := range texts {
				_, plain := s.Raw.Exec(text)
				want := takeRows(t, s)
				_, err := db.Exec(text)
				got := takeRows(t, s)
				switch {
				case plain != nil && (err == nil || len(got) > 0):
					t.Errorf("%q: stored %v; the engine alone says %v", text, got, plain)
				case plain != nil:
				case err != nil:
					t.Errorf("%q: %v; the engine alone stores %v", text, err, want)
				default:
					ran++
					if what := filledLike(got, want); what != "" {
						t.Errorf("%q: %s: stored %v, want %v", text, what, got, want)
					}
				}
			}
			if ran < 50 {
				t.Errorf("%d texts were filled: too few to say anything", ran)
			}
		})
	}
}

// TestClientCharsetUnasked: where the policy says sql_mode, the session is not asked, and
// its character set is taken for utf8mb4: a backslash that is half of a character hides the
// end of its string. The row is not stored.
//
//deviation:settings | If the policy says `sql_mode:`, keyfill does not ask for character sets in which a backslash or a backtick may be half of a character. An INSERT with such a character is refused, passed unseen, or read otherwise than the server does. | MySQL, MariaDB | `charset=gbk`, also big5, cp932, gb18030 and sjis | no `sql_mode:` in the policy, or `charset=utf8mb4`
func TestClientCharsetUnasked(t *testing.T) {
	t.Parallel()
	e := harness.MySQLDefault
	e.Params = "charset=gbk"
	s := e.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE orders (id VARCHAR(36), a VARBINARY(200), b VARBINARY(200))")
	cfg := harness.FillID("orders", policy.Table{})
	cfg.Dialect, cfg.SQLMode = s.Dialect.Name, "default"
	db, _ := s.Open(t, cfg)
	const text = "INSERT INTO orders (a, b) VALUES ('\x81\\', 77)"
	harness.Exec(t, s.Raw, text)
	if _, err := db.Exec(text); err == nil {
		t.Error("it was filled")
	}
	if rows := takeRows(t, s); len(rows) != 1 {
		t.Errorf("%d rows, want that of the driver alone", len(rows))
	}
}

// charsetText makes an INSERT of strings with bytes over 0x7F before others.
func charsetText(r *rand.Rand, names []string) string {
	pieces := []string{"\xbf", "\x81", "\xa1", "\xd5", "\xfd", "\\", "\\", "`", "''", "'", "\\'", "0", "x", ", ", "), (", "中", "é", `"`}
	value := func() string {
		var b strings.Builder
		b.WriteByte('\'')
		for range r.IntN(5) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		b.WriteByte('\'')
		return b.String()
	}
	var b strings.Builder
	b.WriteString("INSERT INTO orders (" + names[r.IntN(len(names))] + ", ")
	listed := r.IntN(2) == 0
	if listed {
		b.WriteString("id, ")
	}
	b.WriteString("b) VALUES ")
	for i := range 1 + r.IntN(2) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(" + value() + ", ")
		if listed {
			b.WriteString("NULL, ")
		}
		b.WriteString(value() + ")")
	}
	if r.IntN(3) == 0 {
		b.WriteString(" -- ')")
	}
	return b.String()
}

// TestCharsetWithinText: where a text leaves the session's character set, what follows is not
// read in that one.
func TestCharsetWithinText(t *testing.T) {
	t.Parallel()
	e := harness.MySQLDefault
	e.Params = "charset=gbk&multiStatements=true"
	s := e.Scratch(t)
	harness.CreateIDs(t, s, "t")
	harness.Exec(t, s.Raw, "ALTER TABLE t ADD v VARBINARY(200)")
	db, _ := s.Open(t, harness.SequenceID("t"))
	_, err := db.Exec("SET NAMES utf8mb4; INSERT INTO t (v, id, a) VALUES ('\xbf\\', NULL, 77), (', NULL, 1) -- ', NULL, 2)")
	harness.RefusedFor(t, "a text that sets its character set", err, rewrite.ErrSeveral)
	if got := harness.RowsOf(t, s.Raw, "SELECT v FROM t"); len(got) > 0 {
		t.Errorf("stored is %q", got)
	}
	harness.Exec(t, db, "SET NAMES utf8mb4; INSERT INTO t (v, a) VALUES ('x', 1)")
}
