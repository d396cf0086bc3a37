package compile_test

import (
	"database/sql/driver"
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// TestExplicit: what an execution brings for a key that is followed, as literals
// and as arguments.
func TestExplicit(t *testing.T) {
	const all = plans.FillMissing | plans.FillNull | plans.FillDefault | plans.FillZero
	for _, tt := range []struct {
		query string
		fill  plans.FillOn
		args  []driver.Value
		want  int64
		open  bool // want is a guess
	}{
		{"INSERT INTO t (a) VALUES (1)", all, nil, 0, false},
		{"INSERT INTO t (id, a) VALUES (7, 1)", all, nil, 7, false},
		{"INSERT INTO t (id, a) VALUES (7, 1), (NULL, 900), (30, 2), (0, 1)", all, nil, 30, false},
		{"INSERT INTO t (id, a) VALUES (-7, 1)", all, nil, 0, false},
		{"INSERT INTO t (id, a) VALUES (' 7000', 1), ('x', 2)", all, nil, 7000, true},
		{"INSERT INTO t (id, a) VALUES (0x2328, 1)", all, nil, 9000, true},
		{"INSERT INTO t (id, a) VALUES (nextval(9), 1)", all, nil, 0, true},
		{"INSERT INTO t (id, a) VALUES (99999999999999999999, 1)", all, nil, 1<<63 - 1, false},
		{"INSERT INTO t (id, a) VALUES (1 + 7, 1)", all, nil, 0, true},
		{"INSERT INTO t (id, a) VALUES (TRUE, 1)", all, nil, 0, true},
		{"INSERT INTO t (id, a) VALUES (7.5, 1), (3, 1)", all, nil, 8, true},
		{"INSERT INTO t (id, a) SELECT x, y FROM s", all, nil, 0, true},
		{"INSERT INTO t (id, a) VALUES (?, 1), (?, 1), (-9, 1)", all, []driver.Value{int64(-5), []byte("-6")}, 0, false},
		{"INSERT INTO t (id, a) VALUES (?, 1)", all, []driver.Value{true}, 1, true},
		{"INSERT INTO t (id, a) VALUES (?, 1)", all, []driver.Value{time.Unix(0, 0)}, 0, true},
		{"INSERT INTO t SET a = 5, id = 12", all, nil, 12, false},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{int64(41), int64(900)}, 41, false},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{nil, int64(900)}, 0, false},
		{"INSERT INTO t (id, a) VALUES (?, ?)", plans.FillMissing, []driver.Value{int64(41), int64(900)}, 41, false},
		{"INSERT INTO t (id, a) VALUES (?, ?), (5, 6), (?, 1)", all, []driver.Value{"17", int64(900), []byte("18")}, 18, false},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{uint64(1 << 63), "x"}, 1<<63 - 1, false},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{"x", "y"}, 0, true},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{"  7000 ", "y"}, 7000, true},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{"0x2328", "y"}, 9000, true},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{[]byte("7e3"), "y"}, 7000, true},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{"007000.5", "y"}, 7001, true},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{"0010", "y"}, 10, false},
		{"INSERT INTO t (id, a) VALUES (?, ?)", all, []driver.Value{"1_000", "y"}, 1000, true},
	} {
		target := &plans.Target{Table: "t", Keys: []plans.Key{
			{Column: "id", Fill: tt.fill, Integer: true, Follow: true},
		}}
		p := compile.Query(dialect.MySQL(), func(_, table string) *plans.Target {
			if table == "t" {
				return target
			}
			return nil
		}, tt.query)
		if p.Action == plans.Refuse || !p.Follows() {
			t.Errorf("%s: %v, follows: %v", tt.query, p.Action, p.Follows())
			continue
		}
		var args []driver.NamedValue
		for i, v := range tt.args {
			args = append(args, driver.NamedValue{Ordinal: i + 1, Value: v})
		}
		var h bind.Holes
		if p.Placeholders() > 0 || p.Action == plans.Fill {
			var err error
			if h, err = bind.FindHoles(p, args); err != nil {
				t.Errorf("%s: %v", tt.query, err)
				continue
			}
		}
		got := bind.ExplicitKeys(p, args, h, 0, 0)
		if n := max(got.Sure, got.Guess); n != tt.want || got.Open != tt.open {
			t.Errorf("%s, %v: %+v, want %d, open %v", tt.query, tt.args, got, tt.want, tt.open)
		}
		all := append(bind.ExplicitIntegers(p, args, h, 0, 0), 0)
		if n := slices.Max(all); n != tt.want {
			t.Errorf("%s, %v: the greatest of %v is not %d", tt.query, tt.args, all, tt.want)
		}
	}
}
