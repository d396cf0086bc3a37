package store

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

const (
	// swapTries is how often a row is read and found changed when it is to be
	// replaced.
	swapTries = 10

	// swapPause is the longest pause after the first of them; it doubles up to
	// swapPauseMax. On average all of them take a tenth of a second.
	swapPause    = time.Millisecond
	swapPauseMax = 40 * time.Millisecond
)

// swap reserves by reading the row and replacing it where it is still the same.
// No lock is held in between.
func (s *Store) swap(ctx context.Context, q *Sequence, f *rowStatements, n, seen int64) (keysource.Reservation, error) {
	for try := range swapTries {
		if try > 0 {
			if err := pause(ctx, try); err != nil {
				return keysource.Reservation{}, err
			}
		}
		row, err := s.state(ctx, q, f)
		if err != nil {
			return keysource.Reservation{}, err
		}
		v, err := s.replacement(ctx, q, f, row, n, seen)
		if err != nil {
			return keysource.Reservation{}, err
		}
		changed, err := s.conn.exec(ctx, f.swap.text, f.swap.bind(v))
		switch {
		case err != nil:
			return keysource.Reservation{}, s.failedAs(q.meaning(), q.Name, err)
		case changed == 1:
			return keysource.Reservation{First: row.next, Server: row.server}, nil
		case changed > 1:
			return keysource.Reservation{}, q.severalRows()
		}
	}
	return keysource.Reservation{}, q.fail(ErrContention, "")
}

// swapLocked is swap where the row stays locked from the SELECT to the end of
// the transaction: for a number that no UPDATE can work out.
func (s *Store) swapLocked(ctx context.Context, q *Sequence, f *rowStatements, n, seen int64) (got keysource.Reservation, err error) {
	read, err := s.withServer(ctx, f.locked.text)
	if err != nil {
		return got, s.failed(q.Name, err)
	}
	err = s.conn.transact(ctx, func(c conn) error {
		if f.lock != "" {
			if _, err := c.exec(ctx, f.lock, nil); err != nil {
				return err
			}
		}
		answer, err := c.query(ctx, read, f.locked.bind(q.rowValues()))
		if err != nil {
			return q.manyRows(err)
		}
		row, err := s.keyRow(q, f, answer)
		if err != nil {
			return err
		}
		if err := s.unfit(ctx, q, f, row, n, max(seen, 1)); err != nil {
			return err
		}
		if err := s.replace(ctx, c, q, f, row, row.next+n); err != nil {
			return err
		}
		got = keysource.Reservation{First: row.next, Server: row.server}
		return nil
	})
	if err != nil {
		return keysource.Reservation{}, s.unlessOurs(q, err)
	}
	return got, nil
}

// replace sets the next value of a row that is locked, where it is still as it was
// read. That one row has changed is the proof of the reservation.
func (s *Store) replace(ctx context.Context, c conn, q *Sequence, f *rowStatements, row *storedRow, next int64) error {
	v, err := q.replacing(f, row, next)
	if err != nil {
		return err
	}
	text := s.proven(f.swap.text)
	return s.provenly(ctx, func() (bool, error) {
		changed, err := c.exec(ctx, text, f.swap.bind(v))
		switch {
		case err != nil:
			return false, err
		case changed > 1:
			return false, q.severalRows()
		case changed == 0 && s.ongoing == nil:
			return false, errUnlocked
		}
		return changed == 1, nil
	})
}

// errUnlocked is a row that was changed by another one although it was locked.
var errUnlocked = errors.New("the row was changed although it was locked: the transaction has ended")

// replacement returns the arguments that replace a row, or the error of one that
// n integers cannot be taken from.
func (s *Store) replacement(ctx context.Context, q *Sequence, f *rowStatements, row *storedRow, n, seen int64) (values, error) {
	if err := s.unfit(ctx, q, f, row, n, max(seen, 1)); err != nil {
		return values{}, err
	}
	return q.replacing(f, row, row.next+n)
}

// replacing returns the arguments that replace a row by one that stands at next.
func (q *Sequence) replacing(f *rowStatements, row *storedRow, next int64) (values, error) {
	value, ok := q.encode(f, next)
	if !ok {
		return values{}, q.exhausted(f, row.next)
	}
	v := q.rowValues()
	v[pOld], v[pVersion], v[pNext] = row.value, row.version, value
	return v, nil
}

// encode returns what the table holds while next is the lowest integer that is
// not reserved. It is not ok where the table cannot hold that, or would mean
// another one.
func (q *Sequence) encode(f *rowStatements, next int64) (value int64, ok bool) {
	if q.Codec == nil {
		value = next - f.offset
		return value, value <= f.limit
	}
	value = q.Codec.Residue(next)
	back, err := q.Codec.NextOf(value)
	return value, value <= f.limit && err == nil && back == next
}

// decode is the inverse of encode.
func (q *Sequence) decode(f *rowStatements, value int64) (next int64, err error) {
	if q.Codec == nil {
		return min(value, math.MaxInt64-f.offset) + f.offset, nil
	}
	return q.Codec.NextOf(value)
}

// pause waits for a random time, which is longer for later tries.
func pause(ctx context.Context, try int) error {
	longest := min(swapPause<<(try-1), swapPauseMax)
	t := time.NewTimer(rand.N(longest) + 1)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
