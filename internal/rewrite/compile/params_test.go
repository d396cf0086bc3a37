package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// Few names are compared one by one, many are looked up: the outcome is one.
func TestManyNames(t *testing.T) {
	d := dialect.SQLServer()
	target, err := parseTarget(d, "orders key=id fill=missing,null")
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(string, string) *plans.Target { return target }
	for _, n := range []int{1, 7, 8, 9, 40} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var columns, values strings.Builder
			for i := range n {
				fmt.Fprintf(&columns, ", c%d", i)
				fmt.Fprintf(&values, ", @a%d", i)
			}
			query := fmt.Sprintf("INSERT INTO orders (id%s, z) VALUES (@k%s, @A0)", columns.String(), values.String())
			p := compile.Query(d, lookup, query)
			if got := bind.Text(p, false); got != query || !p.AtExecution || p.Placeholders() != n+1 {
				t.Errorf("Compile(%q) = %q for %d arguments, want the same for %d", query, got, p.Placeholders(), n+1)
			}
			query = strings.Replace(query, "@A0", "@K", 1)
			p = compile.Query(d, lookup, query)
			want := strings.Replace(query, "(@k", "(@kf1", 1)
			if got := bind.Text(p, false); got != want || p.Placeholders() != n+1 {
				t.Errorf("Compile(%q) = %q for %d arguments, want %q for %d", query, got, p.Placeholders(), want, n+1)
			}
		})
	}
}

// Numbers that count up are not looked up at all.
func TestNumbersInOrder(t *testing.T) {
	d := dialect.SQLite()
	target, err := parseTarget(d, "orders key=id fill=missing,null")
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(string, string) *plans.Target { return target }
	tests := []struct{ values, want string }{
		{"$1, $2, $3", "fill"},
		{"$1, $2, $2", "fill"},
		{"$1, $1, $2", "fill"},
		{"$2, $1, $3", "fill literal"}, // drivers differ in what they number by
		{"$1, $3, $2", "fill literal"},
		{"$01, $2, $3", "fill"},
	}
	for _, tt := range tests {
		query := "INSERT INTO orders (a, b, c) VALUES (" + tt.values + ")"
		p := compile.Query(d, lookup, query)
		got := p.Action.String()
		if p.Unbound() == rewrite.ErrFirstUse {
			got += " literal"
		}
		if got != tt.want {
			t.Errorf("Compile(%q) is to %s (%v), want %s", query, got, p.Refusal, tt.want)
		}
	}
}
