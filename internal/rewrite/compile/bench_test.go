package compile_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// customers is a lookup of one table.
func customers(d *dialect.Dialect) plans.Lookup {
	t := &plans.Target{
		Table: "customers",
		Keys: []plans.Key{{
			Column: d.Fold("id", false),
			Fill:   plans.FillMissing | plans.FillNull | plans.FillDefault,
		}},
	}
	name := d.Fold("customers", false)
	return func(_, table string) *plans.Target {
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
					compile.Query(d, lookup, query)
				}
			})
		}
		literal := strings.Replace(rowsOf(d, 1), "VALUES ", "VALUES ('"+strings.Repeat("lorem ipsum ", 500)+"', 5), ", 1)
		b.Run(d.Name+"/literal", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(literal)))
			for b.Loop() {
				compile.Query(d, lookup, literal)
			}
		})
	}
}

// compileSizes are sizes of texts in bytes: most INSERTs of applications have
// less than 200, those that load tables up to 100,000.
var compileSizes = []int{50, 150, 500, 2000, 20000, 90000}

// compileKinds are rows that INSERTs of any size are made of, the densest
// first.
var compileKinds = []struct {
	name, columns string
	row           func(d *dialect.Dialect, n int) string
}{
	{"digit", "a", func(*dialect.Dialect, int) string { return "(1)" }},
	{"bound", "a, b", func(d *dialect.Dialect, n int) string { return "(" + bound(d, n) + ", " + bound(d, n+1) + ")" }},
	{"mixed", "a, b, c", func(_ *dialect.Dialect, n int) string { return fmt.Sprintf("(%d, 'Ann', NULL)", n) }},
	{"calls", "a, b", func(*dialect.Dialect, int) string { return "(now(), -1.5 * (2 + x))" }},
	{"prose", "a", func(*dialect.Dialect, int) string { return "('" + strings.Repeat("lorem ipsum ", 20) + "')" }},
}

// bound is the n-th placeholder.
func bound(d *dialect.Dialect, n int) string {
	switch {
	case d.Params.AtNumber:
		return fmt.Sprintf("@p%d", n)
	case d.Params.Dollar:
		return fmt.Sprintf("$%d", n)
	case d.Params.Question:
		return "?"
	}
	return fmt.Sprintf(":%d", n)
}

// benchmarkKinds runs a benchmark for a text of each kind and size.
func benchmarkKinds(b *testing.B, d *dialect.Dialect, lookup plans.Lookup) {
	for _, kind := range compileKinds {
		last := ""
		for _, size := range compileSizes {
			query := textOf(size, kind.columns, func(n int) string { return kind.row(d, n) })
			if query == last {
				continue // one row is longer than that
			}
			last = query
			b.Run(fmt.Sprintf("%s/%s/bytes=%d", d.Name, kind.name, len(query)), func(b *testing.B) {
				benchmarkOver(b, d, lookup, query)
			})
		}
	}
}

// textOf returns an INSERT of about so many bytes.
func textOf(size int, columns string, row func(n int) string) string {
	var b strings.Builder
	b.WriteString("INSERT INTO customers (" + columns + ") VALUES " + row(1))
	for n := 3; b.Len() < size; n += 2 {
		b.WriteString(", " + row(n))
	}
	return b.String()
}

// sessionKeys is customers with an integer key for LAST_INSERT_ID, whose texts
// are read for what else asks for that.
func sessionKeys(d *dialect.Dialect) plans.Lookup {
	t := &plans.Target{
		Table: "customers",
		Keys: []plans.Key{{
			Column: d.Fold("id", false), Fill: plans.FillMissing | plans.FillNull, Integer: true, Session: true,
		}},
	}
	return func(_, _ string) *plans.Target { return t }
}

// BenchmarkCompileSession is BenchmarkCompileSizes for such keys.
func BenchmarkCompileSession(b *testing.B) {
	d := dialect.MySQL()
	benchmarkKinds(b, d, sessionKeys(d))
}

// BenchmarkCompileSizes shows what a text costs beyond 1.5 µs, for each of its
// bytes: on the average, and at best, which is what it costs alone on a core.
func BenchmarkCompileSizes(b *testing.B) {
	for _, d := range dialect.All() {
		benchmarkKinds(b, d, customers(d))
	}
}

func benchmarkOver(b *testing.B, d *dialect.Dialect, lookup plans.Lookup, query string) {
	b.ReportAllocs()
	over := func(d time.Duration) float64 { return float64(d-1500) / float64(len(query)) }
	best := time.Duration(math.MaxInt64)
	n := 0
	begin := time.Now()
	for b.Loop() {
		start := time.Now()
		compile.Query(d, lookup, query)
		best = min(best, time.Since(start))
		n++
	}
	b.ReportMetric(over(time.Since(begin)/time.Duration(n)), "over-ns/byte")
	b.ReportMetric(over(best), "best-over-ns/byte")
}

func BenchmarkCacheHit(b *testing.B) {
	d := dialect.MySQL()
	for _, rows := range []int{1, 100} {
		query := rowsOf(d, rows)
		c := plans.NewCache(1000, 1<<20)
		c.Put(query, compile.Query(d, customers(d), query))
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
