package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
)

// figuresOf returns the figures of a table whose id is a column.
func figuresOf(d *dialect.Dialect, c catalog.Column) *planFigures {
	c.Name, c.Integer = "id", true
	f := &planFigures{
		dialect: d, found: &catalog.Table{Schema: "shop", Name: "orders"}, column: &c, written: "orders",
		ref:   store.Column{Schema: "shop", Table: "orders", Name: "id"},
		table: d.QuoteIdent("shop") + "." + d.QuoteIdent("orders"), key: d.QuoteIdent("id"), room: math.MaxInt64,
	}
	if c.Bits < 63 {
		f.room = 1<<c.Bits - 1
	}
	return f
}

// TestPlanThereWidths: below and max_bits of the policy fit each other and the column.
func TestPlanThereWidths(t *testing.T) {
	for _, c := range []struct {
		kind       string
		bits       int
		next       int64
		want, fail string
	}{
		{"bigint", 63, 100, "start: 2000100, below: 1000000100", ""},
		{"bigint", 63, math.MaxInt64, "", "no room for a gap"},
		{"int", 31, 2000, "max_bits: 31, source: {kind: sequence, ensure_schema: true, start: 2002000, below: 1000002000}", ""},
		{"int unsigned", 32, 2_000_000_000, "max_bits: 31, source: {kind: sequence, ensure_schema: true, start: 2000147482, below: 2073741823}", ""},
		{"int unsigned", 32, 3_000_000_000, "", "no room for a gap"},
		{"mediumint unsigned", 24, 100, "", "make it wider first"},
		{"smallint", 15, 100, "", "make it wider first"},
	} {
		f := figuresOf(dialect.MySQL(), catalog.Column{Type: c.kind, Bits: c.bits, Identity: "AUTO_INCREMENT"})
		f.counter.Next, f.greatest = c.next, c.next-1
		steps, err := planThere(f)
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%s at %d: %v, want %q", c.kind, c.next, err, c.fail)
			}
			continue
		}
		if text := fmt.Sprint(steps); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s at %d: %v, want %q in\n%s", c.kind, c.next, err, c.want, text)
		}
	}
}

// TestPlanHandbackSteps: the way back says what the engine can do, and when.
func TestPlanHandbackSteps(t *testing.T) {
	const auto, drawn = "AUTO_INCREMENT", "nextval default"
	for _, c := range []struct {
		name     string
		dialect  *dialect.Dialect
		identity string
		change   func(*planFigures)
		want     []string // the beginnings of titles and of SQL, in their order
		fail     string
	}{
		{"the counter is far above", dialect.MySQL(), auto, func(f *planFigures) { f.counter.Next, f.lowest = 1_000_000_010, 1_000_000_000 },
			[]string{"Leave", "See", "Give", "Let", "Keep"}, ""},
		{"an application has brought a key", dialect.MySQL(), auto, func(f *planFigures) { f.counter.Next, f.lowest = 1_000_000_010, 5001 },
			[]string{"Raise", "SET", "ALTER TABLE `shop`.`orders` AUTO_INCREMENT = 2000000010", "See", "Give", "Let", "Keep"}, ""},
		{"the engine does not number it", dialect.MySQL(), "", nil,
			[]string{"Give", "Let the engine", "SET", "ALTER", "See", "Let", "Keep"}, ""},
		{"Oracle does not number it", dialect.Oracle(), "", nil,
			[]string{"Give", "Let the engine", "CREATE SEQUENCE", "ALTER", "See", "Let", "Keep"}, ""},
		{"a sequence of MariaDB", dialect.MariaDB(), drawn, nil, nil, "cannot raise"},
		{"an expression of PostgreSQL", dialect.PostgreSQL(), drawn, nil, nil, "cannot raise"},
		{"a rowid of SQLite", dialect.SQLite(), "", func(f *planFigures) { f.column.RowID = true },
			[]string{"Stop all processes with keyfill", "Let", "Keep"}, ""},
	} {
		f := figuresOf(c.dialect, catalog.Column{Type: "bigint", Bits: 63, Identity: c.identity})
		f.greatest, f.states = 4990, []planState{{"orders.id", 5000}}
		if c.change != nil {
			c.change(f)
		}
		steps, err := planHandback(f)
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%s: %v, want %q", c.name, err, c.fail)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, s := range steps {
			got = append(append(got, s.Title), s.SQL...)
		}
		same := len(got) == len(c.want)
		for i := 0; same && i < len(got); i++ {
			same = strings.HasPrefix(got[i], c.want[i])
		}
		if !same {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, err := planHandback(figuresOf(dialect.MySQL(), catalog.Column{Bits: 63})); !errors.Is(err, errNoState) {
		t.Errorf("without a state: %v", err)
	}
}

// TestPlanArguments: without the name of a plan the error lists them.
func TestPlanArguments(t *testing.T) {
	for _, args := range [][]string{{"plan"}, {"plan", "there", "handback"}} {
		if r := keyfillRun(t, "", args...); r.code != 2 || !strings.Contains(r.errOut, "there, handback, bigint or uuid") {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.errOut)
		}
	}
}
