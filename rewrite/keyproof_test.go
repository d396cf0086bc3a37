package rewrite_test

import (
	"database/sql/driver"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// joinedTarget is a table whose id belongs to the transaction of its INSERT, and
// whose code does not.
func joinedTarget(_, name string) *rewrite.Target {
	if name != "t" {
		return nil
	}
	all := rewrite.FillMissing | rewrite.FillNull | rewrite.FillDefault | rewrite.FillZero
	return &rewrite.Target{Table: "t", Keys: []rewrite.Key{
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
		p := rewrite.Compile(dialect.MariaDB(), joinedTarget, tt.query)
		if p.Action == rewrite.Refuse {
			t.Errorf("Compile(%q): %v", tt.query, p.Refusal)
			continue
		}
		if got := p.ProvenText(false); got != tt.proven {
			t.Errorf("ProvenText(%q) = %q, want %q", tt.query, got, tt.proven)
		}
		session := tt.session
		if session == "" {
			session = tt.proven
		}
		if got := p.ProvenText(true); got != session {
			t.Errorf("ProvenText(%q), session = %q, want %q", tt.query, got, session)
		}
		args := make([]driver.NamedValue, len(tt.args))
		for i, v := range tt.args {
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
			if n, ok := v.(int); ok {
				args[i].Value = int64(n)
			}
		}
		h, err := p.Holes(args)
		if err != nil {
			t.Errorf("Holes(%q): %v", tt.query, err)
			continue
		}
		keys := integerKeys(p, h)
		got, own := p.InlineProven(args, h, keys, false)
		_, want := p.Inline(args, h, keys, false)
		if got != tt.inline || !slices.Equal(own, want) {
			t.Errorf("InlineProven(%q) = %q, %v, want %q, %v", tt.query, got, own, tt.inline, want)
		}
		// Elsewhere there is no such expression.
		if other := rewrite.Compile(dialect.MySQL(), joinedTarget, tt.query); other.ProvenText(false) != other.BoundText(false) || other.Proves() {
			t.Errorf("ProvenText(%q) on MySQL = %q", tt.query, other.ProvenText(false))
		}
	}
}

// TestSureQuery: the engine's own functions change nothing, so that the count of a
// query with them need not be undone. With a space in front of the bracket MAX is the
// name of a stored function.
func TestSureQuery(t *testing.T) {
	target := &rewrite.Target{Table: "n", Keys: []rewrite.Key{{Column: "id", Fill: rewrite.FillMissing, Integer: true, Counted: true}}}
	lookup := func(_, name string) *rewrite.Target {
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
			p := rewrite.Compile(d, lookup, query)
			// MySQL numbers in a temporary table, in which most of these values may change.
			refused := d.Name == "mysql" && p.Action == rewrite.Refuse && p.Refusal.Reason == rewrite.ErrSelectValues
			if !refused && (p.Action != rewrite.Fill || p.Inserts[0].Query.Unsure != unsure) {
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
	lookup := func(schema, name string) *rewrite.Target {
		if name != "t" && name != "u" {
			return nil
		}
		k := rewrite.Key{
			Column: "id", Fill: rewrite.FillMissing | rewrite.FillNull | rewrite.FillDefault, Integer: true, Counted: true, Type: "bigint",
		}
		if schema == "" {
			k.Proof = rewrite.Proof{Open: "[" + name + " ", Shut: "]", Counted: "}"}
		}
		return &rewrite.Target{Table: name, Keys: []rewrite.Key{k}}
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
		p := rewrite.Compile(d, lookup, query)
		if got := p.ProvenText(false); got != want {
			t.Errorf("%s:\n%s, want\n%s", query, got, want)
		}
		if p.ProvesOpen() || p.ProvesName() != (p.ProvenText(false) != p.BoundText(false)) {
			t.Errorf("%s: proves that a transaction is open %t, what the name means %t", query, p.ProvesOpen(), p.ProvesName())
		}
	}
}
