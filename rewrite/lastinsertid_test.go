package rewrite_test

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// sessions is a lookup of orders, whose integer key wants the session.
func sessions(d *dialect.Dialect) rewrite.Lookup {
	t := &rewrite.Target{
		Table: "orders",
		Keys: []rewrite.Key{{
			Column:  d.Fold("id", false),
			Fill:    rewrite.FillMissing | rewrite.FillNull,
			Integer: true,
			Session: true,
		}},
	}
	return func(_, table string) *rewrite.Target {
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
			session: "INSERT INTO orders (a, `id`) VALUES (1, LAST_INSERT_ID(1001)), (2, 1002)",
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
				p := rewrite.Compile(d, sessions(d), tt.query)
				h, err := p.Holes(tt.args)
				if err != nil {
					t.Fatal(err)
				}
				keys := testKeys(p, h)
				for _, session := range []bool{false, true} {
					want := tt.plain
					if session {
						want = tt.session
					}
					got, args := p.Inline(tt.args, h, keys, session)
					if got != want || len(args) != len(tt.args) {
						t.Errorf("Inline(%q, %v) = %q with %d arguments, want %q with %d", tt.query, session, got, len(args), want, len(tt.args))
					}
					if got := p.InlineAssumed(p.Assumed(), keys, session); got != want {
						t.Errorf("InlineAssumed(%q, %v) = %q, want %q", tt.query, session, got, want)
					}
				}
			})
		}
	}
}

// The session's text takes the same arguments as the plain one.
func TestSessionBind(t *testing.T) {
	d := dialect.MySQL()
	p := rewrite.Compile(d, sessions(d), "INSERT INTO orders (a) VALUES (?), (?)")
	args := []driver.NamedValue{{Ordinal: 1, Value: "x"}, {Ordinal: 2, Value: "y"}}
	h, err := p.Holes(args)
	if err != nil {
		t.Fatal(err)
	}
	out := p.Bind(args, h, testKeys(p, h))
	got := resolve(d, p.BoundText(true), out)
	want := []driver.Value{"x", int64(1001), "y", int64(1002)}
	if len(got) != len(want) {
		t.Fatalf("the placeholders of %q get %v, want %v", p.BoundText(true), got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("placeholder %d of %q gets %v, want %v", i, p.BoundText(true), got[i], want[i])
		}
	}
}

// Other engines have no LAST_INSERT_ID(key), whatever the policy wants.
func TestSessionElsewhere(t *testing.T) {
	const query = "INSERT INTO orders (a) VALUES (1)"
	for _, d := range dialect.All() {
		p := rewrite.Compile(d, sessions(d), query)
		if want := d.Name == "mysql" || d.Name == "mariadb"; p.Session() != want {
			t.Errorf("%s: Compile(%q).Session() = %v, want %v", d.Name, query, p.Session(), want)
		}
	}
}

// A key that does not ask for the session, or is no integer, does not get it.
func TestSessionUnwanted(t *testing.T) {
	d := dialect.MySQL()
	for _, k := range []rewrite.Key{
		{Column: "id", Fill: rewrite.FillMissing, Integer: true},
		{Column: "id", Fill: rewrite.FillMissing, Session: true},
	} {
		target := &rewrite.Target{Table: "orders", Keys: []rewrite.Key{k}}
		p := rewrite.Compile(d, func(_, _ string) *rewrite.Target { return target }, "INSERT INTO orders (a) VALUES (1)")
		if p.Session() || p.BoundText(true) != p.BoundText(false) {
			t.Errorf("Compile with %+v gives the session's text %q", k, p.BoundText(true))
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
			p := rewrite.Compile(d, sessions(d), tt.query)
			if len(p.Inserts) != 1 || p.Inserts[0].Idiom != tt.want {
				t.Errorf("%s: Compile(%q).Inserts = %+v, want one with Idiom %v", d.Name, tt.query, p.Inserts, tt.want)
			}
		}
	}
}

func TestWordsFitTheirSets(t *testing.T) {
	if words := rewrite.TooLong(); words != nil {
		t.Errorf("too long to be found: %v", words)
	}
}

// checkSession checks that the session's texts are the plain ones but for the
// call around the first key, that they bring their keys, and that only a text
// that asks for nothing of the session has them.
func checkSession(t *testing.T, d *dialect.Dialect, p *rewrite.Plan, query string) {
	t.Helper()
	plain, session := p.BoundText(false), p.BoundText(true)
	if !p.Session() {
		if session != plain {
			t.Fatalf("%s: Compile(%q) has no session's text, but %q", d.Name, query, session)
		}
		return
	}
	if p.Statements > 1 {
		h := p.Assumed()
		keys := testKeys(p, h)
		unwrapAll(t, d, query, plain, session)
		unwrapAll(t, d, query, p.InlineAssumed(h, keys, false), p.InlineAssumed(h, keys, true))
		return
	}
	if p.Action != rewrite.Fill || len(p.Inserts) != 1 || p.Inserts[0].Conflict == rewrite.ConflictSkip ||
		!p.Inserts[0].Idiom && p.Reads() != 0 {
		t.Fatalf("%s: Compile(%q) has a session's text %q", d.Name, query, session)
	}
	h := p.Assumed()
	keys := testKeys(p, h)
	var first []string // of each column that wants the session
	for i, draw := range p.Draws {
		if p.Inserts[0].Target.Keys[draw.Key].Session && h.Counts[i] > 0 {
			first = append(first, fmt.Sprint(keys[i][0]))
		}
	}
	unwrap(t, d, query, plain, session, "?")
	unwrap(t, d, query, p.InlineAssumed(h, keys, false), p.InlineAssumed(h, keys, true), first...)
	again := rewrite.Compile(d, fuzzLookup(d), session)
	if again.Action != rewrite.Keep && (again.Refusal == nil || again.Refusal.Reason != rewrite.ErrColumnCount) {
		t.Fatalf("%s: Compile(%q) = %q, which again is to %s (%v)", d.Name, query, session, again.Action, again.Refusal)
	}
}

// unwrapAll checks that the session's text is the plain one but for calls around
// keys.
func unwrapAll(t *testing.T, d *dialect.Dialect, query, plain, session string) {
	t.Helper()
	const call = "LAST_INSERT_ID("
	calls, at := 0, 0
	for rest := session; ; {
		for at < len(plain) && rest != "" && plain[at] == rest[0] {
			at, rest = at+1, rest[1:]
		}
		switch {
		case at == len(plain) && rest == "" && calls > 0:
			return
		case strings.HasPrefix(rest, call):
			rest = rest[len(call):]
			key := rest[:strings.IndexByte(rest, ')')]
			if !strings.HasPrefix(plain[at:], key) {
				t.Fatalf("%s: Compile(%q): in the session's text %q %q is no key of %q", d.Name, query, session, key, plain)
			}
			at, rest, calls = at+len(key), rest[len(key)+1:], calls+1
		default:
			t.Fatalf("%s: Compile(%q): the session's text is %q, the plain one %q", d.Name, query, session, plain)
		}
	}
}

// unwrap checks that one of the keys, as it is spelled, stands in a call in the
// session's text and without it in the plain one, and that nothing else differs.
func unwrap(t *testing.T, d *dialect.Dialect, query, plain, session string, keys ...string) {
	t.Helper()
	for _, key := range keys {
		call := "LAST_INSERT_ID(" + key + ")"
		for at := 0; ; at++ {
			i := strings.Index(session[at:], call)
			if i < 0 {
				break
			}
			at += i
			if session[:at]+key+session[at+len(call):] == plain {
				return
			}
		}
	}
	t.Fatalf("%s: Compile(%q): the session's text %q is not %q with a call around one of %v", d.Name, query, session, plain, keys)
}
