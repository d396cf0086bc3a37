package compile_test

import (
	"database/sql/driver"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// joinedTarget is a table whose id belongs to the transaction of its INSERT, and
// whose code does not.
func joinedTarget(_, name string) *plans.Target {
	if name != "t" {
		return nil
	}
	all := plans.FillMissing | plans.FillNull | plans.FillDefault | plans.FillZero
	return &plans.Target{Table: "t", Keys: []plans.Key{
		{Column: "id", Fill: all, Integer: true, Joined: true, Session: true},
		{Column: "code", Fill: all, Integer: true},
	}}
}

// TestProvenText: the first key of a draw that belongs to the transaction proves that
// one is open; placeholders and arguments are those of the text without.
func TestProvenText(t *testing.T) {
	const open, shut = "IF(@@in_transaction = 1, ", ", 9223372036854775807 + 1)"
	tests := []struct {
		query   string
		args    []any
		proven  string
		session string // "" for as proven
		inline  string
	}{
		{
			query:   "INSERT INTO t (a) VALUES (?), (?)",
			args:    []any{5, 6},
			proven:  "INSERT INTO t (a, `id`, `code`) VALUES (?, " + open + "?" + shut + ", ?), (?, ?, ?)",
			session: "INSERT INTO t (a, `id`, `code`) VALUES (?, " + open + "LAST_INSERT_ID(?)" + shut + ", ?), (?, ?, ?)",
			inline:  "INSERT INTO t (a, `id`, `code`) VALUES (?, " + open + "1001" + shut + ", 1003), (?, 1002, 1004)",
		},
		{
			query:  "INSERT INTO t SET a = 1, code = 7",
			proven: "INSERT INTO t SET a = 1, code = 7, `id` = " + open + "?" + shut, session: "INSERT INTO t SET a = 1, code = 7, `id` = " + open + "LAST_INSERT_ID(?)" + shut,
			inline: "INSERT INTO t SET a = 1, code = 7, `id` = " + open + "1001" + shut,
		},
		{
			query:  "INSERT INTO t (id, code) VALUES (?, 1), (?, 1)",
			args:   []any{nil, 9},
			proven: "INSERT INTO t (id, code) VALUES (" + open + "?" + shut + ", 1), (?, 1)",
			inline: "INSERT INTO t (id, code) VALUES (" + open + "?" + shut + ", 1), (?, 1)",
		},
		{
			query:  "INSERT INTO t (code, id) VALUES (1, 4), (1, NULL), (1, DEFAULT)",
			proven: "INSERT INTO t (code, id) VALUES (1, 4), (1, " + open + "?" + shut + "), (1, ?)",
			inline: "INSERT INTO t (code, id) VALUES (1, 4), (1, " + open + "1001" + shut + "), (1, 1002)",
		},
		{
			query:  "INSERT IGNORE INTO t (id, code) VALUES (CAST(? AS SIGNED), 1)",
			args:   []any{0},
			proven: "INSERT IGNORE INTO t (id, code) VALUES (CAST(" + open + "?" + shut + " AS SIGNED), 1)",
			inline: "INSERT IGNORE INTO t (id, code) VALUES (CAST(" + open + "?" + shut + " AS SIGNED), 1)",
		},
		{
			query:  "EXPLAIN INSERT INTO t (code) VALUES (1)",
			proven: "EXPLAIN INSERT INTO t (code, `id`) VALUES (1, ?)",
			inline: "EXPLAIN INSERT INTO t (code, `id`) VALUES (1, 1001)",
		},
	}
	for _, tt := range tests {
		p := compile.Query(dialect.MariaDB(), joinedTarget, tt.query)
		if p.Action == plans.Refuse {
			t.Errorf("Compile(%q): %v", tt.query, p.Refusal)
			continue
		}
		if got := bind.ProvenText(p, false); got != tt.proven {
			t.Errorf("ProvenText(%q) = %q, want %q", tt.query, got, tt.proven)
		}
		session := tt.session
		if session == "" {
			session = tt.proven
		}
		if got := bind.ProvenText(p, true); got != session {
			t.Errorf("ProvenText(%q), session = %q, want %q", tt.query, got, session)
		}
		args := make([]driver.NamedValue, len(tt.args))
		for i, v := range tt.args {
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
			if n, ok := v.(int); ok {
				args[i].Value = int64(n)
			}
		}
		h, err := bind.FindHoles(p, args)
		if err != nil {
			t.Errorf("Holes(%q): %v", tt.query, err)
			continue
		}
		keys := integerKeys(p, h)
		got, own := bind.InlineProven(p, args, h, keys, false)
		_, want := bind.Inline(p, args, h, keys, false)
		if got != tt.inline || !slices.Equal(own, want) {
			t.Errorf("InlineProven(%q) = %q, %v, want %q, %v", tt.query, got, own, tt.inline, want)
		}
		// Elsewhere there is no such expression.
		if other := compile.Query(dialect.MySQL(), joinedTarget, tt.query); bind.ProvenText(other, false) != bind.Text(other, false) || other.Proves() {
			t.Errorf("ProvenText(%q) on MySQL = %q", tt.query, bind.ProvenText(other, false))
		}
	}
}

// TestSureQuery: the engine's own functions change nothing, so that the count of a
// query with them need not be undone. With a space in front of the bracket MAX is the
// name of a stored function.
func TestSureQuery(t *testing.T) {
	target := &plans.Target{Table: "n", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing, Integer: true, Counted: true}}}
	lookup := func(_, name string) *plans.Target {
		if name == "n" {
			return target
		}
		return nil
	}
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()} {
		for query, unsure := range map[string]bool{
			"INSERT INTO n (a) SELECT MAX(x) FROM s":                              false,
			"INSERT INTO n (a) SELECT MIN(x) + SUM(x) + COUNT(*) + AVG(x) FROM s": false,
			"INSERT INTO n (a) SELECT ROW_NUMBER() OVER (ORDER BY x) FROM s":      false,
			"INSERT INTO n (a) SELECT GROUP_CONCAT(x) FROM s GROUP BY y":          false,
			"INSERT INTO n (a) SELECT MAX (x) FROM s":                             true,
			"INSERT INTO n (a) SELECT mine(x) FROM s":                             true,
		} {
			p := compile.Query(d, lookup, query)
			// MySQL numbers in a temporary table, in which most of these values may change.
			refused := d.Name == "mysql" && p.Action == plans.Refuse && p.Refusal.Reason == rewrite.ErrSelectValues
			if !refused && (p.Action != plans.Fill || p.Inserts[0].Query.Unsure != unsure) {
				t.Errorf("%s: Compile(%q): %v (%v), want unsure %v", d.Name, query, p.Action, p.Refusal, unsure)
			}
		}
	}
}

// TestProvenName: the first key of an INSERT proves what the name means, in whatever row it
// stands and whoever's placeholder it is; the number of rows does where the engine numbers
// the rows of a query.
func TestProvenName(t *testing.T) {
	d := dialect.PostgreSQL()
	lookup := func(schema, name string) *plans.Target {
		if name != "t" && name != "u" {
			return nil
		}
		k := plans.Key{
			Column: "id", Fill: plans.FillMissing | plans.FillNull | plans.FillDefault, Integer: true, Counted: true, Type: "bigint",
		}
		if schema == "" {
			k.Proof = plans.Proof{Open: "[" + name + " ", Shut: "]", Counted: "}"}
		}
		return &plans.Target{Table: name, Keys: []plans.Key{k}}
	}
	for query, want := range map[string]string{
		"INSERT INTO t (a) VALUES ($1), ($2)":                                   `INSERT INTO t (a, "id") VALUES ($1, [t $3]), ($2, $4)`,
		"INSERT INTO t (id, a) VALUES (7, 1), (NULL, 2)":                        `INSERT INTO t (id, a) VALUES (7, 1), ([t $1], 2)`,
		"INSERT INTO t (id, a) VALUES ($1, 1), (NULL, 2)":                       `INSERT INTO t (id, a) VALUES ([t $1], 1), ($2, 2)`,
		"INSERT INTO s.t (a) VALUES (1)":                                        `INSERT INTO s.t (a, "id") VALUES (1, $1)`,
		"INSERT INTO t DEFAULT VALUES":                                          `INSERT INTO t ("id") VALUES ([t $1])`,
		"INSERT INTO t (a) SELECT b FROM r":                                     `INSERT INTO t (a, "id") WITH kf (c1) AS (SELECT b FROM r) SELECT kf.*, CASE WHEN ROW_NUMBER() OVER () <= [t $1} THEN $2 + ROW_NUMBER() OVER () ELSE CAST('more rows than were counted: ' || ROW_NUMBER() OVER () AS bigint) END FROM kf`,
		"EXPLAIN INSERT INTO t (a) VALUES (1)":                                  `EXPLAIN INSERT INTO t (a, "id") VALUES (1, $1)`,
		"WITH w AS (INSERT INTO u (a) VALUES (1)) INSERT INTO t (a) VALUES (2)": `WITH w AS (INSERT INTO u (a, "id") VALUES (1, [u $1])) INSERT INTO t (a, "id") VALUES (2, [t $2])`,
	} {
		p := compile.Query(d, lookup, query)
		if got := bind.ProvenText(p, false); got != want {
			t.Errorf("%s:\n%s, want\n%s", query, got, want)
		}
		if p.ProvesOpen() || p.ProvesName() != (bind.ProvenText(p, false) != bind.Text(p, false)) {
			t.Errorf("%s: proves that a transaction is open %t, what the name means %t", query, p.ProvesOpen(), p.ProvesName())
		}
	}
}
