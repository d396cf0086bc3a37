package keysource

import (
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// blockTarget is how long a block should last: a block that is used up sooner was too
// small, one that lasts more than twice as long was too large. It is a compromise
// between the load on the store, one fetch in ten seconds at most once the size has
// settled, and the numbers lost when a process ends, as many as are used in twenty
// seconds.
const blockTarget = 10 * time.Second

// The first, the least and the greatest size of a block whose size adapts to how fast
// integers are used, unless the options say otherwise.
const (
	firstBlock   = 100
	defaultLeast = 10
	defaultMost  = 1_000_000
)

// blockSize is how many integers are reserved at a time, and the bounds of that number.
// The number is fixed if the bounds are equal.
type blockSize struct{ n, least, most int64 }

func newBlockSize(o SequenceOptions) (blockSize, error) {
	switch {
	case o.Block < 0 || o.MinBlock < 0 || o.MaxBlock < 0:
		return blockSize{}, anchor.Endf("%w: a block of less than one integer", ErrOptions)
	case o.Block > 0 && (o.MinBlock > 0 || o.MaxBlock > 0):
		return blockSize{}, anchor.Endf("%w: the size of blocks is given, and so are bounds for it; leave one of the two out", ErrOptions)
	case o.Block > 0:
		return blockSize{o.Block, o.Block, o.Block}, nil
	}
	z := blockSize{firstBlock, o.MinBlock, o.MaxBlock}
	if z.least == 0 {
		z.least = defaultLeast
		if z.most > 0 {
			z.least = min(z.least, z.most)
		}
	}
	if z.most == 0 {
		z.most = max(defaultMost, z.least)
	}
	if z.least > z.most {
		return blockSize{}, anchor.Endf("%w: blocks of at least %d and at most %d integers", ErrOptions, z.least, z.most)
	}
	z.n = min(max(z.n, z.least), z.most)
	return z, nil
}

// lasted adapts the size after a block was used up in d. A negative d means that the
// clock was set back meanwhile; then the size stays.
func (z *blockSize) lasted(d time.Duration) {
	switch {
	case d < 0:
	case d < blockTarget:
		z.n += min(z.n, z.most-z.n)
	case d > 2*blockTarget:
		z.n = max(z.n/2, z.least)
	}
}

// atLeast returns the least multiple of the size that is not below need, which is at
// least 1; or most if that is less.
func (z *blockSize) atLeast(need, most int64) int64 {
	blocks := (need-1)/z.n + 1
	if blocks > most/z.n {
		return most
	}
	return blocks * z.n
}
