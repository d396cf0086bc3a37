package fuzz

import (
	"strconv"
	"strings"
)

// Dialect is an engine that texts are made for.
type Dialect uint8

// The dialects.
const (
	PostgreSQL Dialect = iota
	SQLite
)

// String returns the name in package dialect.
func (d Dialect) String() string { return [...]string{"postgres", "sqlite"}[d] }

// maxDepth bounds how deep expressions and queries are nested, since the engines' parsers,
// which are in C, recurse and could exhaust the stack.
const maxDepth = 5

// writer writes one text.
type writer struct {
	chooser
	strings.Builder
	d      Dialect
	depth  int
	style  int // the style of the placeholders, such as ? or $1
	params int
}

// Text returns the text that the bytes choose.
func Text(d Dialect, choices []byte) string {
	w := &writer{chooser: chooser{bytes: choices}, d: d}
	w.style = w.pick(4)
	w.statement()
	for w.rarely(6) && w.Len() < 1000 {
		w.put(";")
		w.statement()
	}
	if w.rarely(5) {
		w.put(";")
	}
	if w.rarely(4) {
		return w.damaged()
	}
	return w.String()
}

// put writes tokens, with white space or a comment between them.
func (w *writer) put(tokens ...string) {
	for _, t := range tokens {
		switch w.pick(12) {
		case 7:
			w.WriteString("\n\t")
		case 8:
			w.WriteString("/* it's a ? ( $1 */")
		case 9:
			w.WriteString("-- a ' comment )\n")
		case 10:
			w.WriteString("/**/ ")
		default:
			w.WriteByte(' ')
		}
		if w.rarely(9) && !strings.ContainsAny(t, "'\"$") {
			t = strings.ToLower(t)
		}
		w.WriteString(t)
	}
}

// damaged returns the text with a mistake.
func (w *writer) damaged() string {
	text := w.String()
	at := (w.pick(256)<<8 | w.pick(256)) % (len(text) + 1)
	end := min(len(text), at+1+w.pick(6))
	switch w.pick(4) {
	case 0:
		return text[:at] + text[end:]
	case 1:
		return text[:end] + text[at:]
	case 2:
		return text[:at] + w.one("(", ")", ",", "'", "\"", ";", "*", ".", "::", "?", "$1", "VALUES", "--", "/*", "[", "]", "\\", "E'", "$$", " ", "INSERT INTO t (a) VALUES (1)") + text[at:]
	}
	return text[:at]
}

func (w *writer) statement() {
	if w.rarely(10) {
		w.put("EXPLAIN")
		if w.d == PostgreSQL {
			w.put(w.one("", "ANALYZE", "(ANALYZE, COSTS off)", "VERBOSE"))
		} else {
			w.put(w.one("", "QUERY PLAN"))
		}
	}
	switch w.pick(12) {
	case 10:
		w.query()
	case 11:
		w.put(w.one("SELECT 1", "BEGIN", "COMMIT", "DELETE FROM t", "UPDATE t SET a = 1", "CREATE TABLE x (a int)", "DROP TABLE x"))
	default:
		w.insert()
	}
}

func (w *writer) insert() {
	if w.rarely(8) {
		w.with(true)
	}
	switch {
	case w.d == SQLite && w.rarely(5):
		w.put(w.one("REPLACE", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL", "INSERT OR ABORT", "INSERT OR ROLLBACK"), "INTO")
	default:
		w.put("INSERT", "INTO")
	}
	w.put(w.table())
	if w.rarely(7) {
		w.put("AS", w.one("x", `"x y"`, "values_"))
	}
	columns := w.columns()
	if w.d == PostgreSQL && w.rarely(9) {
		w.put("OVERRIDING", w.one("SYSTEM", "USER"), "VALUE")
	}
	w.body(columns)
	if w.rarely(5) {
		w.conflict()
	}
	if w.rarely(5) {
		w.put("RETURNING", w.one("*", "a", "kf_id", "a AS kf_id", "a, b + 1, 'returning'"))
	}
}

func (w *writer) table() string {
	return w.one("t", "t1", "public.orders", `"T"`, `"a b"."c""d"`, "main.t", "größe", "_x$", "values_", `"values"`)
}

// columns writes a column list and returns how many columns there are; 0
// without a list.
func (w *writer) columns() int {
	if w.rarely(10) {
		return 0
	}
	n := 1 + w.pick(4)
	w.put("(")
	for i := range n {
		if i > 0 {
			w.put(",")
		}
		name := w.one("a", "b", "c", "d", `"select"`, `"a,b"`, "ö", "valuess", "kf_idd", "id")
		if w.rarely(14) {
			name = w.one("kf_id", "KF_ID", `"kf_id"`)
		}
		w.put(name)
		if w.d == PostgreSQL && w.rarely(20) {
			w.put(w.one("[1]", ".f", "[1:2].g"))
		}
	}
	w.put(")")
	return n
}

func (w *writer) body(columns int) {
	switch w.pick(12) {
	case 9:
		w.put("DEFAULT", "VALUES")
		return
	case 10:
		w.query()
		return
	case 11:
		w.put("(")
		w.query()
		w.put(")")
		return
	}
	w.put("VALUES")
	w.rows(max(columns, 1))
}

// rows writes VALUES rows.
func (w *writer) rows(width int) {
	rows := 1
	for w.rarely(3) && rows < 9 {
		rows++
	}
	for i := range rows {
		if i > 0 {
			w.put(",")
		}
		if w.rarely(25) {
			width = 1 + w.pick(4)
		}
		w.put("(")
		for k := range width {
			if k > 0 {
				w.put(",")
			}
			w.value()
		}
		w.put(")")
	}
}

func (w *writer) value() {
	if w.d == PostgreSQL && w.rarely(12) {
		w.put("DEFAULT")
		return
	}
	w.expression()
}

func (w *writer) conflict() {
	w.put("ON", "CONFLICT", w.one("", "(a)", "(a, b)", "(kf_id)"))
	if w.rarely(2) {
		w.put("DO", "NOTHING")
		return
	}
	w.put("DO", "UPDATE", "SET", w.one("a", "b", "kf_id"), "=")
	w.expression()
	if w.rarely(4) {
		w.put("WHERE")
		w.expression()
	}
}

// with writes a WITH clause; in PostgreSQL an INSERT may stand in it.
func (w *writer) with(recursive bool) {
	w.put("WITH")
	if recursive && w.rarely(4) {
		w.put("RECURSIVE")
	}
	for i := 0; i == 0 || w.rarely(4) && i < 3; i++ {
		if i > 0 {
			w.put(",")
		}
		w.put(w.one("c", "t", `"c d"`)+strconv.Itoa(i), "AS", "(")
		if w.d == PostgreSQL && w.depth < maxDepth && w.rarely(3) {
			w.depth++
			w.insert()
			w.depth--
		} else {
			w.query()
		}
		w.put(")")
	}
}
