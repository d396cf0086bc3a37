package effects_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

func BenchmarkTransactionOf(b *testing.B) {
	for _, d := range dialect.All() {
		b.Run(d.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				effects.TransactionOf(d, "ROLLBACK")
			}
		})
	}
}
