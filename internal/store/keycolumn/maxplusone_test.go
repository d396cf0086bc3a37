package keycolumn_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// TestLockedMaxKey: each engine's own way to read the greatest key so that no other
// session reads the same.
func TestLockedMaxKey(t *testing.T) {
	column := store.Column{Schema: "sales", Table: "orders", Name: "id"}
	want := map[string]string{
		"mysql":   "SELECT MAX(`id`) FROM `sales`.`orders` FOR UPDATE",
		"mariadb": "SELECT MAX(`id`) FROM `sales`.`orders` FOR UPDATE",
		"postgres": "SELECT pg_advisory_xact_lock($1)\n  1 = 5831792746558236791\n" +
			`SELECT MAX("id"), CASE WHEN row_security_active(E'"sales"."orders"') THEN 1 ELSE 0 END FROM "sales"."orders"`,
		"sqlite": `UPDATE "sales"."orders" SET "id" = "id" WHERE 0` + "\n" +
			`SELECT MAX("id") FROM "sales"."orders"`,
		"sqlserver": "SELECT MAX([id]) FROM [sales].[orders] WITH (UPDLOCK, HOLDLOCK)",
		"oracle": `LOCK TABLE "sales"."orders" IN EXCLUSIVE MODE` + "\n" +
			`SELECT TO_CHAR(MAX("id")) FROM "sales"."orders"`,
	}
	for _, d := range dialect.All() {
		for _, answer := range []struct {
			max  driver.Value
			want int64
		}{{nil, 0}, {int64(41), 41}, {[]byte("41"), 41}, {"41", 41}, {int64(-7), 0}} {
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				if strings.Contains(query, "MAX(") {
					return fakedb.Reply{Rows: [][]driver.Value{{answer.max}}}
				}
				return fakedb.Reply{Rows: [][]driver.Value{{""}}}
			}}
			got, err := keycolumn.Of(store.Within(d, fakedb.FullOf(f)), column).LockedMaxKey(context.Background())
			if err != nil || got != answer.want {
				t.Errorf("%s: %v gives %d, %v; want %d", d.Name, answer.max, got, err, answer.want)
			}
			if got := f.Lines(); got != want[goldens.Of(d)] {
				t.Errorf("%s sends\n%s\nwant\n%s", d.Name, got, want[goldens.Of(d)])
			}
		}
		f := &fakedb.DB{Answer: func(string) fakedb.Reply { return fakedb.Reply{Err: fakedb.ErrRefused} }}
		if _, err := keycolumn.Of(store.Within(d, fakedb.FullOf(f)), column).LockedMaxKey(context.Background()); !errors.Is(err, fakedb.ErrRefused) {
			t.Errorf("%s: %v, want the driver's error", d.Name, err)
		}
		if mutex := goldens.Has("mysql mariadb", d); keycolumn.NeedsMutex(d) != mutex {
			t.Errorf("%s: NeedsMutex is %v", d.Name, !mutex)
		}
	}
}

// TestMutexName: every column has a row of its own, whose name fits.
func TestMutexName(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range []string{"t", "u", strings.Repeat("ö", 170), strings.Repeat("ö", 200), strings.Repeat("ö", 201)} {
		name := keycolumn.MutexName(store.Column{Table: table, Name: "id"})
		if seen[name] || len([]rune(name)) > 190 {
			t.Errorf("%d characters, seen %v: %q", len([]rune(name)), seen[name], name)
		}
		seen[name] = true
	}
}
