package compile_test

import (
	"database/sql/driver"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// sessions is a lookup of orders, whose integer key wants the session.
func sessions(d *dialect.Dialect) plans.Lookup {
	t := &plans.Target{
		Table: "orders",
		Keys: []plans.Key{{
			Column:  d.Fold("id", false),
			Fill:    plans.FillMissing | plans.FillNull,
			Integer: true,
			Session: true,
		}},
	}
	return func(_, table string) *plans.Target {
		if table == d.Fold("orders", false) {
			return t
		}
		return nil
	}
}

func TestSessionInline(t *testing.T) {
	tests := []struct {
		name, query    string
		args           []driver.NamedValue
		plain, session string
	}{
		{
			name:    "no placeholders",
			query:   "INSERT INTO orders (a) VALUES (1), (2)",
			plain:   "INSERT INTO orders (a, `id`) VALUES (1, 1001), (2, 1002)",
			session: "INSERT INTO orders (a, `id`) VALUES (1, 1001), (2, IF(LAST_INSERT_ID(1001), 1002, 1002))",
		},
		{
			name:    "listed",
			query:   "INSERT INTO orders (id, a) VALUES (NULL, f()), (7, 'x'), (NULL /* n */, 2)",
			plain:   "INSERT INTO orders (id, a) VALUES (1001, f()), (7, 'x'), (1002 /* n */, 2)",
			session: "INSERT INTO orders (a, id) VALUES (f(), 1001), ('x', 7), ( /* n */2, IF(LAST_INSERT_ID(1001), 1002, 1002))",
		},
		{
			name:    "own key last",
			query:   "INSERT INTO orders (id, a) VALUES (NULL, 1), (7, 2)",
			plain:   "INSERT INTO orders (id, a) VALUES (1001, 1), (7, 2)",
			session: "INSERT INTO orders (a, id) VALUES (1, 1001), (2, IF(LAST_INSERT_ID(1001), 7, 7))",
		},
		{
			name:    "listed last",
			query:   "INSERT INTO orders (a, id) VALUES (LAST_INSERT_ID(), (NULL)), (2, -7)",
			plain:   "INSERT INTO orders (a, id) VALUES (LAST_INSERT_ID(), (1001)), (2, -7)",
			session: "INSERT INTO orders (a, id) VALUES (LAST_INSERT_ID(), (1001)), (2, IF(LAST_INSERT_ID(1001), -7, -7))",
		},
		{
			name:    "set",
			query:   "INSERT INTO orders SET id = NULL, a = 1",
			plain:   "INSERT INTO orders SET id = 1001, a = 1",
			session: "INSERT INTO orders SET a = 1, id = LAST_INSERT_ID(1001)",
		},
		{
			name:    "an expression beside",
			query:   "INSERT INTO orders (id, a) VALUES (NULL, 1), (f(), 2)",
			plain:   "INSERT INTO orders (id, a) VALUES (1001, 1), (f(), 2)",
			session: "INSERT INTO orders (id, a) VALUES (1001, 1), (f(), 2)",
		},
		{
			name:    "placeholders",
			query:   "INSERT INTO orders SET a = ?, b = 2",
			args:    []driver.NamedValue{{Ordinal: 1, Value: "x"}},
			plain:   "INSERT INTO orders SET a = ?, b = 2, `id` = 1001",
			session: "INSERT INTO orders SET a = ?, b = 2, `id` = LAST_INSERT_ID(1001)",
		},
		{
			name:    "not allowed",
			query:   "INSERT IGNORE INTO orders (a) VALUES (1)",
			plain:   "INSERT IGNORE INTO orders (a, `id`) VALUES (1, 1001)",
			session: "INSERT IGNORE INTO orders (a, `id`) VALUES (1, 1001)",
		},
	}
	for _, tt := range tests {
		for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()} {
			t.Run(tt.name+"/"+d.Name, func(t *testing.T) {
				p := compile.Query(d, sessions(d), tt.query)
				h, err := bind.FindHoles(p, tt.args)
				if err != nil {
					t.Fatal(err)
				}
				keys := testKeys(p, h)
				for _, session := range []bool{false, true} {
					want := tt.plain
					if session {
						want = tt.session
					}
					got, args := bind.Inline(p, tt.args, h, keys, session)
					if got != want || len(args) != len(tt.args) {
						t.Errorf("Inline(%q, %v) = %q with %d arguments, want %q with %d", tt.query, session, got, len(args), want, len(tt.args))
					}
					if got := bind.InlineAssumed(p, bind.AssumedHoles(p), keys, session); got != want {
						t.Errorf("InlineAssumed(%q, %v) = %q, want %q", tt.query, session, got, want)
					}
				}
			})
		}
	}
}

// The session's text takes the first key once more, and the last one; the argument of a key
// that is listed moves with it.
func TestSessionBind(t *testing.T) {
	for _, tt := range []struct {
		query, text string
		args, want  []driver.Value
	}{
		{
			query: "INSERT INTO orders (a) VALUES (?), (?)",
			text:  "INSERT INTO orders (a, `id`) VALUES (?, ?), (?, IF(LAST_INSERT_ID(?), ?, ?))",
			args:  []driver.Value{"x", "y"},
			want:  []driver.Value{"x", int64(1001), "y", int64(1001), int64(1002), int64(1002)},
		},
		{
			query: "INSERT INTO orders (id, a, b) VALUES (?, ?, ?)",
			text:  "INSERT INTO orders (a, b, id) VALUES (?, ?, LAST_INSERT_ID(?))",
			args:  []driver.Value{nil, "x", "y"},
			want:  []driver.Value{"x", "y", int64(1001)},
		},
		{
			query: "INSERT INTO orders (a, id, b) VALUES (?, ?, ?), (?, NULL, ?), (?, CAST(? AS SIGNED), ?)",
			text:  "INSERT INTO orders (a, b, id) VALUES (?, ?, ?), (?, ?, ?), (?, ?, CAST(IF(LAST_INSERT_ID(?), ?, ?) AS SIGNED))",
			args:  []driver.Value{"u", int64(7), "v", "w", "x", "y", nil, "z"},
			want:  []driver.Value{"u", "v", int64(7), "w", "x", int64(1001), "y", "z", int64(1001), int64(1002), int64(1002)},
		},
		{
			query: "INSERT INTO orders (id, a) VALUES (?, ?), (?, ?)",
			text:  "INSERT INTO orders (a, id) VALUES (?, ?), (?, IF(LAST_INSERT_ID(?), ?, ?))",
			args:  []driver.Value{nil, "x", int64(8), "y"},
			want:  []driver.Value{"x", int64(1001), "y", int64(1001), int64(8), int64(8)},
		},
		{
			query: "INSERT INTO orders (a, id) VALUES (?, ?)",
			text:  "INSERT INTO orders (a, id) VALUES (?, LAST_INSERT_ID(?))",
			args:  []driver.Value{"x", nil},
			want:  []driver.Value{"x", int64(1001)},
		},
		{
			query: "INSERT INTO orders SET id = ?, a = ?",
			text:  "INSERT INTO orders SET a = ?, id = LAST_INSERT_ID(?)",
			args:  []driver.Value{nil, "x"},
			want:  []driver.Value{"x", int64(1001)},
		},
		{
			query: "INSERT INTO orders (id, a) VALUES (NULL, ?); INSERT INTO orders (a) VALUES (?), (?)",
			text:  "INSERT INTO orders (a, id) VALUES (?, LAST_INSERT_ID(?)); INSERT INTO orders (a, `id`) VALUES (?, ?), (?, IF(LAST_INSERT_ID(?), ?, ?))",
			args:  []driver.Value{"x", "y", "z"},
			want:  []driver.Value{"x", int64(1001), "y", int64(1002), "z", int64(1002), int64(1003), int64(1003)},
		},
	} {
		d := dialect.MariaDB()
		p := compile.Query(d, sessions(d), tt.query)
		args := make([]driver.NamedValue, len(tt.args))
		for i, v := range tt.args {
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
		}
		h, err := bind.FindHoles(p, args)
		if err != nil {
			t.Fatal(err)
		}
		if got := bind.Text(p, true); got != tt.text {
			t.Errorf("the session's text of %q is %q, want %q", tt.query, got, tt.text)
		}
		out := bind.Arguments(p, args, h, testKeys(p, h), true)
		got := resolve(d, bind.Text(p, true), out)
		if !slices.Equal(got, tt.want) || len(out) != len(args)+bind.Added(p, true) {
			t.Errorf("the placeholders of %q get %v of %d arguments, want %v", bind.Text(p, true), got, len(out), tt.want)
		}
		for i := range args {
			if at := bind.FinalIndex(p, i, true); tt.args[i] != nil && out[at].Value != tt.args[i] {
				t.Errorf("%q: argument %d travels as %d, which is %v", tt.query, i, at, out[at].Value)
			}
		}
	}
}

// Where the engine takes no further placeholders, LAST_INSERT_ID( ) is around the first of
// several keys, unless the INSERT may read it. A name that is written like a word of such a
// use counts as one, whether or not the other values are constants.
func TestSessionAtLimit(t *testing.T) {
	const rows = 32767 // with a placeholder for each row and each key, one more is free
	for _, tt := range []struct {
		head, row, tail string
		want            bool
	}{
		{"INSERT INTO orders (a) VALUES", "(?)", "", true},
		{"INSERT INTO orders (`a`) VALUES", "(?)", "", true},
		{"INSERT INTO orders (orders.a) VALUES", "(?)", "", true},
		{"INSERT LOW_PRIORITY INTO shop.orders PARTITION (p) (a) VALUE", "(?)", "", true},
		{"INSERT /* a */ INTO orders -- b\n (a) VALUES", "(?)", "", true},
		{"INSERT /*! LOW_PRIORITY */ INTO orders (a) VALUES", "(?)", "", false},
		{"INSERT DELAYED INTO orders (a) VALUES", "(?)", "", false},
		{"INSERT INTO orders PARTITION (row_count) (a) VALUES", "(?)", "", false},
		{"INSERT INTO orders (row_count) VALUES", "(?)", "", false},
		{"INSERT INTO orders (`row_count`) VALUES", "(?)", "", true},
		{"INSERT INTO orders (row_count.a) VALUES", "(?)", "", false},
		{"INSERT INTO orders (a, RowCount) VALUES", "(?, 1)", "", false},
		{"INSERT INTO orders (last_insert_id) VALUES", "(?)", "", false},
		{"INSERT INTO orders (`last_insert_id`) VALUES", "(?)", "", false},
		{"INSERT INTO orders (``) VALUES", "(?)", "", true},
		{"INSERT INTO orders (value) VALUES", "(?)", "", true},
		{"INSERT INTO row_count (a) VALUES", "(?)", "", false},
		{"INSERT INTO `row_count` (a) VALUES", "(?)", "", true},
		{"INSERT INTO last_insert_id (a) VALUES", "(?)", "", false},
		{"INSERT INTO `last_insert_id` (a) VALUES", "(?)", "", false},
		{"INSERT INTO row_count.orders (a) VALUES", "(?)", "", false},
		{"INSERT INTO row_count.shop.orders (a) VALUES", "(?)", "", false},
		{"INSERT INTO shop.table (a) VALUES", "(?)", "", false},
		{"INSERT INTO value (a) VALUES", "(?)", "", true},
		{"INSERT INTO value.orders (a) VALUES", "(?)", "", false},
		{"INSERT INTO orders (a, b) VALUES", "(?, now())", "", true},
		{"INSERT INTO orders (a, b) VALUES", "(?, f())", "", false},
		{"INSERT INTO orders (a, b) VALUES", "(?, @@identity)", "", false},
		{"INSERT INTO orders (a) VALUES", "(?)", " ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)", true},
		{"INSERT INTO orders (row_count) VALUES", "(?)", " ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)", false},
		{"INSERT INTO orders (a) VALUES", "(?)", " ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), a = f()", false},
		{"INSERT INTO orders (a) (VALUES", "(?)", ") ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)", false},
	} {
		for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()} {
			target := sessions(d)("", "orders")
			query := tt.head + strings.Repeat(" "+tt.row+",", rows-1) + " " + tt.row + tt.tail
			p := compile.Query(d, func(_, _ string) *plans.Target { return target }, query)
			if last := strings.Contains(bind.Text(p, true), "IF(LAST_INSERT_ID("); p.Action != plans.Fill || p.Session != tt.want || last {
				t.Errorf("%s: %s %s … %s: to %s, session %v with IF %v, want session %v", d.Name, tt.head, tt.row, tt.tail, p.Action, p.Session, last, tt.want)
			}
		}
	}
}

// Other engines have no LAST_INSERT_ID(key), whatever the policy wants.
func TestSessionElsewhere(t *testing.T) {
	const query = "INSERT INTO orders (a) VALUES (1)"
	for _, d := range dialect.All() {
		p := compile.Query(d, sessions(d), query)
		if want := goldens.Has("mysql mariadb", d); p.Session != want {
			t.Errorf("%s: Compile(%q).Session() = %v, want %v", d.Name, query, p.Session, want)
		}
	}
}

// A key that does not ask for the session, or is no integer, does not get it.
func TestSessionUnwanted(t *testing.T) {
	d := dialect.MySQL()
	for _, k := range []plans.Key{
		{Column: "id", Fill: plans.FillMissing, Integer: true},
		{Column: "id", Fill: plans.FillMissing, Session: true},
	} {
		target := &plans.Target{Table: "orders", Keys: []plans.Key{k}}
		p := compile.Query(d, func(_, _ string) *plans.Target { return target }, "INSERT INTO orders (a) VALUES (1)")
		if p.Session || bind.Text(p, true) != bind.Text(p, false) {
			t.Errorf("Compile with %+v gives the session's text %q", k, bind.Text(p, true))
		}
	}
}

func TestIdiom(t *testing.T) {
	tests := []struct {
		query string
		want  bool
	}{
		{"INSERT INTO orders (a) VALUES (1)", false},
		{"INSERT INTO orders (a) VALUES (LAST_INSERT_ID(1)) ON DUPLICATE KEY UPDATE a = 2", false},
		{"INSERT INTO orders (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 'LAST_INSERT_ID(id)'", false},
		{"INSERT INTO orders (a) VALUES (1) ON DUPLICATE KEY UPDATE a = LAST_INSERT_ID()", false},
		{"INSERT INTO orders (a) VALUES (1) ON DUPLICATE KEY UPDATE a = shop.LAST_INSERT_ID(id)", false},
		{"INSERT INTO orders (a) VALUES (1) ON DUPLICATE KEY UPDATE a = last_insert_id", false},
		{"INSERT INTO orders (a) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)", true},
		{"INSERT IGNORE INTO orders (a) VALUES (1) ON DUPLICATE KEY UPDATE id = last_insert_id( id )", true},
		{"INSERT INTO orders SET a = 1 ON DUPLICATE KEY UPDATE id = IF(a, `last_insert_id`(id), id)", true},
	}
	for _, tt := range tests {
		for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()} {
			p := compile.Query(d, sessions(d), tt.query)
			if len(p.Inserts) != 1 || p.Inserts[0].Upsert.Idiom != tt.want {
				t.Errorf("%s: Compile(%q).Inserts = %+v, want one with Idiom %v", d.Name, tt.query, p.Inserts, tt.want)
			}
		}
	}
}

// checkSession checks that the session's texts are the plain ones but for the call of
// LAST_INSERT_ID, and the keys that are listed, and that they bring their keys.
func checkSession(t *testing.T, d *dialect.Dialect, p *plans.Plan, query string) {
	t.Helper()
	plain, session := bind.Text(p, false), bind.Text(p, true)
	if !p.Session {
		if session != plain {
			t.Fatalf("%s: Compile(%q) has no session's text, but %q", d.Name, query, session)
		}
		return
	}
	if n := params(d, session); n != p.Placeholders()+bind.Added(p, true) || p.Unbound() == "" && n > d.Params.Max {
		t.Fatalf("%s: Compile(%q) has the session's text %q with %d placeholders, want %d", d.Name, query, session, n, p.Placeholders()+bind.Added(p, true))
	}
	h := bind.AssumedHoles(p)
	keys := testKeys(p, h)
	for _, texts := range [][2]string{{plain, session}, {bind.InlineAssumed(p, h, keys, false), bind.InlineAssumed(p, h, keys, true)}} {
		if got := withoutCalls(texts[1], texts[0]); got != texts[0] && sorted(d, got) != sorted(d, texts[0]) {
			t.Fatalf("%s: Compile(%q): the session's text is %q, the plain one %q", d.Name, query, texts[1], texts[0])
		}
	}
	if p.Statements > 1 {
		return
	}
	if len(p.Inserts) != 1 || p.Inserts[0].Upsert.Conflict == plans.ConflictSkip {
		t.Fatalf("%s: Compile(%q) has a session's text %q", d.Name, query, session)
	}
	again := compile.Query(d, fuzzLookup(d), session)
	if again.Action != plans.Keep && (again.Refusal == nil || again.Refusal.Reason != rewrite.ErrColumnCount) {
		t.Fatalf("%s: Compile(%q) = %q, which again is to %s (%v)", d.Name, query, session, again.Action, again.Refusal)
	}
}

// params returns how many placeholders a text has.
func params(d *dialect.Dialect, text string) (n int) {
	for _, tok := range compile.Tokens(d, text) {
		if tok.Kind == compile.KindParam {
			n++
		}
	}
	return n
}

// withoutCalls returns the session's text without what is written around its keys. Both
// texts are alike up to the first key that is moved.
func withoutCalls(session, plain string) string {
	const call, both = "LAST_INSERT_ID(", "IF(LAST_INSERT_ID("
	var b strings.Builder
	for moved := false; session != ""; {
		if !moved && plain != "" && session[0] == plain[0] {
			b.WriteByte(session[0])
			session, plain = session[1:], plain[1:]
			continue
		}
		key := ""
		if rest, ok := strings.CutPrefix(session, both); ok {
			_, rest, _ = strings.Cut(rest, "), ")
			key = rest[:strings.Index(rest, ", ")]
			session = rest[2*len(key)+len(", ")+len(")"):]
		} else if rest, ok := strings.CutPrefix(session, call); ok && (rest[0] == '?' || strings.HasPrefix(rest, "10")) {
			key, session, _ = strings.Cut(rest, ")")
		} else {
			moved = true
			b.WriteByte(session[0])
			session = session[1:]
			continue
		}
		b.WriteString(key)
		plain = strings.TrimPrefix(plain, key)
	}
	return b.String()
}

// sorted returns the tokens of a text in the order of the alphabet.
func sorted(d *dialect.Dialect, text string) string {
	var all []string
	for _, tok := range compile.Tokens(d, text) {
		if tok.Kind != compile.KindSpace {
			all = append(all, text[tok.Start:tok.End])
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
