// Package series keeps series (runs of integers that one process owns) in
// keyfill_series, for a [counting.Recycled]. The counter of new series is a row of
// keyfill_sequences, which package reserver opens.
package series

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// Options name a group of series in keyfill_series, and the owner that takes them.
// Sequence and Owner must be set.
type Options struct {
	// Sequence is the counter of new series of integers, a row of keyfill_sequences: its
	// next value is the first integer of the next series. It binds the series to their
	// columns. If its Start is 0, the first series begins above the greatest key, at a
	// multiple of Size plus 1. Its Parameters must be empty, since they are set to the
	// size of a series. It must have neither a Table, a Lock, a Procedure nor a Codec.
	Sequence sequence.Sequence

	Size  int64         // how many integers a series has, which may never change; zero means counting.DefaultSeries
	Lease time.Duration // how long a series (a range of integers) belongs to its owner; zero means counting.DefaultLease

	// Owner differs for each source, even for one that lives for a moment: a random text,
	// with a part by which people recognize the source, of 1 to 190 characters.
	Owner string
}

// check returns an error if the options are such that no database could serve the
// series of integers.
func (o *Options) check() error {
	q := &o.Sequence
	switch {
	case o.Size < 1:
		return fmt.Errorf("%w: series %q has %d integers", keysource.ErrOptions, q.Name, o.Size)
	case o.Lease < time.Millisecond || o.Lease > maxLease:
		return fmt.Errorf("%w: the lease of series %q is not between 1ms and %s", keysource.ErrOptions, q.Name, maxLease)
	case o.Owner == "" || strings.TrimSpace(o.Owner) != o.Owner || utf8.RuneCountInString(o.Owner) > store.MaxName:
		return fmt.Errorf("%w: the owner of series %q has not between 1 and %d characters, or spaces at an end", keysource.ErrOptions, q.Name, store.MaxName)
	case q.Parameters != "":
		return fmt.Errorf("%w: series %q are given parameters, which they have of their own", keysource.ErrOptions, q.Name)
	case q.Table != nil || q.Lock != "" || q.Procedure != "" || q.Codec != nil:
		return fmt.Errorf("%w: the counter of series %q is a row of keyfill_sequences: it has no table, lock, procedure or codec", keysource.ErrOptions, q.Name)
	}
	return nil
}

// maxLease is short enough that its milliseconds fit the int of SQL Server's DATEADD.
const maxLease = 20 * 24 * time.Hour
