package keycolumn_test

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// TestMaxKeyOfTexts: the greatest number is read from the texts of one numbering, byte for byte,
// on each engine, and within other columns.
func TestMaxKeyOfTexts(t *testing.T) {
	column := store.Column{Table: "t", Name: "no", Indexed: true}.WithTexts(store.Texts{Prefix: "N-", Width: 3})
	const args = "\n  1 = \"x\"\n  2 = \"N-001\"\n  3 = \"N-999\"\n  4 = \"N-\""
	want := map[string]string{
		"mysql":     "SELECT MAX(`no`) FROM `t` WHERE `branch` = ? AND `no` >= ? AND `no` <= ? AND CHAR_LENGTH(`no`) = 5 AND CAST(CONVERT(LEFT(`no`, 2) USING utf8mb4) AS BINARY) = CAST(? AS BINARY) AND RIGHT(`no`, 3) REGEXP '^[0-9]+$'",
		"postgres":  `CHAR_LENGTH("no") = 5 AND CAST(LEFT("no", 2) AS text) COLLATE "C" = CAST($4 AS text) AND CAST(RIGHT("no", 3) AS text) COLLATE "C" ~ '^[0-9]+$'`,
		"sqlite":    `SELECT MAX("no") FROM "t" WHERE "branch" = ? AND "no" >= ? AND "no" <= ? AND LENGTH("no") = 5 AND SUBSTR("no", 1, 2) COLLATE BINARY = ? AND SUBSTR("no", -3) NOT GLOB '*[^0-9]*'`,
		"sqlserver": `SELECT MAX([no]) FROM [t] WHERE [branch] = @p1 AND [no] >= @p2 AND [no] <= @p3 AND LEN([no]) = 5 AND LEFT([no], 2) COLLATE Latin1_General_BIN2 = @p4 AND RIGHT([no], 3) COLLATE Latin1_General_BIN2 NOT LIKE '%[^0-9]%'`,
		"oracle":    `SELECT TO_CHAR(MAX("no")) FROM "t" WHERE "branch" = :1 AND "no" >= :2 AND "no" <= :3 AND LENGTH("no") = 5 AND NLSSORT(SUBSTR("no", 1, 2), 'NLS_SORT=BINARY') = NLSSORT(:4, 'NLS_SORT=BINARY') AND REGEXP_LIKE(SUBSTR("no", -3), '^[0-9]+$')`,
	}
	want["mariadb"] = want["mysql"]
	for _, d := range dialect.All() {
		f := &fakedb.DB{Answer: func(string) fakedb.Reply { return fakedb.Reply{Rows: [][]driver.Value{{"N-042"}}} }}
		got, err := keycolumn.Of(store.Within(d, fakedb.FullOf(f)), column).MaxKeyWithin(context.Background(), []string{"branch"}, "", []any{"x"})
		if err != nil || got != 42 {
			t.Errorf("%s: %d, %v, want 42", d.Name, got, err)
		}
		if sent := f.Lines(); !strings.Contains(sent, want[goldens.Of(d)]) || !strings.HasSuffix(sent, args) {
			t.Errorf("%s sends\n%s\nwant\n%s%s", d.Name, sent, want[goldens.Of(d)], args)
		}
	}
}
