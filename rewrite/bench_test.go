package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// customers is a lookup of one table.
func customers(d *dialect.Dialect) rewrite.Lookup {
	t := &rewrite.Target{
		Table: "customers",
		Keys: []rewrite.Key{{
			Column: d.Fold("id", false),
			Fill:   rewrite.FillMissing | rewrite.FillNull | rewrite.FillDefault,
		}},
	}
	name := d.Fold("customers", false)
	return func(_, table string) *rewrite.Target {
		if table == name {
			return t
		}
		return nil
	}
}

// rowsOf returns an INSERT of n rows into customers with placeholders.
func rowsOf(d *dialect.Dialect, n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO customers (name, email) VALUES ")
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		if d.Params.Question {
			b.WriteString("(?, ?)")
		} else {
			fmt.Fprintf(&b, "($%d, $%d)", 2*i+1, 2*i+2)
		}
	}
	return b.String()
}

func BenchmarkCompile(b *testing.B) {
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.PostgreSQL()} {
		lookup := customers(d)
		for _, rows := range []int{1, 10, 100, 1000} {
			query := rowsOf(d, rows)
			b.Run(fmt.Sprintf("%s/rows=%d", d.Name, rows), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(query)))
				for b.Loop() {
					rewrite.Compile(d, lookup, query)
				}
			})
		}
		literal := strings.Replace(rowsOf(d, 1), "VALUES ", "VALUES ('"+strings.Repeat("lorem ipsum ", 500)+"', 5), ", 1)
		b.Run(d.Name+"/literal", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(literal)))
			for b.Loop() {
				rewrite.Compile(d, lookup, literal)
			}
		})
	}
}

// passed is a query that is no INSERT, as long as a report's often are.
var passed = strings.Repeat("SELECT c.name, o.total, o.created_at FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE o.status IN ('open', 'paid') ORDER BY o.created_at DESC LIMIT 50\n", 6)

func BenchmarkConcerns(b *testing.B) {
	for _, d := range dialect.All() {
		b.Run(d.Name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(passed)))
			for b.Loop() {
				if rewrite.Concerns(d, passed) != 0 {
					b.Fatal("Concerns found a word")
				}
			}
		})
	}
}

// A short text shows what is paid besides the search.
func BenchmarkConcernsShort(b *testing.B) {
	const query = "SELECT name FROM customers WHERE id = 1"
	for _, d := range dialect.All() {
		b.Run(d.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if rewrite.Concerns(d, query) != 0 {
					b.Fatal("Concerns found a word")
				}
			}
		})
	}
}

func BenchmarkTransactionOf(b *testing.B) {
	for _, d := range dialect.All() {
		b.Run(d.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rewrite.TransactionOf(d, "ROLLBACK")
			}
		})
	}
}

func BenchmarkCacheHit(b *testing.B) {
	d := dialect.MySQL()
	for _, rows := range []int{1, 100} {
		query := rowsOf(d, rows)
		c := rewrite.NewCache(1000, 1<<20)
		c.Put(query, rewrite.Compile(d, customers(d), query))
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := c.Get(query); !ok {
					b.Fatal("not there")
				}
			}
		})
	}
}
