package compile_test

import (
	"database/sql/driver"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// TestCutArguments: the arguments of a clause that is cut are not sent, and the others and
// the keys go where the text has them.
func TestCutArguments(t *testing.T) {
	for _, c := range []struct {
		name, dialect, target, query, text, literal string
		want, inline                                []any
	}{
		{"positions", "sqlite", "orders key=id:gapless",
			"INSERT INTO orders (a) VALUES (?), (?) ON CONFLICT (id) DO UPDATE SET a = ?, b = ? RETURNING ?",
			`INSERT INTO orders (a, "id") VALUES (?, ?), (?, ?) RETURNING ?`,
			`INSERT INTO orders (a, "id") VALUES (?, 1001), (?, 1002) RETURNING ?`,
			[]any{"arg0", int64(1001), "arg1", int64(1002), "arg4"}, []any{"arg0", "arg1", "arg4"}},
		{"numbers", "postgres", "orders key=id:gapless",
			"INSERT INTO orders (a) VALUES ($1), ($2) ON CONFLICT (id) DO UPDATE SET a = $3, b = $4, c = $2 RETURNING $5, $5, $1",
			`INSERT INTO orders (a, "id") VALUES ($1, $4), ($2, $5) RETURNING $3, $3, $1`,
			`INSERT INTO orders (a, "id") VALUES ($1, 1001), ($2, 1002) RETURNING $3, $3, $1`,
			[]any{"arg0", "arg1", "arg4", int64(1001), int64(1002)}, []any{"arg0", "arg1", "arg4"}},
		{"of the clause alone", "postgres", "orders key=id:gapless",
			"INSERT INTO orders (a) VALUES ('x') ON CONFLICT (id) DO UPDATE SET a = $1",
			`INSERT INTO orders (a, "id") VALUES ('x', $1)`, `INSERT INTO orders (a, "id") VALUES ('x', 1001)`,
			[]any{int64(1001)}, []any{}},
		{"duplicate key", "mariadb", "orders key=id:sole",
			"INSERT INTO orders (a) VALUES (?), (?) ON DUPLICATE KEY UPDATE a = VALUES(a), b = ?",
			"INSERT INTO orders (a, `id`) VALUES (?, ?), (?, ?)", "INSERT INTO orders (a, `id`) VALUES (?, 1001), (?, 1002)",
			[]any{"arg0", int64(1001), "arg1", int64(1002)}, []any{"arg0", "arg1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := dialect.ByName(c.dialect)
			if err != nil {
				t.Fatal(err)
			}
			target, err := parseTarget(d, c.target)
			if err != nil {
				t.Fatal(err)
			}
			p := compile.Query(d, func(string, string) *plans.Target { return target }, c.query)
			args := make([]driver.NamedValue, p.Placeholders())
			for i := range args {
				args[i] = driver.NamedValue{Ordinal: i + 1, Value: "arg" + string(rune('0'+i))}
			}
			h, err := bind.FindHoles(p, args)
			if err != nil {
				t.Fatal(err)
			}
			if in := &p.Inserts[0]; p.Action != plans.Fill || in.Upsert.Conflict != plans.ConflictError || p.MayConflict {
				t.Errorf("%s, and a row that is there is %v", p.Action, in.Upsert.Conflict)
			}
			if got := bind.Text(p, false); got != c.text {
				t.Errorf("BoundText(%q) = %q, want %q", c.query, got, c.text)
			}
			sent := bind.Arguments(p, args, h, testKeys(p, h), false)
			if got := valuesOf(t, sent); !reflect.DeepEqual(got, c.want) || len(sent) != len(args)+bind.Added(p, false) {
				t.Errorf("Bind(%q) = %v, want %v; %d are added to %d", c.query, got, c.want, bind.Added(p, false), len(args))
			}
			for i := range args {
				if at := bind.FinalIndex(p, i, false); at < len(sent) && sent[at].Value != args[i].Value && strings.Contains(c.text, "RETURNING") && i != 2 && i != 3 {
					t.Errorf("Final(%d) = %d, which is %v", i, at, sent[at].Value)
				}
			}
			text, own := bind.Inline(p, args, h, testKeys(p, h), false)
			if got := valuesOf(t, own); text != c.literal || !reflect.DeepEqual(got, c.inline) {
				t.Errorf("Inline(%q) = %q, %v, want %q, %v", c.query, text, got, c.literal, c.inline)
			}
		})
	}
}

// TestArgumentsNotCut: where the arguments of a clause cannot be cut, the INSERT is refused,
// as one with any other clause is.
func TestArgumentsNotCut(t *testing.T) {
	d := dialect.PostgreSQL()
	target, err := parseTarget(d, "orders key=id:gapless")
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"INSERT INTO orders (customer) VALUES ($2) ON CONFLICT (id) DO UPDATE SET note = $1",
		"INSERT INTO orders (customer) VALUES ($1) ON CONFLICT (id) DO UPDATE SET note = $2; SELECT $3",
	} {
		p := compile.Query(d, func(_, table string) *plans.Target {
			if table == "orders" {
				return target
			}
			return nil
		}, query)
		if p.Action != plans.Refuse || p.Refusal.Reason != rewrite.ErrGap {
			t.Errorf("Compile(%q) is to %s: %v", query, p.Action, p.Refusal)
		}
	}
}

// TestClauseNotCut: a clause that may be about something else stays.
func TestClauseNotCut(t *testing.T) {
	for _, c := range []struct{ dialect, query string }{
		{"postgres", "INSERT INTO orders (customer) VALUES ($1) ON CONFLICT ON CONSTRAINT orders_pkey DO NOTHING"},
		{"postgres", "INSERT INTO orders (customer) VALUES ($1) ON CONFLICT (id int8_ops) DO NOTHING"},
		{"sqlite", "INSERT INTO orders (customer) VALUES (:a) ON CONFLICT (id) DO UPDATE SET note = :b"},
		{"mariadb", "INSERT INTO orders (customer) VALUES (?) ON DUPLICATE KEY UPDATE customer = ?"},
	} {
		d, err := dialect.ByName(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		target, err := parseTarget(d, "orders key=id:gapless")
		if err != nil {
			t.Fatal(err)
		}
		p := compile.Query(d, func(string, string) *plans.Target { return target }, c.query)
		text := bind.Text(p, false)
		if _, clause, _ := strings.Cut(c.query, " ON "); p.Action != plans.Fill || !p.MayConflict || !strings.HasSuffix(text, clause) {
			t.Errorf("Compile(%q) is to %s: %q", c.query, p.Action, text)
		}
	}
}

// valuesOf returns the values of arguments, whose ordinals have to count them.
func valuesOf(t *testing.T, args []driver.NamedValue) []any {
	t.Helper()
	values := make([]any, 0, len(args))
	for i, a := range args {
		if a.Ordinal != i+1 {
			t.Errorf("argument %d has the ordinal %d", i+1, a.Ordinal)
		}
		values = append(values, a.Value)
	}
	return values
}

// TestGapInScope: a numbering within a parent has no other transaction, which the error
// would advise.
func TestGapInScope(t *testing.T) {
	d, err := dialect.ByName("postgres")
	if err != nil {
		t.Fatal(err)
	}
	for text, advises := range map[string]bool{"lines key=no:gapless scope=order_id": false, "lines key=no:gapless": true} {
		target, err := parseTarget(d, text)
		if err != nil {
			t.Fatal(err)
		}
		p := compile.Query(d, func(string, string) *plans.Target { return target }, "INSERT INTO lines (order_id) VALUES ($1) ON CONFLICT DO NOTHING")
		refused := p.Refused(rewrite.ErrGap)
		if !errors.Is(refused, rewrite.ErrGap) || !errors.Is(refused.Cause(), rewrite.ErrGap) || strings.Contains(refused.Error(), "autonomous") != advises {
			t.Errorf("%s: %v", text, refused)
		}
	}
}
