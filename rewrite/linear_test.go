package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// TestCompileManyTemporaries: a text that makes twice as many temporary tables is about
// twice the work, in what is allocated and in how often a rule is looked for.
func TestCompileManyTemporaries(t *testing.T) {
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite()} {
		work := func(n int) (allocated float64, lookups int) {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "CREATE TEMPORARY TABLE t%d (a int);\n", i)
			}
			b.WriteString("INSERT INTO customers (name) VALUES (1)")
			lookup := customers(d)
			counted := func(schema, table string) *rewrite.Target {
				lookups++
				return lookup(schema, table)
			}
			rewrite.Compile(d, counted, b.String())
			return testing.AllocsPerRun(1, func() { rewrite.Compile(d, lookup, b.String()) }), lookups
		}
		few, fewLookups := work(2000)
		many, manyLookups := work(4000)
		if many > 2.5*few || manyLookups > 2*fewLookups+10 {
			t.Errorf("%s: 2000 tables are %v allocations and %d lookups, 4000 tables are %v and %d", d.Name, few, fewLookups, many, manyLookups)
		}
	}
}
