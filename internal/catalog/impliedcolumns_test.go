package catalog_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// implied are tables as engines answer, of which an INSERT has no column list.
var implied = []struct {
	name    string
	d       *dialect.Dialect
	n       catalog.Name
	answers [][][]any
	want    []string
	asks    string // a part of the last query with its arguments
}{
	{"mysql", dialect.MySQL(), catalog.Name{Table: "orders", Text: "`Orders`"}, [][][]any{{
		{[]byte("A"), []byte("int"), []byte("NO"), []byte("PRI"), nil, []byte("")},
		{"g", "int", "YES", "", nil, "VIRTUAL GENERATED"},
		{"i", "int", "YES", "", nil, "DEFAULT_GENERATED INVISIBLE"},
		{"b", "int", "YES", "", nil, ""},
	}}, []string{"A", "g", "b"}, "SHOW COLUMNS FROM `Orders`"},
	{"mariadb", dialect.MariaDB(), catalog.Name{Schema: "shop", Table: "orders", Text: "Shop.orders"}, [][][]any{{
		{"a", "int(11)", "YES", "", nil, ""},
		{"i", "int(11)", "YES", "", nil, "INVISIBLE"},
	}}, []string{"a"}, "SET STATEMENT sql_select_limit = DEFAULT FOR SHOW COLUMNS FROM Shop.orders"},
	{"postgres", dialect.PostgreSQL(), catalog.Name{Schema: "sales", Table: "orders", Text: "sales.orders"},
		[][][]any{{{"id"}, {[]byte("Odd Name")}}}, []string{"id", "Odd Name"}, "1 = \"orders\"\n  2 = \"sales\""},
	{"sqlite", dialect.SQLite(), catalog.Name{Table: "orders", Text: "orders"}, [][][]any{{
		{"main", "Id", "INTEGER", int64(0), int64(1)},
		{"main", "secret", "INT", int64(1), int64(0)},
		{"main", "virtual", "INT", int64(2), int64(0)},
		{"main", "stored", "INT", int64(3), int64(0)},
		{"main", "b", "TEXT", int64(0), int64(0)},
	}}, []string{"Id", "b"}, "1 = \"orders\""},
	{"sqlserver", dialect.SQLServer(), catalog.Name{Schema: "dbo", Table: "odd]name", Text: "dbo.[odd]]name]"},
		[][][]any{{{"a"}, {"version"}}}, []string{"a", "version"}, `1 = "[dbo].[odd]]name]"`},
	{"sqlserver, temporary", dialect.SQLServer(), catalog.Name{Table: "#mu", Text: "#mu"},
		[][][]any{{{"a"}}}, []string{"a"}, "JOIN tempdb.sys.columns c ON c.object_id = o.object_id\nWHERE o.object_id = OBJECT_ID(@p1) AND o.type IN ('U', 'V')\nAND c.is_identity = 0 AND c.is_computed = 0 AND c.is_hidden = 0\nORDER BY c.column_id\n  1 = \"tempdb..[#mu]\""},
	{"oracle", dialect.Oracle(), catalog.Name{Table: "ORDERS", Text: "orders"},
		[][][]any{{{"SHOP", "ORDERS", "0", "0", "1"}}, {{"ID"}, {"odd"}}}, []string{"ID", "odd"}, "1 = \"SHOP\"\n  2 = \"ORDERS\""},
	{"oracle without the table", dialect.Oracle(), catalog.Name{Table: "ORDERS", Text: "orders"},
		[][][]any{{}}, nil, "ORDERS"},
	{"no table", dialect.PostgreSQL(), catalog.Name{Table: "orders", Text: "orders"}, [][][]any{{}}, nil, "orders"},
}

// TestImplied: the names are the ones of the engine's answer, without the columns that
// take no value there.
func TestImplied(t *testing.T) {
	for _, tt := range implied {
		t.Run(tt.name, func(t *testing.T) {
			q := &script{answers: tt.answers}
			got, err := catalog.Implied(context.Background(), tt.d, q, tt.n)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%q, error %v; want %q", got, err, tt.want)
			}
			if len(q.log) != len(tt.answers) {
				t.Fatalf("%d queries, want %d", len(q.log), len(tt.answers))
			}
			if last := q.log[len(q.log)-1]; !strings.Contains(last, tt.asks) {
				t.Errorf("asked\n%s\nwithout %q", last, tt.asks)
			}
		})
	}
}

// TestImpliedError: what the driver says comes back as it is, and what cannot be
// read is an error.
func TestImpliedError(t *testing.T) {
	down := errors.New("down")
	for _, d := range dialect.All() {
		_, err := catalog.Implied(context.Background(), d, &script{err: down}, catalog.Name{Table: "t", Text: "t"})
		if err != down {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	for _, tt := range []struct {
		d   *dialect.Dialect
		row []any
	}{
		{dialect.PostgreSQL(), []any{1.5}},
		{dialect.MariaDB(), []any{"a", "int", "YES", "", nil, 1.5}},
		{dialect.SQLite(), []any{"main", "a", "INT", "hidden", int64(0)}},
		{dialect.Oracle(), []any{1.5, "T", "0", "0", "1"}},
	} {
		q := &script{answers: [][][]any{{tt.row}, {}}}
		if got, err := catalog.Implied(context.Background(), tt.d, q, catalog.Name{Table: "t", Text: "t"}); err == nil {
			t.Errorf("%s: %q", tt.d.Name, got)
		}
	}
	if _, err := catalog.Implied(context.Background(), &dialect.Dialect{Name: "none"}, &script{}, catalog.Name{}); err == nil {
		t.Error("a dialect that is not known")
	}
}
