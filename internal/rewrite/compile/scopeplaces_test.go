package compile_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// scopeLookup configures tables whose keys are numbered within other columns.
func scopeLookup(t testing.TB, d *dialect.Dialect) plans.Lookup {
	t.Helper()
	targets := map[string]*plans.Target{}
	for _, text := range []string{
		"lines key=line_no:integer scope=order_id columns=order_id,line_no,item fill=missing,null,default,zero",
		"stock key=no:integer scope=shop,item",
		"nested key=id:integer key=no:integer scope=id",
		"plain key=id:integer",
		"invoices key=no:integer scope=branch,issued_on date=issued_on",
	} {
		target, err := parseTarget(d, text)
		if err != nil {
			t.Fatal(err)
		}
		targets[d.Fold(target.Table, false)] = target
	}
	return func(_, table string) *plans.Target { return targets[table] }
}

// orderID is a type of an application that is sent as what is below it.
type orderID int64

// told is a value that tells a driver itself what it is.
type told int64

func (t told) Int64Value() (int64, error) { return int64(t) + 1, nil }

func TestScopes(t *testing.T) {
	seven := int64(7)
	for _, tt := range []struct {
		name, dialect, query string
		args                 []driver.Value
		want                 [][]driver.Value
	}{
		{"argument", "postgres", "INSERT INTO lines (item, order_id) VALUES ($1, $2)", []driver.Value{"a", int64(7)}, [][]driver.Value{{int64(7)}}},
		{"by number", "postgres", "INSERT INTO lines (item, order_id) VALUES ($2, $1), ($3, $1)", []driver.Value{int64(7), "a", "b"}, [][]driver.Value{{int64(7)}, {int64(7)}}},
		{"cast", "postgres", "INSERT INTO lines (order_id) VALUES ($1::int), (CAST($2 AS bigint))", []driver.Value{"7", int64(8)}, [][]driver.Value{{int64(7)}, {int64(8)}}},
		{"cast to text", "postgres", "INSERT INTO lines (order_id) VALUES ($1::text)", []driver.Value{"7"}, [][]driver.Value{{"7"}}},
		{
			"dates", "postgres", "INSERT INTO invoices (branch, issued_on) VALUES (1, $1::date), (2, CAST($2 AS DATE)), (3, DATE '2026-01-03'), (4, '2026-01-04'::date), (5, cast('2026-01-05' AS date))",
			[]driver.Value{"2026-01-01", []byte("x")}, [][]driver.Value{{int64(1), "2026-01-01"}, {int64(2), []byte("x")}, {int64(3), "2026-01-03"}, {int64(4), "2026-01-04"}, {int64(5), "2026-01-05"}},
		},
		{"dates", "mariadb", "INSERT INTO invoices (branch, issued_on) VALUES (?, CAST(? AS date)), (2, date '2026-01-03')", []driver.Value{int64(1), "2026-01-01"}, [][]driver.Value{{int64(1), "2026-01-01"}, {int64(2), "2026-01-03"}}},
		{"question marks", "mysql", "INSERT INTO lines (item, order_id, line_no) VALUES (?, ?, NULL), (?, ?, ?)", []driver.Value{"a", int64(7), "b", int64(8), int64(0)}, [][]driver.Value{{int64(7)}, {int64(8)}}},
		{"brought keys are left out", "mysql", "INSERT INTO lines (item, order_id, line_no) VALUES (?, ?, ?), (?, ?, ?)", []driver.Value{"a", int64(7), int64(1), "b", int64(8), nil}, [][]driver.Value{{int64(8)}}},
		{"SET", "mysql", "INSERT INTO lines SET item = ?, order_id = ?", []driver.Value{"a", []byte("7")}, [][]driver.Value{{[]byte("7")}}},
		{"literals", "sqlite", "INSERT INTO lines (order_id, item) VALUES (7, 'x'), (-7, 'y'), ((+8), 'z'), ('9', 'z')", nil, [][]driver.Value{{int64(7)}, {int64(-7)}, {int64(8)}, {"9"}}},
		{"the greatest", "mysql", "INSERT INTO lines (order_id) VALUES (18446744073709551615)", nil, [][]driver.Value{{uint64(math.MaxUint64)}}},
		{"quotes", "mysql", "INSERT INTO lines (order_id) VALUES ('it''s')", nil, [][]driver.Value{{"it's"}}},
		{"known columns", "postgres", "INSERT INTO lines VALUES (7, DEFAULT, 'x')", nil, [][]driver.Value{{int64(7)}}},
		{"first columns", "postgres", "INSERT INTO lines VALUES (7)", nil, [][]driver.Value{{int64(7)}}},
		{"two columns in another order", "postgres", "INSERT INTO stock (item, shop) VALUES ($1, 'b')", []driver.Value{"a"}, [][]driver.Value{{"b", "a"}}},
		{"types of an application", "postgres", "INSERT INTO lines (order_id) VALUES ($1), ($2), ($3)", []driver.Value{orderID(7), &seven, sql.NullInt64{Int64: 7, Valid: true}}, [][]driver.Value{{int64(7)}, {int64(7)}, {int64(7)}}},
		{"a type that tells itself stays what it is", "postgres", "INSERT INTO lines (order_id) VALUES ($1)", []driver.Value{told(7)}, [][]driver.Value{{told(7)}}},
		{"a parent that is a key and brought", "postgres", "INSERT INTO nested (id) VALUES ($1)", []driver.Value{int64(7)}, [][]driver.Value{{int64(7)}}},
		{"numbered placeholders", "sqlserver", "INSERT INTO lines (item, order_id) VALUES (@p2, @p1)", []driver.Value{int64(7), "a"}, [][]driver.Value{{int64(7)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := dialect.ByName(tt.dialect)
			if err != nil {
				t.Fatal(err)
			}
			p := compile.Query(d, scopeLookup(t, d), tt.query)
			if p.Action == plans.Refuse {
				t.Fatalf("Compile(%q): %v", tt.query, p.Refusal)
			}
			args := namedValues(tt.args)
			h, err := bind.FindHoles(p, args)
			if err != nil {
				t.Fatalf("Holes(%v) of %q: %v", tt.args, tt.query, err)
			}
			key := p.Draws[len(p.Draws)-1].Key
			got, err := bind.Scopes(p, args, h, 0, key)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Scopes(%v) of %q = %#v, %v, want %#v", tt.args, tt.query, got, err, tt.want)
			}
		})
	}
}

// TestScopesRefused: rows whose parent is not known until they are executed are
// refused then, and only if they need a number.
func TestScopesRefused(t *testing.T) {
	for _, tt := range []struct {
		name, dialect, query string
		args                 []driver.Value
		offset               int // of the refusal, -1 where there is none
	}{
		{"NULL", "postgres", "INSERT INTO lines (order_id) VALUES ($1)", []driver.Value{nil}, 37},
		{"a nil []byte", "mysql", "INSERT INTO lines (order_id) VALUES (?)", []driver.Value{[]byte(nil)}, 37},
		{"a Valuer of NULL", "postgres", "INSERT INTO lines (order_id) VALUES ($1)", []driver.Value{sql.NullInt64{}}, 37},
		{"a nil pointer", "postgres", "INSERT INTO lines (order_id) VALUES ($1)", []driver.Value{(*int64)(nil)}, 37},
		{"Oracle's empty text", "oracle", "INSERT INTO lines (order_id) VALUES (:1)", []driver.Value{""}, 37},
		{"the second row", "postgres", "INSERT INTO lines (order_id) VALUES ($1), ($2)", []driver.Value{int64(7), nil}, 43},
		{"an expression of a hole", "mysql", "INSERT INTO lines (line_no, order_id) VALUES (?, ? + 1)", []driver.Value{int64(0), int64(7)}, 49},
		{"an expression of a key", "mysql", "INSERT INTO lines (line_no, order_id) VALUES (?, ? + 1)", []driver.Value{int64(1), int64(7)}, -1},
		{"NULL beside a key", "mysql", "INSERT INTO lines (line_no, order_id) VALUES (?, ?)", []driver.Value{int64(1), nil}, -1},
		{"not what it is cast to", "postgres", "INSERT INTO lines (order_id) VALUES ($1::int)", []driver.Value{"7a"}, 37},
		{"a number cast to text", "postgres", "INSERT INTO lines (order_id) VALUES ($1::text)", []driver.Value{int64(7)}, 37},
		{"a parent that is filled as well", "postgres", "INSERT INTO nested (id) VALUES ($1)", []driver.Value{nil}, 32},
		{"a row of a bulk load", "postgres", "COPY lines (order_id, line_no) FROM STDIN", []driver.Value{int64(7), nil}, 0},
		{"a row of a bulk load with a key", "postgres", "COPY lines (order_id, line_no) FROM STDIN", []driver.Value{int64(7), int64(1)}, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := dialect.ByName(tt.dialect)
			if err != nil {
				t.Fatal(err)
			}
			p := compile.Query(d, scopeLookup(t, d), tt.query)
			if p.Action == plans.Refuse {
				t.Fatalf("Compile(%q): %v", tt.query, p.Refusal)
			}
			_, err = bind.FindHoles(p, namedValues(tt.args))
			var r *plans.Refusal
			switch {
			case tt.offset < 0 && err != nil:
				t.Errorf("Holes(%v) of %q: %v, want none", tt.args, tt.query, err)
			case tt.offset >= 0 && (!errors.As(err, &r) || r.Reason != rewrite.ErrScope || r.Offset != tt.offset || r.Detail == ""):
				t.Errorf("Holes(%v) of %q: %v, want %q at byte %d", tt.args, tt.query, err, rewrite.ErrScope, tt.offset)
			}
		})
	}
}

// TestScopesCompiled: what the text alone shows is refused before anything is
// known of its arguments.
func TestScopesCompiled(t *testing.T) {
	for _, tt := range []struct {
		name, dialect, query string
		want                 rewrite.Reason // "" for a plan
	}{
		{"a column that is filled as well", "postgres", "INSERT INTO nested (note) VALUES ('x')", rewrite.ErrScope},
		{"a column that is filled in its place", "postgres", "INSERT INTO nested (id) VALUES (NULL)", rewrite.ErrScope},
		{"named twice", "sqlite", "INSERT INTO lines (order_id, order_id) VALUES (7, 8)", rewrite.ErrScope},
		{"a field", "postgres", "INSERT INTO lines (order_id.a) VALUES (7)", rewrite.ErrScope},
		{"behind a value that stands for several", "postgres", "INSERT INTO lines (item, order_id) VALUES ((x).*, 7)", ""},
		{"of a value that stands for several", "postgres", "INSERT INTO lines (order_id, item) VALUES ((x).*, 7)", rewrite.ErrScope},
		{"between values that stand for several", "postgres", "INSERT INTO lines (a, b, order_id, c, d) VALUES ((x).*, 7, (x).*)", rewrite.ErrScope},
		{"fewer values than columns", "postgres", "INSERT INTO lines (item, order_id) VALUES (7)", rewrite.ErrScope},
		{"a variable", "mysql", "INSERT INTO lines (order_id) VALUES (@o)", rewrite.ErrScope},
		{"a declared variable", "sqlserver", "DECLARE @o int = 7; INSERT INTO lines (order_id) VALUES (@o)", rewrite.ErrScope},
		{"a double-quoted text", "mysql", `INSERT INTO lines (order_id) VALUES ("7")`, rewrite.ErrScope},
		{"two texts side by side", "mysql", "INSERT INTO lines (order_id) VALUES ('7' '8')", rewrite.ErrScope},
		{"one of several tables", "postgres", "INSERT INTO plain (note) VALUES (1); INSERT INTO lines (item) VALUES (1)", rewrite.ErrScope},
		{"arguments of several statements", "sqlite", "INSERT INTO plain (note) VALUES (?); INSERT INTO lines (order_id) VALUES (?)", rewrite.ErrPerStatement},
		{"several INTOs", "oracle", "INSERT ALL INTO lines (order_id) VALUES (7) INTO lines (order_id) VALUES (8) SELECT * FROM dual", ""},
		{"a value of its query", "oracle", "INSERT ALL INTO lines (order_id) VALUES (7 + 1) SELECT * FROM dual", rewrite.ErrScope},
		{"a source of one row", "sqlserver", "MERGE INTO lines t USING (SELECT 7 AS a) AS s ON t.item = s.a WHEN NOT MATCHED THEN INSERT (order_id) VALUES (7);", rewrite.ErrScope},
		{"explained", "postgres", "EXPLAIN INSERT INTO lines (order_id) VALUES (7 + 1)", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := dialect.ByName(tt.dialect)
			if err != nil {
				t.Fatal(err)
			}
			p := compile.Query(d, scopeLookup(t, d), tt.query)
			switch r := p.Refusal; {
			case tt.want == "" && r != nil:
				t.Errorf("Compile(%q): %v", tt.query, r)
			case tt.want != "" && (r == nil || r.Reason != tt.want):
				t.Errorf("Compile(%q) is to %s, %v, want the reason %q", tt.query, p.Action, r, tt.want)
			}
		})
	}
}

func namedValues(values []driver.Value) []driver.NamedValue {
	args := make([]driver.NamedValue, len(values))
	for i, v := range values {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return args
}
