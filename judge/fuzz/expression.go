package fuzz

import "strconv"

// expression writes an expression.
func (w *writer) expression() {
	if w.depth >= maxDepth {
		w.put("1")
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	switch w.pick(20) {
	case 0, 1, 2:
		w.put(w.number())
	case 3, 4, 5:
		w.put(w.text())
	case 6, 7, 8, 9:
		w.placeholder()
	case 10:
		w.put(w.one("NULL", "TRUE", "a", "t.a", `"a""b"`, "CURRENT_TIMESTAMP", "excluded.a"))
	case 11:
		w.put("(")
		w.expression()
		w.put(")")
	case 12:
		w.expression()
		w.put(w.one("+", "-", "*", "/", "%", "||", "=", "<>", "<=", "AND", "OR", "IS NOT", "LIKE", "->", "->>", "<<"))
		w.expression()
	case 13:
		w.put(w.one("-", "+", "NOT", "~"))
		w.expression()
	case 14:
		w.call()
	case 15:
		w.put("CAST", "(")
		w.expression()
		w.put("AS", w.one("text", "int", "numeric(10, 2)", "varchar(3)", "uuid"), ")")
	case 16:
		w.put("CASE", "WHEN")
		w.expression()
		w.put("THEN")
		w.expression()
		w.put("ELSE")
		w.expression()
		w.put("END")
	case 17:
		w.put("(")
		w.query()
		w.put(")")
	case 18:
		w.expression()
		w.put("IN", "(")
		w.expression()
		w.put(",")
		w.expression()
		w.put(")")
	case 19:
		w.own()
	}
}

// own writes an expression that only one of the engines knows.
func (w *writer) own() {
	if w.d == SQLite {
		w.put(w.one("x'00ff'", "`a`", "[a b]", "iif(1, 2, 3)", "0x1F", "1_000", "a COLLATE nocase", "b ISNULL"))
		return
	}
	switch w.pick(4) {
	case 0:
		w.expression()
		w.put("::", w.one("text", "int[]", "numeric(10,2)", "pg_catalog.int4", `"char"`))
	case 1:
		w.put("ARRAY", "[")
		w.expression()
		w.put(",")
		w.expression()
		w.put("]")
	case 2:
		w.put("ROW", "(")
		w.expression()
		w.put(",")
		w.expression()
		w.put(")")
	case 3:
		w.put(w.one("a[1]", "(a).b", "interval '1 day'", "b @> c", "a ~ '^x'", "a ? 'k'", "a ?| b", "(a.b).*", "x'1F'", "$$a'b$$", "$q$ $$ ) $q$"))
	}
}

func (w *writer) call() {
	w.put(w.one("coalesce", "count", "lower", "max", "f", "pg_catalog.lower", `"F"`), "(")
	if w.rarely(6) {
		w.put("*")
	} else {
		w.expression()
		for w.rarely(3) {
			w.put(",")
			w.expression()
		}
	}
	w.put(")")
	if w.rarely(8) {
		w.put("FILTER", "(", "WHERE")
		w.expression()
		w.put(")")
	}
}

func (w *writer) number() string {
	return w.one("1", "0", "42", "1.5", ".5", "1.", "1e10", "1.5E-3", "00", "9223372036854775808")
}

func (w *writer) text() string {
	if w.d == PostgreSQL && w.rarely(3) {
		return w.one(`E'a\'b'`, `e'\\'`, `U&'d\0061t'`, `N'a'`, `B'01'`, `'a\'`, "'a'\n'b'", "E'a'\n'b\\''", `U&"d\0061t"`)
	}
	return w.one("'a'", "''", "'it''s'", "'a, b'", "'(?)'", "'-- x'", "'/*'", "'ä'", `'\'`, "'VALUES (1)'", "'$1'", "'00000000-0000-0000-0000-000000000000'")
}

// placeholder writes a placeholder in the style of the text, now and then in another style.
func (w *writer) placeholder() {
	w.params++
	style := w.style
	if w.rarely(30) {
		style = w.pick(4)
	}
	n := strconv.Itoa(w.params)
	if w.rarely(8) {
		n = w.one("1", "2", "7", "01")
	}
	if w.d == PostgreSQL {
		w.put("$" + n)
		return
	}
	w.put([...]string{"?", "?" + n, ":p" + n, "$" + n}[style])
}

// query writes a SELECT or VALUES.
func (w *writer) query() {
	if w.depth >= maxDepth {
		w.put("SELECT 1")
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	if w.rarely(8) {
		w.with(false)
	}
	if w.rarely(8) {
		w.put("VALUES")
		w.rows(1 + w.pick(2))
		return
	}
	w.put("SELECT", w.one("", "DISTINCT", "ALL"))
	w.expression()
	for w.rarely(3) {
		w.put(",")
		w.expression()
	}
	if w.rarely(2) {
		w.put("FROM", w.one("s", "t", "s AS x", "s, t", "s JOIN t ON s.a = t.a", "(SELECT 1) AS q"))
	}
	if w.rarely(4) {
		w.put("WHERE")
		w.expression()
	}
	if w.rarely(6) {
		w.put("UNION", w.one("", "ALL"), "SELECT")
		w.expression()
	}
	if w.rarely(6) {
		w.put("ORDER", "BY", w.one("1", "a", "a DESC"))
	}
	if w.rarely(6) {
		w.put("LIMIT")
		w.expression()
	}
}
