package statements_test

import (
	"fmt"
	"strings"
)

// storedInsert is what is known of an INSERT that was generated.
type storedInsert struct {
	table     string
	rows      int  // of VALUES; -1 for the rows of a query
	set       bool // a value may return several rows
	conflict  bool // it has an upsert clause, or leaves out or replaces rows
	rollsBack bool // an error ends the transaction
	replaces  bool // rows that are stored may go again
	updates   bool // it may update a row
	idiom     bool // with LAST_INSERT_ID(id) in the update part
	returning string
	several   bool // other statements are in the text
	explicit  bool // it brings keys of its own
	merged    bool // its query is a DISTINCT or a UNION
}

// The ways to send a statement.
const (
	byExec = iota
	byQuery
	byFirstRow // of Query, then Close
	byPrepared
	byPreparedTwice
	waysToSend
)

// storedStatement is one statement for both sides.
type storedStatement struct {
	text   string
	args   []any
	way    int
	insert *storedInsert // nil for others
}

// count counts the kinds of a statement.
func (s *storedStatement) count(kinds map[string]int) {
	f := s.insert
	if f == nil {
		word, _, _ := strings.Cut(s.text, " ")
		kinds["sent "+word]++
		return
	}
	for kind, is := range map[string]bool{
		"INSERT":                 true,
		"SELECT":                 f.rows < 0,
		"SELECT into " + f.table: f.rows < 0,
		"upsert":                 f.updates,
		"DO NOTHING":             f.conflict && !f.updates && !f.replaces && !f.rollsBack,
		"REPLACE":                f.replaces,
		"own keys":               f.explicit,
		"RETURNING":              f.returning != "",
		"prepared":               s.way >= byPrepared,
		"arguments":              len(s.args) > 0,
		"in one text":            f.several,
		"triggers":               f.table == "tr",
		"set":                    f.set,
	} {
		if is {
			kinds["INSERT "+kind]++
		}
	}
}

// insertValues sends an INSERT of some rows.
func (r *storedRun) insertValues() {
	f := &storedInsert{table: r.one("t", "t", "t", "tr", "j", "m", "v", "p", "counted")}
	s := r.values(f, 1+r.pick(3), true)
	s.way = r.pick(waysToSend)
	if f.returning == "" && (s.way == byQuery || s.way == byFirstRow) && r.twin.Driver == "mysql" && r.pick(4) > 0 {
		s.way = byExec
	}
	r.avoidHang(s)
	r.send(s)
}

// avoidHang changes how a statement is sent where the plain driver would wait for
// ever: go-sql-driver 1.10 does when a prepared INSERT … RETURNING fails on MariaDB
// 10.11 through Exec.
func (r *storedRun) avoidHang(s *storedStatement) {
	if r.twin.Driver == "mysql" && s.insert.returning != "" && s.way >= byPrepared {
		s.way = byQuery
	}
}

// values makes an INSERT of rows. Where arguments is not set, all values are
// literals.
func (r *storedRun) values(f *storedInsert, rows int, arguments bool) *storedStatement {
	b := r.twin.Builder()
	f.rows = rows
	binds := 0 // none, all, or some
	if arguments {
		binds = r.pick(3)
	}
	bind := func(literal string, v any) string {
		if binds == 0 || binds == 2 && r.pick(2) == 0 {
			return literal
		}
		return b.Bind(v)
	}
	head, tail := r.conflict(f)
	keyed := r.pick(6) == 0
	columns := "(u, a, b, tag)"
	if keyed {
		columns = "(id, u, a, b, tag)"
		if !r.ddl && f.table != "counted" && r.pick(3) == 0 {
			columns = ""
		}
	}
	fmt.Fprintf(b, "%s %s %s VALUES ", head, f.table, columns)
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		r.tag++
		b.WriteString("(")
		if keyed {
			b.WriteString(r.key(f, bind) + ", ")
		}
		if u := r.pick(6); u > 3 {
			b.WriteString(bind("NULL", nil))
		} else {
			b.WriteString(bind(fmt.Sprint(u), u))
		}
		fmt.Fprintf(b, ", %s, %s, %s)", r.value(f, bind), bind(r.literalText(r.tag), fmt.Sprintf("b%d", r.tag)),
			bind(fmt.Sprint(r.tag), r.tag))
	}
	b.WriteString(tail)
	b.WriteString(r.returns(f))
	return &storedStatement{text: b.String(), args: b.Args, insert: f}
}

// value returns a value for the column a.
func (r *storedRun) value(f *storedInsert, bind func(string, any) string) string {
	switch k := r.pick(12); {
	case k < 6:
		return bind(fmt.Sprint(k), k)
	case k == 6:
		return bind("NULL", nil)
	case k == 7 && r.twin.Server != nil:
		return "DEFAULT"
	case k == 8:
		return "abs(-2)"
	case k == 9:
		return "(SELECT max(x) FROM src)"
	case k == 10 && r.twin.IsPostgres() && f.rows == 1 && !f.several:
		f.set = true
		return r.one("generate_series(1, 2)", "unnest('{1,2}'::int[])", "(SELECT 1 WHERE false)")
	}
	return "1 + 1"
}

// key returns a value for the key: one that is none, or a key of the caller's,
// below all others.
func (r *storedRun) key(f *storedInsert, bind func(string, any) string) string {
	k := r.pick(4)
	switch {
	case k == 0 && f.replaces && r.twin.Driver == "mysql":
		return "DEFAULT" // REPLACE of a key beside one that the engine makes may fail on MariaDB
	case k == 0 && f.table != "v":
		f.explicit = true
		return bind(fmt.Sprint(r.tag), r.tag)
	case k == 1 && r.twin.Server != nil:
		return "DEFAULT"
	case r.twin.IsPostgres() && r.pick(3) == 0 && f.table != "v":
		f.explicit = true
		return r.one("NULLIF(1, 1)", "(SELECT NULL::int)", "CASE WHEN 1 = 2 THEN 3 END") // an error, as for the plain driver
	case r.twin.Dialect.Name == "mariadb" && f.table == "counted" && r.pick(2) == 0:
		f.explicit = true
		return r.one(append([]string{"0 + 0", "CAST('0' AS SIGNED)"}, keptNull...)...) // the engine numbers the row
	case r.twin.IsPostgres():
		return "DEFAULT" // the plain driver gets an error for NULL
	case f.table == "v" && r.twin.Server != nil:
		return "DEFAULT"
	case f.table == "v":
		f.explicit = true
		return bind(fmt.Sprintf("'k%d'", r.tag), fmt.Sprintf("k%d", r.tag))
	case k == 2 && r.twin.Server != nil:
		return bind("0", 0)
	}
	if r.twin.Server == nil && !f.replaces && r.pick(2) == 0 {
		f.explicit = true
		return r.one(keptNull...) // the engine numbers the row
	}
	return bind("NULL", nil)
}

// keptNull are keys that are NULL when the INSERT runs.
var keptNull = []string{"NULLIF('', '')", "(SELECT NULL)", "CAST(NULL AS INT)", "CASE WHEN 1 = 2 THEN 3 END"}

// conflict returns the beginning of the INSERT and the clause after its rows.
func (r *storedRun) conflict(f *storedInsert) (head, tail string) {
	head = "INSERT INTO"
	k := r.pick(12)
	if k < 6 {
		return head, ""
	}
	f.conflict = true
	if r.twin.Server != nil && !r.twin.IsPostgres() {
		switch k {
		case 6, 7:
			return "INSERT IGNORE INTO", ""
		case 8:
			f.replaces = true
			return "REPLACE INTO", ""
		}
		f.updates = true
		update := r.one("a = VALUES(a)", "id = id", "a = NULL, b = NULL",
			"id = LAST_INSERT_ID(id), a = 9", "u = u", "u = NULL, b = VALUES(b)")
		f.idiom = strings.HasPrefix(update, "id = LAST")
		return head, " ON DUPLICATE KEY UPDATE " + update
	}
	if r.twin.Server == nil && k == 6 {
		word := r.one("IGNORE", "REPLACE", "ABORT", "FAIL", "ROLLBACK")
		if word == "FAIL" && (f.table == "m" || f.table == "j") {
			word = "ABORT" // the rows before the one that fails are undone: docs/deviations.md
		}
		f.rollsBack = word == "ROLLBACK"
		f.replaces = word == "REPLACE"
		return "INSERT OR " + word + " INTO", ""
	}
	if r.twin.Server == nil && k == 7 {
		f.replaces = true
		return "REPLACE INTO", r.one("", " ON CONFLICT DO NOTHING")
	}
	if k < 10 {
		return head, r.one(" ON CONFLICT DO NOTHING", " ON CONFLICT (u) DO NOTHING")
	}
	f.updates = true
	return head, " ON CONFLICT (u) DO UPDATE SET " + r.one("a = excluded.a", "b = 'up', a = 8", "u = NULL")
}

// returns gives back the RETURNING clause.
func (r *storedRun) returns(f *storedInsert) string {
	if r.pick(3) > 0 || r.twin.Server != nil && !r.twin.IsPostgres() && f.updates {
		return ""
	}
	f.returning = r.one("id, u, a, b, tag", "tag", "tag, id")
	return " RETURNING " + f.returning
}

// insertSelect sends an INSERT whose rows a query gives.
func (r *storedRun) insertSelect() {
	f := &storedInsert{table: r.one("t", "t", "tr", "p", "j", "v"), rows: -1}
	head, tail := r.conflict(f)
	base := r.tag + 1
	r.tag += 10
	u := r.one("x", "x % 2", "NULL", "z")
	columns, key := "u, a, b, tag", ""
	if r.twin.Server == nil && f.table != "v" && r.pick(3) == 0 {
		f.explicit = true
		columns, key = "id, u, a, b, tag", r.one(keptNull...)+", "
	}
	var q strings.Builder
	fmt.Fprintf(&q, "SELECT %s%s, z, y, %d + x FROM src", key, u, base)
	if tail != "" {
		q.WriteString(" WHERE x >= 0") // SQLite reads ON as of a join
	}
	switch {
	case f.conflict:
		// Which of two rows wins is the engine's choice unless the query says so.
		q.WriteString(" ORDER BY " + r.one("y", "y DESC", "4 DESC") + r.one("", " LIMIT 2", " LIMIT 3"))
	case r.pick(4) == 0:
		q.Reset()
		fmt.Fprintf(&q, "SELECT %s1, 2, 'un', %d UNION ALL SELECT %[1]sx, z, y, %[3]d + x FROM src WHERE x > 1", key, base+5, base)
	case r.pick(2) == 0:
		q.WriteString(" ORDER BY " + r.one("y", "y DESC", "x DESC", "z, x") + r.one("", " LIMIT 2", " LIMIT 3"))
	}
	text := fmt.Sprintf("%s %s (%s) %s%s", head, f.table, columns, q.String(), tail)
	s := &storedStatement{text: text + r.returns(f), insert: f}
	s.way = r.one2(byExec, byPrepared, byQuery)
	r.avoidHang(s)
	r.send(s)
}

// one2 returns one of some numbers.
func (r *storedRun) one2(of ...int) int { return of[r.pick(len(of))] }
