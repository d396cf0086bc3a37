package store

// Range is the range of integers from First to Last, both included; the zero Range is
// empty.
type Range struct{ First, Last int64 }

// Has reports whether n is in the range.
func (r Range) Has(n int64) bool { return r.Last > 0 && r.First <= n && n <= r.Last }

// Meets reports whether any of the n integers from first on is in the range.
func (r Range) Meets(first, n int64) bool {
	return r.Last > 0 && first <= r.Last && r.First-first < n
}
