package execution

import (
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/rewrite"
)

// maxShapes is the greatest number of shapes (texts of statements without their values)
// that are counted, since a program may generate texts. All statements after the first
// 10,000 shapes count as one more shape.
const maxShapes = 10000

// otherShapes is the name in the log for all shapes (texts of statements without their
// values) after the first maxShapes.
const otherShapes = "…"

// shapes counts statements by the shape of their text (the text without its values), to
// decide which to log. It is safe for concurrent use, and its zero value is empty.
type shapes struct {
	mu     sync.Mutex
	counts map[shapeKey]uint64
}

// shapeKey identifies statements that are logged together.
type shapeKey struct {
	shape  string // empty for shapes (texts without their values) after the first maxShapes
	table  string
	reason rewrite.Reason
	sent   bool // the statement was sent without its keys
}

// count counts a statement, and reports whether it must be logged now: the first one of
// its shape, the 10th, the 100th, the 1,000th and so on. So a line shows how many there
// were without a timer, and a statement that is sent often does not fill the log.
func (s *shapes) count(d *dialect.Dialect, query string, k shapeKey) (shape string, n uint64, now bool) {
	k.shape = effects.Shape(d, query)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[shapeKey]uint64{}
	}
	shape = k.shape
	if s.counts[k] == 0 && len(s.counts) >= maxShapes {
		shape, k = otherShapes, shapeKey{}
	}
	s.counts[k]++
	n = s.counts[k]
	return shape, n, isPowerOfTen(n)
}

// isPowerOfTen reports whether n is 1, 10, 100 and so on.
func isPowerOfTen(n uint64) bool {
	for n > 1 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
