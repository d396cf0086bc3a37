package catalog_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

func TestTemporary(t *testing.T) {
	name := catalog.Name{Schema: "shop", Table: "orders", Text: "shop.`Orders`"}
	for _, tt := range []struct {
		d    *dialect.Dialect
		rows [][]any
		want bool
		asks string // a part of the query with its arguments; may be empty
	}{
		{dialect.MariaDB(), [][]any{{"orders", []byte("CREATE TEMPORARY TABLE `orders` (\n  `a` int(11)")}}, true, "SHOW CREATE TABLE shop.`Orders`"},
		{dialect.MySQL(), [][]any{{"orders", "CREATE TABLE `orders` (\n  `a` int"}}, false, "SHOW CREATE TABLE shop.`Orders`"},
		{dialect.MySQL(), [][]any{{"v", "CREATE ALGORITHM=UNDEFINED VIEW `v`", "utf8", "x"}}, false, "SHOW CREATE TABLE"},
		{dialect.PostgreSQL(), [][]any{{"t"}}, true, "1 = \"orders\"\n  2 = \"shop\""},
		{dialect.PostgreSQL(), [][]any{}, false, "pg_table_is_visible"},
		{dialect.SQLite(), [][]any{{int64(1)}}, true, "sqlite_temp_master"},
		{dialect.SQLite(), [][]any{}, false, "1 = \"orders\"\n  2 = \"shop\""},
		{dialect.SQLServer(), nil, false, ""},
		{dialect.Oracle(), nil, false, ""},
	} {
		q := &script{answers: [][][]any{tt.rows}}
		got, err := catalog.Temporary(context.Background(), tt.d, q, name)
		if err != nil || got != tt.want {
			t.Errorf("%s: Temporary = %v, %v, want %v", tt.d.Name, got, err, tt.want)
		}
		if asked := strings.Join(q.log, "\n"); !strings.Contains(asked, tt.asks) || tt.asks == "" && asked != "" {
			t.Errorf("%s: asked %q, want %q in it", tt.d.Name, asked, tt.asks)
		}
	}
}

func TestTemporaryErrors(t *testing.T) {
	down := errors.New("down")
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite()} {
		if _, err := catalog.Temporary(context.Background(), d, &script{err: down}, catalog.Name{Table: "t", Text: "t"}); err != down {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}
