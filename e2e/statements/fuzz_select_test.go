package statements_test

import (
	"fmt"
	"strings"
)

// An INSERT … SELECT into a typed table takes values of any type from the facts, in a
// query of any shape. The rows that it stores, and every value in them, are plain's.

// selected are the items of a select list, with their arguments.
type selected struct {
	items []string
	args  []any
}

// text returns the list; with names each item has the name e1, e2, …
func (l *selected) text(names bool) string {
	if !names {
		return strings.Join(l.items, ", ")
	}
	var each []string
	for i, item := range l.items {
		each = append(each, fmt.Sprintf("%s AS e%d", item, i+1))
	}
	return strings.Join(each, ", ")
}

// names returns e1, e2, … as columns of a relation.
func (l *selected) names(relation string) string {
	var each []string
	for i := range l.items {
		each = append(each, fmt.Sprintf("%s.e%d", relation, i+1))
	}
	return strings.Join(each, ", ")
}

// insertTyped sends an INSERT of a query's rows into a typed table.
func (r *storedRun) insertTyped() {
	w := r.twin
	tables := w.typed()
	f := &storedInsert{table: tables[r.pick(len(tables))].name, rows: -1}
	head, tail := "INSERT INTO", ""
	if r.pick(4) == 0 {
		head, tail = r.conflict(f)
	}
	base := r.tag + 1
	r.tag += 10
	shape := r.pick(12)
	if f.conflict {
		shape %= 3 // their order says which of two rows wins
	}
	grouped := shape == 3 || shape == 4
	columns := []string{"tag", "u"}
	l := &selected{items: []string{fmt.Sprintf("%d + s.x", base), r.one("NULL", "s.x", "s.x % 2")}}
	switch {
	case grouped:
		l.items = []string{fmt.Sprintf("%d + COALESCE(s.g, 5)", base), "MAX(s.x)"}
	case shape == 5 || shape == 6:
		l.items = []string{fmt.Sprintf("%d + COALESCE(s.g, 5)", base), "NULL"}
	case shape == 11:
		l.items = []string{fmt.Sprint(base), "NULL"}
	}
	if w.IsPostgres() && shape >= 5 && shape <= 9 && l.items[1] == "NULL" {
		l.items[1] = "CAST(NULL AS INT)" // NULL alone is text there
	}
	own := w.typedColumns()
	at := r.pick(len(own))
	for range 1 + r.pick(3) {
		c := own[at%len(own)]
		columns = append(columns, c.name)
		switch {
		case grouped:
			l.items = append(l.items, r.total(c))
		case shape == 11:
			l.items = append(l.items, r.literal(l, c))
		default:
			l.items = append(l.items, r.item(l, c))
		}
		at += 1 + r.pick(5) // less than the columns: none comes twice
	}
	text, args := r.shaped(l, shape, f)
	s := &storedStatement{
		text: fmt.Sprintf("%s %s (%s) %s%s%s", head, f.table, strings.Join(columns, ", "), text, tail, r.returns(f)), args: args, insert: f,
	}
	if with, rest, ok := strings.Cut(s.text, " WITH f AS "); ok && !(w.Server != nil && !w.IsPostgres()) && r.pick(2) == 0 {
		// The definition before INSERT.
		definition, query, _ := strings.Cut(rest, " /**/ ")
		s.text = "WITH f AS " + definition + " " + with + " " + query
	}
	s.text = w.Placeholders(s.text)
	s.way = r.one2(byExec, byPrepared, byQuery, byExec, byPreparedTwice)
	r.avoidHang(s)
	r.send(s)
}

// item returns an expression over s, a row of the facts, for a column.
func (r *storedRun) item(l *selected, c typedColumn) string {
	own := r.twin.typedColumns()
	other := "s." + r.sameKind(c.kind)
	if r.twin.IsPostgres() && c.kind > aText && r.pick(8) > 0 {
		other = "s." + c.name // most of these types are not assigned to one another
		own = []typedColumn{c}
	}
	switch r.pick(10) {
	case 0, 1, 2:
		return "s." + c.name
	case 3:
		return r.literal(l, c)
	case 4:
		return "s." + own[r.pick(len(own))].name
	case 5:
		return other
	}
	return r.expression(c.kind, "s."+c.name, other)
}

// sameKind returns the name of a column of a kind.
func (r *storedRun) sameKind(kind valueKind) string {
	var of []string
	for _, c := range r.twin.typedColumns() {
		if c.kind == kind {
			of = append(of, c.name)
		}
	}
	return r.one(of...)
}

// literal returns a value without a row, or a placeholder for one.
func (r *storedRun) literal(l *selected, c typedColumn) string {
	value := c.values[r.pick(4)]
	switch r.pick(6) {
	case 0, 1:
		return value
	case 2:
		return "NULL"
	case 3:
		l.args = append(l.args, r.argument(value))
		return "?"
	case 4:
		return r.one("1.50", "'7'", "1", "-1", "'2020-02-03'", "'é'")
	}
	if r.twin.Dialect.Name == "mariadb" {
		return r.one("0x41", "b'01000001'", "x'c3a9'", "1/3", "TRUE", "_latin1'\xe9'", "'x\xe9y'")
	}
	return r.one("1 + 1", "1.0 / 3", "'a' || 'b'")
}

// argument returns a literal as an argument.
func (r *storedRun) argument(literal string) any {
	if text, ok := strings.CutPrefix(literal, "'"); ok {
		return strings.TrimSuffix(text, "'")
	}
	return r.pick(100)
}

// expression returns an expression of a column and another one of its kind.
func (r *storedRun) expression(kind valueKind, one, other string) string {
	engine := r.twin.Dialect.Name
	var of []string
	switch kind {
	case aNumber:
		of = []string{"? / 3", "? / !", "? + !", "-?", "ABS(?)", "ROUND(?)", "? * 2", "COALESCE(?, 0)", "CASE WHEN s.x > 1 THEN ? ELSE 1.5 END",
			"CAST(? AS DECIMAL(20,10)) / 3", "NULLIF(?, !)", "(SELECT MAX(x) FROM src) / 3.0"}
		switch engine {
		case "mariadb":
			of = append(of, "? DIV 2", "IF(s.x > 1, 1.5, ?)", "GREATEST(?, !)", "ROUND(?, 2)", "SQRT(?)", "? % !", "CAST(? AS DOUBLE) / 3")
		case "postgres":
			of = append(of, "?::float8 / 3", "?::numeric / 3", "GREATEST(?, !)")
		default:
			of = append(of, "? * 1.0 / !", "CAST(? AS TEXT)")
		}
	case aText:
		of = []string{"UPPER(?)", "COALESCE(?, !)", "COALESCE(?, 'none')", "SUBSTR(?, 1, 2)", "LENGTH(?)", "CASE WHEN s.x > 1 THEN ? ELSE 'less' END", "TRIM(?)"}
		if engine == "mariadb" {
			of = append(of, "CONCAT(?, !)", "CONCAT(?, 'é')", "HEX(?)", "? + 0", "CONVERT(? USING latin1)", "LPAD(?, 5, 'é')", "CAST(? AS BINARY)")
		} else {
			of = append(of, "? || !", "? || 'é'")
		}
	case aTime:
		of = []string{"COALESCE(?, !)", "CASE WHEN s.x > 1 THEN ? END", "NULLIF(?, !)"}
		switch engine {
		case "mariadb":
			of = append(of, "? + INTERVAL 1 DAY", "? + 0", "DATE(?)", "UNIX_TIMESTAMP(?)", "CAST(? AS DATETIME)", "CONCAT(?)", "TIMEDIFF(?, ?)")
		case "postgres":
			of = append(of, "? + interval '1 hour'", "? - interval '1 hour'", "?::text::interval")
		default:
			of = append(of, "date(?)", "julianday(?)")
		}
	default:
		of = []string{"COALESCE(?, !)", "CASE WHEN s.x > 1 THEN ? END", "CASE WHEN s.x > 1 THEN ? ELSE ? END", "COALESCE(?, ?)"}
		switch engine {
		case "mariadb":
			of = append(of, "? + 0", "CONCAT(?)", "HEX(?)", "IF(s.x > 1, ?, !)", "JSON_EXTRACT(s.js, '$.k')")
		case "sqlite":
			of = append(of, "hex(?)", "? || ''")
		}
	}
	return strings.NewReplacer("?", one, "!", other).Replace(r.one(of...))
}

// total returns an expression over the rows of a group.
func (r *storedRun) total(c typedColumn) string {
	engine := r.twin.Dialect.Name
	if c.kind != aNumber {
		of := []string{"MAX(?)", "MIN(?)", "MAX(?)"}
		switch engine {
		case "postgres":
			arrays := []string{"(ARRAY_AGG(? ORDER BY s.x))[1]", "(ARRAY_AGG(? ORDER BY s.x DESC))[1]"}
			if of = append(of, arrays...); c.kind == another && r.pick(4) > 0 {
				of = arrays // few of these types have a MAX
			}
		case "mariadb":
			of = append(of, "GROUP_CONCAT(? ORDER BY s.x)", "SUM(?)", "COALESCE(MAX(?), MIN(?))")
		default:
			of = append(of, "COUNT(?)", "SUM(?)")
		}
		return strings.ReplaceAll(r.one(of...), "?", "s."+c.name)
	}
	of := []string{"SUM(?)", "AVG(?)", "MAX(?)", "MIN(?)", "COUNT(?)", "COUNT(DISTINCT ?)", "SUM(?) / SUM(!)", "SUM(?) / COUNT(*)", "AVG(? / 3)", "MAX(?) - MIN(!)"}
	if engine == "mariadb" {
		of = append(of, "STDDEV(?)", "BIT_OR(?)")
	}
	return strings.NewReplacer("?", "s."+c.name, "!", "s."+r.sameKind(aNumber)).Replace(r.one(of...))
}

// shaped returns a query of a shape with a select list, and its arguments.
func (r *storedRun) shaped(l *selected, shape int, f *storedInsert) (text string, args []any) {
	from := r.one("facts", "facts", "facts", "seen")
	list := l.text(false)
	plain := fmt.Sprintf("SELECT %s FROM %s s", list, from)
	where := func() string {
		if r.pick(2) == 0 {
			args = append(args, r.pick(5))
			return " WHERE s.x <> ?"
		}
		return r.one(" WHERE s.g = 1", " WHERE s.x > 0", " WHERE s.g IS NULL", " WHERE EXISTS (SELECT 1 FROM src q WHERE q.x = s.x)", " WHERE s.x > 900")
	}
	sometimes := func(clause func() string) string {
		if r.pick(2) == 0 {
			return ""
		}
		return clause()
	}
	ordered := func() string {
		return " ORDER BY " + r.one("s.x", "s.x DESC") + r.one("", " LIMIT 2", " LIMIT 3", " LIMIT 1 OFFSET 1")
	}
	args = append(args, l.args...)
	switch shape {
	case 0:
		if !f.conflict {
			return plain, args
		}
		return plain + where() + ordered(), args
	case 1:
		text = plain + where()
		if f.conflict || r.pick(2) == 0 {
			text += ordered()
		}
		return text, args
	case 2:
		text = fmt.Sprintf("SELECT %s FROM %s s %s", list, from,
			r.one("JOIN src q ON q.x = s.g", "JOIN src q ON q.x = s.x", "LEFT JOIN src q ON q.x = s.g AND q.z > 1", ", src q WHERE q.x = s.g"))
		if !f.conflict && !strings.Contains(text, ", src q") {
			return text, args
		}
		if !strings.Contains(text, ", src q") {
			text += " WHERE s.x >= 0"
		}
		return text + ordered(), args
	case 3:
		return plain + " GROUP BY s.g" + r.one("", " HAVING COUNT(*) > 1"), args
	case 4:
		return plain + sometimes(where) + " GROUP BY s.g ORDER BY s.g" + r.one("", " LIMIT 1", " LIMIT 2"), args
	case 5:
		f.merged = true
		return strings.Replace(plain, "SELECT", "SELECT DISTINCT", 1) + sometimes(where), args
	case 6:
		f.merged = true
		return plain + " UNION " + plain + " WHERE s.x < 2", append(args, l.args...)
	case 7:
		f.merged = true
		return plain + " WHERE s.x < 2 UNION ALL " + plain + " WHERE s.x > 1" + r.one("", " AND s.x < 3"), append(args, l.args...)
	case 8:
		inner := strings.Replace(plain, list, l.text(true), 1)
		return fmt.Sprintf("SELECT %s FROM (%s) f", l.names("f"), inner+sometimes(ordered)), args
	case 9:
		inner := strings.Replace(plain, list, l.text(true), 1)
		return fmt.Sprintf("WITH f AS (%s) /**/ SELECT %s FROM f", inner+sometimes(where), r.one(l.names("f"), "*")), args
	case 10:
		return plain + ordered(), args
	}
	dual := ""
	if r.twin.Dialect.Name == "mariadb" {
		dual = " FROM DUAL"
	}
	at := r.pick(8)
	return fmt.Sprintf("SELECT %s%s WHERE NOT EXISTS (SELECT 1 FROM facts s WHERE s.x = %d)", list, dual, at), args
}

// write inserts rows into the facts, outside of keyfill and of the program's transaction:
// on a server through another connection. Where one of the two sides would wait for the
// program's locks, neither has the rows.
func (r *storedRun) write() {
	if r.written >= 3 {
		return
	}
	from := r.pick(4)
	text := "INSERT INTO facts SELECT x + %d, g"
	for _, c := range r.twin.typedColumns() {
		text += ", " + c.name
	}
	text = fmt.Sprintf(text+" FROM facts WHERE x = %d", 100*(r.written+1), from)
	r.written++
	if r.twin.Server == nil {
		r.both(text)
		return
	}
	if !r.twin.IsPostgres() {
		text = "SET STATEMENT innodb_lock_wait_timeout = 0, lock_wait_timeout = 0 FOR " + text
	}
	r.texts = append(r.texts, "by another connection: "+text)
	var errs [2]error
	for i, keeper := range r.twin.keepers {
		if _, errs[i] = keeper.ExecContext(r.ctx, "BEGIN; "+text); errs[i] != nil {
			r.texts[len(r.texts)-1] += fmt.Sprintf(": %s: %v", r.sides()[i].name, errs[i])
		}
	}
	end := "COMMIT"
	if errs[0] != nil || errs[1] != nil {
		end = "ROLLBACK"
	}
	for i, keeper := range r.twin.keepers {
		if _, err := keeper.ExecContext(r.ctx, end); err != nil {
			r.finding("%s: %s: %v", r.sides()[i].name, end, err)
		}
	}
	r.twin.outcomes["written between "+end]++
}
