package words_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// passed is a query that is no INSERT, as long as a report's often are.
var passed = strings.Repeat("SELECT c.name, o.total, o.created_at FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE o.status IN ('open', 'paid') ORDER BY o.created_at DESC LIMIT 50\n", 6)

func BenchmarkConcerns(b *testing.B) {
	for _, d := range dialect.All() {
		b.Run(d.Name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(passed)))
			for b.Loop() {
				if words.Concerns(d, passed) != 0 {
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
				if words.Concerns(d, query) != 0 {
					b.Fatal("Concerns found a word")
				}
			}
		})
	}
}
